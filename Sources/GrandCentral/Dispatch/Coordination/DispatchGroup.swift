// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// The state word.
//
// | bits  | field     | meaning                                               |
// |-------|-----------|-------------------------------------------------------|
// | 0–30  | count     | entered and not left                                  |
// | 31    | simulated | see Group.R4 (constant)                               |
// | 32    | watched   | a thread or a notification waits for zero             |
// | 33    | kept      | the group keeps itself while it is entered (constant) |
// | 34    | listed    | other processes may know the count: see Group.R5      |
// | 35–63 | count     | of a simulated group                                  |
//
// Group.R1  Nothing is registered while `watched` is clear. Registering sets it, under the lock, and only while count > 0.
// Group.R2  The step from 1 to 0 with `watched` set is made under the lock, clears `watched`, and takes the whole registration
//     list with it. So a thread that registers later waits for the next zero, and none is let through early.
//
// Group.R3  `kept` is for the C interface, where a thread that leaves need not hold a reference: a waiter may release the
//     group as soon as it sees zero. The step from 0 to 1 retains the group, and the caller of the step from 1 to 0 releases
//     it when it has touched it last. A step from 0 to 1 in between retains it once more, so the order does not matter.
//
// Group.R4  A group that is made in a simulation has its count elsewhere, so that no call is quick. The slow calls let another
//     thread go on before they count, and behind that.
//
// Group.R5  `listed` is set when the group is made, or later under the lock, and stays. A thread that counts looks at the bit in the
//     word that its own step has changed: it finds it, and then changes the group's entry as well; or the thread that sets the
//     bit finds the step in the count, which it puts into the entry.
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
  static let simulated: UInt64 = 1 << 31
  static let watched: UInt64 = 1 << 32
  static let kept: UInt64 = 1 << 33
  static let listed: UInt64 = 1 << 34
  static let countMask: UInt64 = simulated - 1
  private static let simulatedUnit: UInt64 = 1 << 35
  /// A group that has been entered so often can be entered no more.
  static let mostEntered = UInt32(countMask - 1)

  let state: Atomic<UInt64>
  /// Guarded by `lock`.
  @exclusivity(unchecked) private var waiters = WaiterList()
  let lock = Lock()
  /// Guarded by `lock`: notifications, first and last, linked through their jobs; `owner` is the queue, retained.
  private var notes = NoteList()
  /// The group's number in the insight region: see `listed`.
  let insight = InsightNumber()

  static let spin = SpinBudget(nanoseconds: SpinBudget.answer)

  /// An empty group.
  ///
  /// Complexity: O(1). Blocking: never.
  public override init() {
    let mark = World.isSimulated ? Self.simulated : Recorder.numbersObjects ? Self.listed : 0
    state = Atomic(mark)
    super.init()
    if mark == Self.listed { enterInsight() }
  }

  /// A group that stays alive from the first `enter` to the last `leave`, even if all other references to it are released.
  init(keepsItself: Bool) {
    let mark = Recorder.numbersObjects ? Self.listed : 0
    state = Atomic((keepsItself ? Self.kept : 0) | mark)
    super.init()
    if mark != 0 { enterInsight() }
  }

  /// A group that counts as entered `count` times.
  init(entered count: UInt32) {
    state = Atomic(UInt64(count))
    super.init()
  }

  deinit {
    // relaxed: the last reference is gone, and its release has ordered everything before.
    let last = state.load(ordering: .relaxed)
    if last & Self.listed != 0 { insight.end() }
    let count = Self.count(last)
    if count != 0 {
      Fault.misuse(
        .groupReleasedWhileEntered,
        "a DispatchGroup was released while it is entered " + (count == 1 ? "once" : String(count) + " times")
          + ": a wait for it would never end. Balance every enter with a leave before letting the group go.")
    }
    finalizeContext(otherwise: GlobalQueues.default)
  }

  /// One more thing is under way. Balance it with `leave()`.
  ///
  /// Complexity: O(1), one atomic addition. Blocking: never.
  public func enter() {
    // relaxed: only the count; what happens inside is published by `leave`.
    let seen = state.wrappingAdd(1, ordering: .relaxed).oldValue
    if UInt32(truncatingIfNeeded: seen) >= Self.mostEntered { return enterSlow(seen) }
    if seen & Self.listed != 0 || Recorder.numbersObjects { return didEnterListed(seen) }
    // Group.R3
    if seen & ~Self.watched == Self.kept { _ = Owned(self).give() }
  }

  /// One thing is done. Traps (GC0004) if nothing is under way.
  ///
  /// Complexity: O(1); with the last one, O(number of waiters and notifications). Blocking: never.
  public func leave() {
    state.prepareWrite()
    // relaxed: verified by the exchange.
    let seen = state.load(ordering: .relaxed)
    if seen & Self.listed != 0 { return leaveListed(seen) }
    leave(seen, marks: 0)
  }

  /// - Parameter marks: `listed` if the group has that bit.
  @inline(__always)
  func leave(_ seen: UInt64, marks: UInt64) {
    var seen = seen
    while true {
      if seen & Self.countMask == 0 { return leaveSlow(seen) }
      if seen & ~Self.kept == marks | Self.watched | 1 { return leaveLastSlow(marks) }
      // pairs with: wait, notify – publishes what the leaver wrote before. A leaver learns nothing of the others: that is for
      // the threads that wait, to which all leaves are links of one chain.
      let (exchanged, found) = state.weakCompareExchange(
        expected: seen, desired: seen - 1, successOrdering: .releasing,
        // relaxed: followed by another attempt.
        failureOrdering: .relaxed)
      if exchanged {
        // Group.R3
        if seen == marks | Self.kept | 1 { Borrowed(self).giveBack() }
        return
      }
      // Group.R5: the bit has come meanwhile.
      if found & Self.listed != marks { return leaveListed(found) }
      seen = found
    }
  }

  /// Group.R2
  @inline(never)
  private func leaveLastSlow(_ marks: UInt64) {
    if leaveWatched(marks) { Borrowed(self).giveBack() }
  }

  /// - Parameter marks: `listed` if the group's entry has been changed already.
  /// - Returns: Group.R3: whether the caller now gives back the group's reference to itself.
  private func leaveWatched(_ marks: UInt64) -> Bool {
    lock.lock()
    // relaxed: the unit is the same for ever, and `listed` is the lock's.
    let before = state.load(ordering: .relaxed)
    let unit = Self.unit(before)
    // Group.R5: the bit has come meanwhile. Before the step, after which the group may be gone.
    if before & Self.listed != marks { InsightObjects.addMembers(-1, of: insight.known) }
    // pairs with: wait, notify – publishes what the leaver wrote before
    let after = state.wrappingSubtract(unit, ordering: .acquiringAndReleasing).newValue
    // A leave too many has borrowed from the next fields.
    let isUnbalanced = UInt32(truncatingIfNeeded: after) == .max
    let releases = after & Self.kept != 0 && Self.count(after) == 0
    if isUnbalanced || Self.count(after) != 0 || after & Self.watched == 0 {
      // Another thread has entered, or another leaver has been here, meanwhile.
      lock.unlock()
      if isUnbalanced { faultUnbalanced() }
      return releases
    }
    // Entering does not take the lock: only the flag may be cleared, the count may have moved already.
    // relaxed: guarded by the lock.
    state.bitwiseAnd(~Self.watched, ordering: .relaxed)
    let chosen = waiters.chooseAll()
    var notes = notes.takeAll()
    lock.unlock()
    if Recorder.isOn { Recorder.note(.groupEmpty, word: UInt64(Borrowed(self).bits)) }
    // Notifications first, as with libdispatch: a thread that has waited finds them submitted.
    let notifies = !notes.isEmpty
    notes.submitAll()
    chosen.wakeAll()
    if notifies { Borrowed(self).giveBack() }
    return releases
  }

  /// Waits until nothing is under way.
  ///
  /// Complexity: O(1). Blocking: yes. A pool thread that waits is replaced while there is work.
  public func wait() { _ = wait(until: .never) }

  /// Waits until nothing is under way, or until `timeout`.
  ///
  /// Complexity: O(1). Blocking: until nothing is under way or the time has come. A pool thread that waits is
  /// replaced while there is work.
  public func wait(timeout: DispatchTime) -> DispatchTimeoutResult {
    wait(until: timeout.deadline) ? .success : .timedOut
  }

  /// Waits until nothing is under way, or until `wallTimeout`, which follows steps of the clock.
  ///
  /// Complexity: O(1). Blocking: until nothing is under way or the time has come. A pool thread that waits is
  /// replaced while there is work.
  public func wait(wallTimeout timeout: DispatchWallTime) -> DispatchTimeoutResult {
    wait(until: timeout.deadline) ? .success : .timedOut
  }

  func wait(until deadline: Deadline) -> Bool {
    // pairs with: leave – publishes what the leavers wrote before
    if UInt32(truncatingIfNeeded: state.load(ordering: .acquiring)) == 0 { return true }
    return waitSlow(deadline)
  }

  @inline(never)
  private func waitSlow(_ deadline: Deadline) -> Bool {
    if isSimulated, World.attempt(World.awaitsGroup, on: self, { tryWait() }) { return true }
    var waiter = Waiter()
    return _withUnprotectedUnsafeMutablePointer(to: &waiter) { waiter in
      lock.lock()
      guard watch() else {
        lock.unlock()
        return true
      }
      waiters.append(waiter)
      lock.unlock()
      // A wait that may not block does not spin either.
      if !deadline.hasPassed(), waiter.pointee.parker.waitBriefly(Self.spin) || waitingForGroup(waiter, deadline) {
        return true
      }
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
    if Recorder.numbersObjects { list() }
    let note = WaitNote.begin(
      .group, Borrowed(self).bits, isTimed: !deadline.isNever,
      // relaxed: a figure.
      count: UInt32(truncatingIfNeeded: Self.count(state.load(ordering: .relaxed))))
    defer { note.end() }
    return waiter.pointee.parkBlocked(until: deadline, in: .object(awaited(by: waiter)))
  }

  func awaited(by waiter: UnsafeMutablePointer<Waiter>) -> Awaited {
    Awaited(.group, Borrowed(self).word, waiter) { DispatchGroup.whereabouts($0) }
  }

  /// Where the group's items are, for as long as the waiter has not been let go: while it is listed, the count has not been
  /// zero.
  private static func whereabouts(_ wait: Awaited) -> Awaited.Whereabouts {
    Borrowed<DispatchGroup>(word: wait.address).use { group in
      group.lock.withLock { wait.isListed } ? .waits : .unknown
    }
  }

  /// Whether nothing is under way.
  func tryWait() -> Bool {
    // pairs with: leave – publishes what the leavers wrote before
    Self.count(state.load(ordering: .acquiring)) == 0
  }

  /// Adds a waiter that is no thread; false if nothing is under way.
  func join(_ waiter: UnsafeMutablePointer<Waiter>, urgency _: UInt8) -> Bool {
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
    while Self.count(seen) != 0 {
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
  /// The group stays alive until then. Complexity: O(1). Blocking: never.
  public func notify(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], queue: DispatchQueue,
    execute work: @escaping () -> Void
  ) {
    notify(queue.makeJob(qos, flags, work), on: queue)
  }

  /// Runs a work item on `queue` once nothing is under way; at once if nothing is now.
  ///
  /// Complexity: O(1). Blocking: never.
  public func notify(queue: DispatchQueue, work: DispatchWorkItem) {
    notify(work.makeJob(for: queue), on: queue)
  }

  func notify(_ job: Job, on queue: DispatchQueue) {
    if Recorder.numbersObjects { list() }
    if isSimulated { World.tell(World.asksToNotify, on: self) }
    lock.lock()
    guard watch() else {
      lock.unlock()
      queue.enqueueSlow(job)
      return
    }
    // The group waits for its own zero.
    if notes.isEmpty { _ = Owned(self).give() }
    notes.append(job, for: queue)
    lock.unlock()
  }

  // MARK: Group.R4

  private static func count(_ word: UInt64) -> UInt64 {
    word & simulated == 0 ? word & countMask : word / simulatedUnit
  }

  private static func unit(_ word: UInt64) -> UInt64 { word & simulated == 0 ? 1 : simulatedUnit }

  private var isSimulated: Bool {
    // relaxed: from the start, and for ever.
    state.load(ordering: .relaxed) & Self.simulated != 0
  }

  /// The count is full, or elsewhere. The caller has counted one already.
  @inline(never)
  private func enterSlow(_ seen: UInt64) {
    if seen & Self.simulated == 0 { faultOverflow() }
    // relaxed: takes back what the caller has done itself.
    state.wrappingSubtract(1, ordering: .relaxed)
    World.step(World.enters, on: self) {
      // relaxed: as in `enter`.
      let seen = state.wrappingAdd(Self.simulatedUnit, ordering: .relaxed).oldValue
      if Self.count(seen) == UInt64.max / Self.simulatedUnit { faultOverflow() }
      // Group.R3
      if seen & Self.kept != 0, Self.count(seen) == 0 { _ = Owned(self).give() }
    }
  }

  /// The count is zero, or elsewhere.
  @inline(never)
  private func leaveSlow(_ seen: UInt64) {
    if seen & Self.simulated == 0 { faultUnbalanced() }
    World.step(World.leaves, on: self) {
      if tryWait() { faultUnbalanced() }
      // The last one wakes; the others do no more than to count.
      if leaveWatched(0) { Borrowed(self).giveBack() }
    }
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
      "DispatchGroup.enter was called over two thousand million times without a leave. Balance every enter with a "
        + "leave.")
  }
}
