// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// The state word.
//
// | bits  | field    | meaning                                               |
// |-------|----------|-------------------------------------------------------|
// | 0–31  | count    | entered and not left                                  |
// | 32    | watched  | somebody waits, or wants to be notified, for zero     |
// | 33    | kept     | the group keeps itself while it is entered (constant) |
//
// Group.R1  Nobody is registered while `watched` is clear. Registering sets it, under the lock, and only while count >
//     0.
// Group.R2  The step from 1 to 0 with `watched` set is made under the lock, clears `watched`, and takes the whole
//     registration list with it: so whoever registers later waits for the next zero, and nobody is let through early.
//
// Group.R3  `kept` is for the C interface, where whoever leaves need not hold a reference: a waiter may release the
//     group as soon as it sees zero. The step from 0 to 1 retains the group, and the caller of the step from 1 to 0
//     releases it when it has touched it last. A step from 0 to 1 in between retains it once more, so the order does
//     not matter.
//
// Model: `Verification/group.pml`.

/// A count of things under way, and what to do when it comes to zero.
///
/// ```swift
/// let group = DispatchGroup()
/// for file in files { queue.async(group: group) { load(file) } }
/// group.notify(queue: .main) { show() }
/// ```
public final class DispatchGroup: DispatchObject, @unchecked Sendable {  // an atomic, and lists under their lock
  private static let watched: UInt64 = 1 << 32
  private static let kept: UInt64 = 1 << 33
  private static let countMask: UInt64 = watched - 1

  private let state: Atomic<UInt64>
  private let lock = Lock()
  /// Guarded by `lock`.
  private var waiters = WaiterList()
  /// Guarded by `lock`: notifications, first and last, linked through their jobs; `owner` is the queue, retained.
  private var notes = NoteList()

  private static let spin = SpinBudget(nanoseconds: SpinBudget.answer)

  /// An empty group.
  public override init() {
    state = Atomic(0)
    super.init()
  }

  /// A group that stays alive from the first `enter` to the last `leave`, whoever releases it.
  init(keepsItself: Bool) {
    state = Atomic(keepsItself ? Self.kept : 0)
    super.init()
  }

  /// A group that counts as entered `count` times.
  init(entered count: UInt32) {
    state = Atomic(UInt64(count))
    super.init()
  }

  deinit {
    // relaxed: the last reference is gone, and its release has ordered everything before.
    let count = state.load(ordering: .relaxed) & Self.countMask
    if count != 0 {
      Fault.misuse(
        .groupReleasedWhileEntered,
        "a DispatchGroup was released while it is entered " + (count == 1 ? "once" : String(count) + " times")
          + ": whoever waits for it would wait for ever. Balance every enter with a leave before letting the group go.")
    }
    lastContext?.finalize(on: GlobalQueues.default)
  }

  /// One more thing is under way. Balance it with `leave()`.
  ///
  /// Complexity: O(1), one atomic addition. Blocking: never.
  public func enter() {
    // relaxed: only the count; what happens inside is published by `leave`.
    let seen = state.wrappingAdd(1, ordering: .relaxed).oldValue
    if seen & Self.countMask == Self.countMask - 1 { faultOverflow() }
    // Group.R3
    if seen & ~Self.watched == Self.kept { _ = Unmanaged.passRetained(self) }
  }

  /// One thing is done. Traps (GC0004) if nothing is under way.
  ///
  /// Complexity: O(1); with the last one, O(number of waiters and notifications). Blocking: never.
  public func leave() {
    // relaxed: verified by the exchange.
    var seen = state.load(ordering: .relaxed)
    while true {
      if seen & Self.countMask == 0 { faultUnbalanced() }
      if seen & ~Self.kept == Self.watched | 1 { return leaveLastSlow() }
      // pairs with: wait, notify – publishes what the leaver wrote before. A leaver learns nothing of the others: that is for
      // those who wait, to whom all leaves are links of one chain.
      let (exchanged, found) = state.weakCompareExchange(
        expected: seen, desired: seen - 1, successOrdering: .releasing,
        // relaxed: followed by another attempt.
        failureOrdering: .relaxed)
      if exchanged {
        // Group.R3
        if seen == Self.kept | 1 { Unmanaged.passUnretained(self).release() }
        return
      }
      seen = found
    }
  }

  /// Group.R2
  @inline(never)
  private func leaveLastSlow() {
    if leaveWatched() { Unmanaged.passUnretained(self).release() }
  }

  /// - Returns: Group.R3: whether the caller now gives back the group's reference to itself.
  private func leaveWatched() -> Bool {
    lock.lock()
    // pairs with: wait, notify – publishes what the leaver wrote before
    let after = state.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue
    let releases = after & (Self.kept | Self.countMask) == Self.kept
    if after & Self.countMask != 0 || after & Self.watched == 0 {
      // Somebody has entered, or another leaver has been here, meanwhile.
      lock.unlock()
      if after & Self.countMask == Self.countMask { faultUnbalanced() }
      return releases
    }
    // Entering does not take the lock: only the flag may be cleared, the count may have moved already.
    // relaxed: guarded by the lock.
    state.bitwiseAnd(~Self.watched, ordering: .relaxed)
    let chosen = waiters.chooseAll()
    var notes = notes.takeAll()
    lock.unlock()
    // Notifications first, as with libdispatch: who has waited finds them submitted.
    let notifies = !notes.isEmpty
    notes.submitAll()
    chosen.wakeAll()
    if notifies { Unmanaged.passUnretained(self).release() }
    return releases
  }

