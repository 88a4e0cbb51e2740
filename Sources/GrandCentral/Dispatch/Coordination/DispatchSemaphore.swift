// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// The counter goes below zero while threads wait: −n means that n waiters have not been promised a signal yet. A thread that
// moves it up from below zero owes one waiter its wake-up. A thread that moves it down to below zero becomes that waiter. Both
// then meet in the waiter list, under its lock; `owed` counts signals that came before their waiter.
//
// Semaphore.N1  value < 0: exactly −value waiters without a promised signal exist (listed, or on their way into the
//     list).
// Semaphore.N2  A waiter that gives up, in the list or on its way into it, moves the value back up itself, if it is still below
//     zero. Otherwise a signal has been promised to the waiter and is on its way: the waiter takes that signal.
//
// Semaphore.N3  The value of a semaphore that is made in a simulation lies `simulated` lower, so that no call is quick. The slow
//     calls take back what the quick ones have counted, and count again where another thread may have gone on before.
//
// Semaphore.N4  In a child of fork the list has no waiter of the parent's. Those that the value counts are on their way into the list for
//     ever: a signal that is promised to one of them is owed, and the next waiter takes it.
//
// Model: `Verification/semaphore.pml`.

/// A counter that threads wait for.
///
/// ```swift
/// let permits = DispatchSemaphore(value: 4)
/// permits.wait()
/// defer { permits.signal() }
/// ```
///
/// Uncontended calls cost one atomic operation and no system call. Waiters are served first come, first served.
public final class DispatchSemaphore: DispatchObject, @unchecked Sendable {  // atomics, and a list under its lock
  private let value: Atomic<Int>
  private let start: Int
  /// Guarded by `lock`.
  @exclusivity(unchecked) private var waiters = WaiterList()
  /// Not private: a test holds it.
  let lock = Lock()
  /// Guarded by `lock`: signals promised to waiters that have not joined the list yet.
  private var owed = 0

  static let spin = SpinBudget(nanoseconds: SpinBudget.answer)
  /// Semaphore.N3
  private static let simulated = Int.min / 2
  /// More signals than a program makes are as good as any number, and leave room to count.
  private static let most = 1 << 60

  /// A semaphore that lets `value` waits through before the first one blocks.
  ///
  /// A negative value traps (GC0008). Complexity: O(1). Blocking: never.
  public init(value: Int) {
    let value = UInt(bitPattern: value) <= UInt(Self.most) ? value : Self.largest(value)
    start = value
    self.value = Atomic(World.isSimulated ? value + Self.simulated : value)
    super.init()
  }

  @inline(never)
  private static func largest(_ value: Int) -> Int {
    if value < 0 {
      Fault.misuse(
        .semaphoreNegativeValue,
        "DispatchSemaphore(value:) was given " + String(value) + "; a semaphore starts at 0 or above. Start at 0 and "
          + "wait for signals.")
    }
    return most
  }

  deinit {
    // relaxed: the last reference is gone, and its release has ordered everything before.
    let now = Self.count(value.load(ordering: .relaxed))
    if now < start {
      Fault.misuse(
        .semaphoreReleasedInUse,
        "a DispatchSemaphore was released while in use: its value is " + String(now) + ", below the " + String(start)
          + " it started with. Signal it as often as it was waited for before letting it go.")
    }
    finalizeContext(otherwise: GlobalQueues.default)
  }

  /// Lets one waiter through, now or later.
  ///
  /// - Returns: non-zero if a waiting thread was woken.
  ///
  /// Complexity: O(1). Blocking: never.
  @discardableResult
  public func signal() -> Int {
    // pairs with: wait – publishes what the signaller wrote before
    if value.wrappingAdd(1, ordering: .releasing).oldValue >= 0 { return 0 }
    return Self.signalSlow(self)
  }

  /// Static, because a method would make the quick path keep a register for it.
  @inline(never)
  private static func signalSlow(_ semaphore: DispatchSemaphore) -> Int {
    if semaphore.isSimulated { return semaphore.signalSimulated() }
    return semaphore.letOneGo()
  }

  /// A waiter without a promised signal gets one.
  @inline(__always)
  private func letOneGo() -> Int {
    lock.lock()
    guard let waiter = waiters.popFirst() else {
      owed += 1
      lock.unlock()
      return 1
    }
    lock.unlock()
    if Recorder.isOn { Recorder.note(.signal, word: UInt64(Borrowed(self).bits)) }
    Waiter.wake(waiter)
    return 1
  }

  /// Takes one signal; waits for it if there is none.
  ///
  /// Complexity: O(1). Blocking: until signalled. A pool thread that waits is replaced while there is work.
  public func wait() {
    if take() { return }
    _ = waitSlow(.never)
  }

  /// Takes a signal, or announces that the caller is about to wait for one.
  @inline(__always)
  final func take() -> Bool {
    // pairs with: signal – publishes what the signaller wrote before
    value.wrappingSubtract(1, ordering: .acquiring).oldValue > 0
  }

  /// Takes one signal; waits for it until `timeout`.
  ///
  /// Complexity: O(1). Blocking: until signalled or the time has come.
  public func wait(timeout: DispatchTime) -> DispatchTimeoutResult { wait(until: timeout.deadline) }

