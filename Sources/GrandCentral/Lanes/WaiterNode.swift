// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// A thread that waits for its turn on a lane, as an item of the lane's list. It lives on the waiting thread's stack.
///
/// The first 24 bytes are laid out like a `Job`, so that one list holds both; `Job.Flags.waiter` tells them apart.
/// The thread that wakes the waiter must not touch the node afterwards.
struct WaiterNode: ~Copyable {
  /// `Job.link`
  let link = Atomic<UnsafeMutableRawPointer?>(nil)
  /// `Job.invoke`, never called
  let invoke: UInt = 0
  /// `Job.flags`
  let flags: UInt32
  /// `Job.qos`
  let qos: UInt16
  /// `Job.rank`
  let rank: UInt8
  /// The waiting thread.
  let thread: UInt32
  let parker = Parker()
  private let duty = WakeDuty()

  /// The hand-over of a short item arrives within it.
  private static let spin = SpinBudget(nanoseconds: SpinBudget.answer)

  init(flags: Job.Flags, qos: QoSWord, thread: UInt32) {
    self.flags = flags.union(.waiter).rawValue
    self.qos = qos.rawValue
    rank = qos.band.rank
    self.thread = thread
  }

  /// Waits to be woken, when its turn on `lane` has come; `below` is the lane that the program has called.
  func wait(for lane: Lane, below: Lane) {
    if parker.waitBriefly(Self.spin) { return }
    waitingForQueueOwnedByAnotherThread(lane, below)
  }

  @inline(never)
  private func waitingForQueueOwnedByAnotherThread(_ lane: Lane, _ below: Lane) {
    let note = WaitNote.begin(.queue, lane.reference.bits, queue: lane)
    let blocking = Blocking.begin(duty)
    let reads = flags & Job.Flags.barrier.rawValue == 0
    WaitGraph.park(parker, in: .turn(on: lane.reference, reads: reads, below: below.reference))
    blocking.end(duty)
    note.end()
  }

  @inline(__always)
  static func owner(of job: Job) -> UInt32 { at(job).pointee.thread }

  @inline(__always)
  static func wake(_ job: Job) { at(job).pointee.wake() }

  @inline(__always)
  private func wake() {
    if Recorder.isOn { Recorder.note(.wake, argument: thread) }
    duty.perform()
    parker.unpark()
  }

  @inline(__always)
  private static func at(_ job: Job) -> UnsafeMutablePointer<WaiterNode> {
    // unsafe: only called for jobs with the waiter flag; the node stays until its thread is woken.
    job.raw.assumingMemoryBound(to: WaiterNode.self)
  }
}

/// Threads whose turn as readers has come, and which sleep. The owner of their lane wakes them, the first one first.
struct WaiterBatch {
  private var waiters = JobList()

  @inline(__always)
  var isEmpty: Bool { waiters.isEmpty }

  /// - Parameter waiter: A waiter that has been taken off its lane's list.
  mutating func append(_ waiter: Job) { waiters.append(waiter) }

  /// Wakes them all, and is empty then.
  @inline(__always)
  mutating func wake() {
    if !isEmpty { wakeSlow() }
  }

  @inline(never)
  private mutating func wakeSlow() {
    // Each is off the list before its thread is awake: the node is the thread's own then.
    while let waiter = waiters.popFirst() { WaiterNode.wake(waiter) }
  }
}

extension Waiter {
  /// Waits in the list of a group, a semaphore or an item; the pool knows of it.
  ///
  /// - Parameter wait: What others may know of it. It is not known which thread ends the wait for a semaphore.
  /// - Returns: false if the deadline came first.
  @inline(__always)
  borrowing func parkBlocked(until deadline: Deadline, in wait: Wait? = nil) -> Bool {
    let blocking = Blocking.begin(duty)
    defer { blocking.end(duty) }
    guard let wait else { return Blocking.sleep(until: deadline) { parker.park(until: $0) } }
    return WaitGraph.park(parker, until: deadline, in: wait)
  }
}