  /// Waits until nothing is under way.
  ///
  /// Blocking: yes. A pool thread that waits is replaced while there is work.
  public func wait() { _ = wait(until: .never) }

  /// Waits until nothing is under way, or until `timeout`.
  public func wait(timeout: DispatchTime) -> DispatchTimeoutResult {
    wait(until: timeout.deadline) ? .success : .timedOut
  }

  /// Waits until nothing is under way, or until `wallTimeout`, which follows steps of the clock.
  public func wait(wallTimeout timeout: DispatchWallTime) -> DispatchTimeoutResult {
    wait(until: timeout.deadline) ? .success : .timedOut
  }

  func wait(until deadline: Deadline) -> Bool {
    // pairs with: leave – publishes what the leavers wrote before
    if state.load(ordering: .acquiring) & Self.countMask == 0 { return true }
    return waitSlow(deadline)
  }

  @inline(never)
  private func waitSlow(_ deadline: Deadline) -> Bool {
    var waiter = Waiter()
    return _withUnprotectedUnsafeMutablePointer(to: &waiter) { waiter in
      lock.lock()
      guard watch() else {
        lock.unlock()
        return true
      }
      waiters.append(waiter)
      lock.unlock()
      if waiter.pointee.parker.waitBriefly(Self.spin) || waitingForGroup(waiter, deadline) { return true }
      lock.lock()
      if waiter.pointee.isListed {
        waiters.remove(waiter)
        lock.unlock()
        return false
      }
      lock.unlock()
      _ = waiter.pointee.parker.park()
      return true
    }
  }

  @inline(never)
  private func waitingForGroup(_ waiter: UnsafeMutablePointer<Waiter>, _ deadline: Deadline) -> Bool {
    if deadline.hasPassed() { return false }
    let blocking = Blocking.begin(waiter.pointee.duty)
    defer { blocking.end(waiter.pointee.duty) }
    return waiter.pointee.parker.park(until: deadline)
  }

  /// Whether nothing is under way.
  func tryWait() -> Bool {
    // pairs with: leave – publishes what the leavers wrote before
    state.load(ordering: .acquiring) & Self.countMask == 0
  }

  /// Adds a waiter that is no thread; false if nothing is under way.
  func join(_ waiter: UnsafeMutablePointer<Waiter>) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    guard watch() else { return false }
    waiters.append(waiter)
    return true
  }

  /// Takes a waiter out; false if its wake-up is on its way.
  func leave(_ waiter: UnsafeMutablePointer<Waiter>) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    guard waiter.pointee.isListed else { return false }
    waiters.remove(waiter)
    return true
  }

  /// Group.R1: marks the group as watched. False if nothing is under way. The caller holds the lock.
  private func watch() -> Bool {
    // pairs with: leave – publishes what the leavers wrote before
    var seen = state.load(ordering: .acquiring)
    while seen & Self.countMask != 0 {
      // relaxed: marks only, and the lists are the lock's; what the leavers wrote comes with the zero.
      // pairs with: leave – publishes what the leavers wrote before: the exchange may fail because of a zero
      let (exchanged, found) = state.weakCompareExchange(
        expected: seen, desired: seen | Self.watched, successOrdering: .relaxed, failureOrdering: .acquiring)
      if exchanged { return true }
      seen = found
    }
    return false
  }

  /// Runs `work` on `queue` once nothing is under way; at once if nothing is now.
  ///
  /// The group stays alive until then. Blocking: never.
  public func notify(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], queue: DispatchQueue,
    execute work: @escaping () -> Void
  ) {
    notify(queue.makeJob(qos, flags, work), on: queue)
  }

  /// Runs a work item on `queue` once nothing is under way; at once if nothing is now.
  public func notify(queue: DispatchQueue, work: DispatchWorkItem) {
    notify(work.makeJob(for: queue), on: queue)
  }

  func notify(_ job: Job, on queue: DispatchQueue) {
    lock.lock()
    guard watch() else {
      lock.unlock()
      queue.enqueue(job)
      return
    }
    // The group waits for its own zero.
    if notes.isEmpty { _ = Unmanaged.passRetained(self) }
    notes.append(job, for: queue)
    lock.unlock()
  }

  @inline(never)
  private func faultUnbalanced() -> Never {
    Fault.misuse(
      .groupLeaveWithoutEnter,
      "DispatchGroup.leave has no enter to balance: the group's count is zero. Call leave exactly once for each enter.")
  }

  @inline(never)
  private func faultOverflow() -> Never {
    Fault.misuse(
      .groupEnterOverflow,
      "DispatchGroup.enter was called over four thousand million times without a leave. Balance every enter with a "
        + "leave.")
  }
}
