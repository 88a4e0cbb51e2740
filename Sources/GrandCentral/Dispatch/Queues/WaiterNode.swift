// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// A thread that waits for its turn on a lane, as an item of the lane's list. It lives on the waiting thread's stack.
///
/// The first 24 bytes are laid out like a `Job`, so that one list holds both; `Job.Flags.waiter` tells them apart.
/// Whoever wakes the waiter must not touch the node afterwards.
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

  /// Waits to be woken.
  func wait() {
    if parker.waitBriefly(Self.spin) { return }
    waitingForQueueOwnedByAnotherThread()
  }

  @inline(never)
  private func waitingForQueueOwnedByAnotherThread() {
    let blocking = Blocking.begin(duty)
    _ = parker.park()
    blocking.end(duty)
  }

  @inline(__always)
  static func owner(of job: Job) -> UInt32 { at(job).pointee.thread }

  @inline(__always)
  static func wake(_ job: Job) {
    at(job).pointee.duty.perform()
    at(job).pointee.parker.unpark()
  }

  @inline(__always)
  private static func at(_ job: Job) -> UnsafeMutablePointer<WaiterNode> {
    // unsafe: only called for jobs with the waiter flag; the node stays until its thread is woken.
    job.raw.assumingMemoryBound(to: WaiterNode.self)
  }
}
