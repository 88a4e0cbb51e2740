// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What tracers are told of a queue's items, with the arguments of libdispatch's probes. All of it runs only while a tracer looks in.
extension Lane {
  /// An item has been put into this queue.
  @inline(never)
  final func probePush(_ job: Job) { queueName.withText(probed(job).push) }

  /// The work of `job` is about to begin. The job may be gone at its end: `probeEnd` gets what this returns.
  @inline(never)
  @_optimize(size)
  final func probeBegin(_ job: Job) -> Tracepoint.Item {
    let item = probed(job)
    queueName.withText { label in
      item.pop(label)
      item.entry(label)
    }
    return item
  }

  @inline(never)
  @_optimize(size)
  final func probeEnd(_ item: Tracepoint.Item) { queueName.withText(item.exit) }

  /// A synchronous item runs on its caller's stack: it is in no list, and the library does not know its function.
  @inline(never)
  final func probeSync(begins: Bool) {
    let item = Tracepoint.Item(queue: reference.bits, item: 0, kind: kind.name, function: 0, context: 0)
    queueName.withText(begins ? item.entry : item.exit)
  }

  private final func probed(_ job: Job) -> Tracepoint.Item {
    Tracepoint.Item(
      queue: reference.bits, item: job.bits, kind: kind.name, function: Self.function(of: job),
      context: job.flags.isDisjoint(with: .hasWords) ? 0 : job.bodyContext)
  }
}
