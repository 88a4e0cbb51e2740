// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport

/// What is counted in instructions and system calls, by `benchmark probe`: Thresholds/instructions.json and syscalls.json
/// say how many there may be. Most are rows of the duel.
///
/// A count says something only if it does not depend on how the threads happen to meet. So where the caller and the
/// worker could meet in several ways the items wait in a suspended queue until all are submitted.
public func costProbes() -> [Probe] {
  [
    Probe("async") { n in inSuspendedBatches(n) { queue, _ in queue.async {} } },
    Probe("async.capturing-3-words") { n in
      inSuspendedBatches(n) { queue, i in
        let next = i &+ 1
        queue.async { bench_consume(UInt64(i &+ next &+ n)) }
      }
    },
    row("async.self-hop", "A.self-hop"),
    Probe("async.qos") { n in inSuspendedBatches(n) { queue, _ in queue.async(qos: .userInitiated) {} } },
    Probe("async.work-item") { n in
      inSuspendedBatches(n) { queue, _ in queue.async(execute: DispatchWorkItem {}) }
    },
    Probe("async.group") { n in
      let group = DispatchGroup()
      inSuspendedBatches(n) { queue, _ in queue.async(group: group) {} }
    },
    row("async.global", "D.global-1p"),
    row("async.fork-tree", "D.fork-tree"),
    Probe("async-after", run: afterInBatches),
    row("hop.ping-pong", "E.ping-pong"),
    row("hop.common-target", "E.chain-1000-common-target"),
    row("hand-over.async-signal-wait", "F.async-signal-wait"),
    row("hand-over.async-sync", "F.async-sync"),
    row("sync.void", "B.sync-void"),
    row("sync.returning", "B.sync-returning"),
    row("sync.reader", "B.sync-reader"),
    row("sync.barrier", "B.sync-barrier"),
    row("concurrent-perform.64", "G.64-empty"),
    Probe("notify") { n in
      let group = DispatchGroup()
      inSuspendedBatches(n) { queue, _ in group.notify(queue: queue) {} }
    },
    row("work-item.create-perform", "H.work-item-create-perform"),
    row("create.queue", "I.create-destroy"),
    row("create.semaphore", "H.create-semaphore"),
    row("global", "H.global-qos"),
    row("get-specific", "H.get-specific"),
    row("source.stream-event", "K.stream"),
    row("source.echo", "K.echo"),
    row("source.timer-tick", "J.1ms-repeating"),
    row("source.timer-life", "J.timer-source"),
    Probe("idle-second", run: idle),
  ]
}

/// What a row of the duel does.
private func row(_ name: String, _ operation: String) -> Probe {
  Probe(name) { n in
    operations().first { $0.name == operation }!.setUp()(n, Meter())
  }
}

/// A thousand at a time: few enough to stay in the caches, so many that resuming and waiting do not count.
private let batch = 1000

private func inSuspendedBatches(_ count: Int, submit: (DispatchQueue, Int) -> Void) {
  let queue = DispatchQueue(label: "probe.serial")
  for begin in stride(from: 0, to: count, by: batch) {
    let done = Latch()
    queue.suspend()
    for i in begin..<min(begin + batch, count) { submit(queue, i) }
    queue.async { done.open() }
    queue.resume()
    done.wait()
  }
}

/// All timers of a batch are scheduled before the first is due, even on a machine that is simulated and slow. One is
/// due every 4 us on average.
private func afterInBatches(_ count: Int) {
  let queue = DispatchQueue(label: "probe.serial")
  var numbers = Numbers()
  for begin in stride(from: 0, to: count, by: batch) {
    let size = min(batch, count - begin)
    let done = Countdown(size)
    let first = DispatchTime.now() + .milliseconds(400)
    for _ in 0..<size {
      let offset = Int(numbers.next(upperBound: UInt64(size) * 4000))
      queue.asyncAfter(deadline: first + .nanoseconds(offset)) { done.arrive() }
    }
    done.wait()
  }
}

/// Seconds in which nothing happens, between two marks in the trace of the system calls: after the pool has had items
/// that block and a timer, and its surplus threads have gone.
private func idle(_ seconds: Int) {
  let queue = DispatchQueue.global()
  let done = Countdown(33)
  for _ in 0..<32 {
    queue.async {
      bench_sleep(1_000_000)
      done.arrive()
    }
  }
  queue.asyncAfter(deadline: .now() + .milliseconds(10)) { done.arrive() }
  done.wait()
  // The threads of either side that are not needed leave after at most 5 s.
  bench_sleep(7_000_000_000)
  bench_make_one_system_call()
  bench_sleep(UInt64(seconds) * 1_000_000_000)
  bench_make_one_system_call()
}