  /// Takes one signal; waits for it until `wallTimeout`, which follows steps of the clock.
  ///
  /// Complexity: O(1). Blocking: until signalled or the time has come.
  public func wait(wallTimeout: DispatchWallTime) -> DispatchTimeoutResult { wait(until: wallTimeout.deadline) }

  func wait(until deadline: Deadline) -> DispatchTimeoutResult {
    if take() { return .success }
    return waitSlow(deadline) ? .success : .timedOut
  }

  @inline(never)
  final func waitSlow(_ deadline: Deadline) -> Bool {
    if isSimulated, takeSimulated() { return true }
    // Semaphore.N2, without the lock: a handler of signals may interrupt a thread that polls, and signal. If the thread held the
    // lock, the handler would wait for it for ever.
    let mayBlock = !deadline.hasPassed()
    if !mayBlock, takeBackWait() { return false }
    var waiter = Waiter()
    return _withUnprotectedUnsafeMutablePointer(to: &waiter) { waiter in
      lock.lock()
      if owed > 0 {
        owed -= 1
        lock.unlock()
        return true
      }
      waiters.append(waiter)
      lock.unlock()
      // A wait that may not block does not spin either.
      if mayBlock, waiter.pointee.parker.waitBriefly(Self.spin) || waitingForSignal(waiter, deadline) {
        return true
      }
      return !giveUp(waiter)
    }
  }

  @inline(never)
  private func waitingForSignal(_ waiter: UnsafeMutablePointer<Waiter>, _ deadline: Deadline) -> Bool {
    if deadline.hasPassed() { return false }
    let note = WaitNote.begin(.semaphore, Borrowed(self).bits, isTimed: !deadline.isNever)
    defer { note.end() }
    return waiter.pointee.parkBlocked(until: deadline)
  }

  /// Semaphore.N2. Returns false if a signal was promised after all; it has been taken then.
  private func giveUp(_ waiter: UnsafeMutablePointer<Waiter>) -> Bool {
    if leave(waiter) { return true }
    _ = waiter.pointee.parker.park()
    return false
  }

  /// Takes one signal if there is one.
  func tryWait() -> Bool {
    // relaxed: verified by the exchange.
    var seen = value.load(ordering: .relaxed)
    while seen > 0 {
      // pairs with: signal – publishes what the signaller wrote before
      let (exchanged, found) = value.weakCompareExchange(
        expected: seen, desired: seen - 1, successOrdering: .acquiring,
        // relaxed: followed by another attempt.
        failureOrdering: .relaxed)
      if exchanged { return true }
      seen = found
    }
    return isSimulated && tryWaitSimulated()
  }

  /// Takes one signal, or adds a waiter that is no thread.
  ///
  /// - Returns: whether the waiter has been added.
  func join(_ waiter: UnsafeMutablePointer<Waiter>, urgency _: UInt8) -> Bool {
    if take() || isSimulated && takeSimulated() { return false }
    lock.lock()
    defer { lock.unlock() }
    if owed > 0 {
      owed -= 1
      return false
    }
    waiters.append(waiter)
    return true
  }

  /// Semaphore.N2. Takes a waiter out; false if its wake-up is on its way.
  func leave(_ waiter: UnsafeMutablePointer<Waiter>) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    // If every waiter has been promised a signal, this one's is about to arrive in the list.
    guard waiter.pointee.isListed, takeBackWait() else { return false }
    waiters.remove(waiter)
    return true
  }

  @inline(never)
  private func takeBackWait() -> Bool {
    // relaxed: the counter alone; the signal that a failure stands for arrives through the lock.
    var seen = value.load(ordering: .relaxed)
    while Self.count(seen) < 0 {
      // relaxed: see above.
      let (exchanged, found) = value.weakCompareExchange(expected: seen, desired: seen + 1, ordering: .relaxed)
      if exchanged { return true }
      seen = found
    }
    return false
  }

  // MARK: Semaphore.N3

  /// What the word stands for.
  private static func count(_ word: Int) -> Int { word < simulated / 2 ? word - simulated : word }

  private var isSimulated: Bool {
    // relaxed: from the start, and for ever.
    value.load(ordering: .relaxed) < Self.simulated / 2
  }

  @inline(never)
  private func signalSimulated() -> Int {
    // relaxed: takes back what the caller has done itself.
    value.wrappingSubtract(1, ordering: .relaxed)
    return World.step(World.signals, on: self) {
      // pairs with: wait – publishes what the signaller wrote before
      Self.count(value.wrappingAdd(1, ordering: .releasing).oldValue) >= 0 ? 0 : letOneGo()
    }
  }

  /// As `take`.
  @inline(never)
  private func takeSimulated() -> Bool {
    // relaxed: takes back what the caller has done itself.
    value.wrappingAdd(1, ordering: .relaxed)
    return World.attempt(World.awaitsSignal, on: self) {
      // pairs with: signal – publishes what the signaller wrote before
      Self.count(value.wrappingSubtract(1, ordering: .acquiring).oldValue) > 0
    }
  }

  /// As `tryWait`.
  @inline(never)
  private func tryWaitSimulated() -> Bool {
    World.attempt(World.awaitsSignal, on: self) {
      // relaxed: one thread of a simulation goes on at a time, so nothing changes until the next line.
      if Self.count(value.load(ordering: .relaxed)) <= 0 { return false }
      // pairs with: signal – publishes what the signaller wrote before
      value.wrappingSubtract(1, ordering: .acquiring)
      return true
    }
  }
}
