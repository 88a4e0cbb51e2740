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
  /// The thread that waits, and where it is meanwhile: its frames stay as they are.
  struct Caller {
    let thread: UInt32
    let context: QueueContext.Pointer?
    let worker: Worker.Pointer?
    /// Whether it runs the main queue's items.
    let isMain: Bool
    /// The call whose item it runs itself.
    fileprivate let running: UnsafeMutablePointer<RemoteCall>?

    @_optimize(size) @inline(never)
    fileprivate static func here() -> Caller {
      let worker = Worker.current
      return Caller(
        thread: Thread.id, context: QueueContext.innermost, worker: worker,
        isMain: worker == nil && Thread.runsMainQueue, running: RemoteCall.running)
    }
  }

  let work: BorrowedClosure
  private let caller = Caller.here()
  let parker = Parker()

  private static let spin = SpinBudget(nanoseconds: SpinBudget.answer)

  init(work: BorrowedClosure) { self.work = work }

  static let invoke: Job.Invoke = { raw in
    let job = Job(raw: raw)
    // unsafe: the caller stays in `wait` until it is unparked, which is the last access.
    let call = job.extra!.assumingMemoryBound(to: RemoteCall.self)
    job.recycle()
    let outer = running
    running = call
    call.pointee.work()
    // A child of a fork: the thread that waits is the parent's, and another thread may have its stack by now.
    if running != call { return }
    running = outer
    call.pointee.parker.unpark()
  }

  /// The call whose item the calling thread runs: the innermost one.
  private static var running: UnsafeMutablePointer<RemoteCall>? {
    get { .init(bitPattern: Thread.remoteCall) }
    set { Thread.remoteCall = UInt(bitPattern: newValue) }
  }

  /// Whether `look` returns true for a thread that waits until the calling one has run its item, or for one that waits for that thread.
  @_optimize(size) @inline(never)
  static func containsCaller(where look: (Caller) -> Bool) -> Bool {
    var call = running
    while let link = call {
      // unsafe: as in `invoke`.
      let caller = link.pointee.caller
      if look(caller) { return true }
      call = caller.running
    }
    return false
  }

  /// In a forked child: the threads that wait are the parent's.
  static func forgetCallers() { running = nil }

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
