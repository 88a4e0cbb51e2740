// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

extension Lane {
  /// Runs `work` as an item, on whichever thread drains the queue, and waits for it.
  @usableFromInline
  @inline(never)
  final func runRemotely(barrier: Bool, qos itemQoS: QoSWord? = nil, _ work: () -> Void) {
    checkDeadlock(Thread.id, reads: kind.reads(barrier: barrier), for: self)
    var call = RemoteCall(work: BorrowedClosure(work))
    _withUnprotectedUnsafeMutablePointer(to: &call) { call in
      let caller = QoSWord.ofThread
      let qos = itemQoS ?? caller
      // The caller waits, so the item is queued as urgently as the more urgent of the two.
      let band = min(qos.band, caller.band)
      let job = Job(invoke: RemoteCall.invoke, flags: barrier ? .barrier : [], qos: qos.rawValue, band: band)
      job.extra = UnsafeMutableRawPointer(call)
      enqueueSlow(job)
      call.pointee.wait(for: self, reads: kind.reads(barrier: barrier), as: .init(call))
    }
  }
}

/// A synchronous item that its drainer runs. Lives on the stack of the thread that waits for it.
struct RemoteCall: ~Copyable {
  let work: BorrowedClosure
  let parker = Parker()

  private static let spin = SpinBudget(nanoseconds: SpinBudget.answer)

  init(work: BorrowedClosure) { self.work = work }

  static let invoke: Job.Invoke = { raw in
    let job = Job(raw: raw)
    // unsafe: the caller stays in `wait` until it is unparked, which is the last access.
    let call = job.extra!.assumingMemoryBound(to: RemoteCall.self)
    job.recycle()
    call.pointee.work()
    call.pointee.parker.unpark()
  }

  /// - Parameter call: What the item's job has as its `extra`: this.
  func wait(for lane: Lane, reads: Bool, as call: Job.Word) {
    if parker.waitBriefly(Self.spin) { return }
    waitingForItemOnAnotherThread(lane, reads, call)
  }

  @inline(never)
  private func waitingForItemOnAnotherThread(_ lane: Lane, _ reads: Bool, _ call: Job.Word) {
    let note = WaitNote.begin(.itemElsewhere, lane.reference.bits, queue: lane)
    let blocking = Blocking.begin()
    WaitGraph.park(parker, in: .call(on: lane.reference, reads: reads, call))
    blocking.end()
    note.end()
  }
}

/// The quality of service of a thread that runs an item at another one meanwhile.
@usableFromInline
struct CallerQoS {
  private let outer: QoSWord

  @usableFromInline
  init(replacedBy qos: QoSWord) {
    outer = .ofThread
    QoSWord.ofThread = qos
  }

  @usableFromInline
  func restore() { QoSWord.ofThread = outer }
}
