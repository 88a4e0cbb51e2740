// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// What a task can wait for, in one list with the threads that wait for it.
protocol AsyncWaitable: AnyObject, Sendable {
  /// Takes what there is to take without waiting; false if one has to wait.
  func tryWait() -> Bool
  /// Adds the waiter; false if there is nothing to wait for.
  func join(_ waiter: UnsafeMutablePointer<Waiter>) -> Bool
  /// Takes the waiter out; false if somebody has chosen it, and wakes it.
  func leave(_ waiter: UnsafeMutablePointer<Waiter>) -> Bool
}

extension DispatchGroup: AsyncWaitable {}
extension DispatchSemaphore: AsyncWaitable {}
extension DispatchWorkItem: AsyncWaitable {}

/// A task that waits until it is woken, its time is up, or it is cancelled: whichever comes first resumes it, once.
///
///   start ─► join ─► listed ──woken──────────────► success
///              │        ├─────time up, leave─────► timedOut
///              │        └─────cancelled, leave───► cancelled
///              └► nothing to wait for ───────────► success
///
/// AsyncWaiter.A1  Who takes the waiter out of the list, by choosing it or by `leave`, and nobody else, resumes the
///     task.
/// AsyncWaiter.A2  A cancellation, or the timer, that comes before the waiter has joined leaves a mark. Joining leaves
///     one as well; who comes second finds both, and leaves the list.
/// AsyncWaiter.A3  The waiter and the timer's entry are this object's. The list holds a reference, given up by whoever
///     resumes the task; so does the wheel, given up by whoever takes the timer out of it.
final class AsyncWaiter: @unchecked Sendable {  // the waiter is the list's, the rest is written before joining
  enum Outcome: Sendable { case success, timedOut, cancelled }

  private static let joined: UInt8 = 1
  private static let cancelled: UInt8 = 2
  private static let timedOut: UInt8 = 4

  private let host: any AsyncWaitable
  private let deadline: Deadline
  private let leeway: UInt64
  private let marks = Atomic<UInt8>(0)
  /// Written before joining.
  @exclusivity(unchecked) private var continuation: UnsafeContinuation<Outcome, Never>?
  /// Guarded by the host's lock.
  private let waiter: UnsafeMutablePointer<Waiter>
  /// Written before joining.
  @exclusivity(unchecked) private var timer: TimerEntry.Pointer?

  private init(_ host: any AsyncWaitable, _ deadline: Deadline, _ leeway: UInt64) {
    self.host = host
    self.deadline = deadline
    self.leeway = leeway
    // unsafe: a waiter is smaller than a node; given back in deinit.
    waiter = Magazine.take().bindMemory(to: Waiter.self, capacity: 1)
    waiter.initialize(to: Waiter(word: 0, awaken: AsyncWaiter.woken))
  }

  deinit {
    // pairs with: mark – publishes that the wheel has done with the timer's entry. So does the count of references, which the
    // thread sanitizer does not see.
    _ = marks.load(ordering: .acquiring)
    waiter.deinitialize(count: 1)
    Magazine.give(UnsafeMutableRawPointer(waiter))
    if let timer {
      timer.deinitialize(count: 1)
      Magazine.give(UnsafeMutableRawPointer(timer))
    }
  }

  /// Waits for `host`, until `deadline` or up to `leeway` nanoseconds later.
  nonisolated(nonsending) static func wait(
    for host: any AsyncWaitable, until deadline: Deadline, leeway: UInt64 = 0
  ) async -> Outcome {
    if Task.isCancelled { return .cancelled }
    if host.tryWait() { return .success }
    let waiter = AsyncWaiter(host, deadline, leeway)
    let outcome = await withTaskCancellationHandler {
      await withUnsafeContinuation { waiter.start($0) }
    } onCancel: {
      waiter.cancel()
    }
    waiter.stopTimer()
    return outcome
  }

  private func start(_ continuation: UnsafeContinuation<Outcome, Never>) {
    self.continuation = continuation
    if deadline.hasPassed() {
      // Only what is there at once counts.
      if join(), leave() { continuation.resume(returning: .timedOut) }
      return
    }
    // Before joining: once joined, the task may go on any time, and looks for its timer.
    makeTimer()
    guard join() else { return }
    // relaxed: decides who comes second, and hands nothing over. Who does takes the waiter out under the host's lock, later
    // than this thread has put it in: else its mark would come before this one.
    let before = marks.bitwiseOr(Self.joined, ordering: .relaxed).oldValue
    if before & Self.cancelled != 0 { end(.cancelled) } else if before & Self.timedOut != 0 { end(.timedOut) }
  }

  /// AsyncWaiter.A3. If there is nothing to wait for, resumes the task.
  private func join() -> Bool {
    let own = Unmanaged.passRetained(self)
    waiter.pointee.word = UInt64(UInt(bitPattern: own.toOpaque()))
    if host.join(waiter) { return true }
    own.release()
    continuation!.resume(returning: .success)
    return false
  }

  private func leave() -> Bool {
    guard host.leave(waiter) else { return false }
    Unmanaged.passUnretained(self).release()
    return true
  }

  private func end(_ outcome: Outcome) {
    // Its own reference, not the list's, keeps this object until the end of the call.
    if leave() { continuation!.resume(returning: outcome) }
  }

  private func cancel() {
    if mark(Self.cancelled) { end(.cancelled) }
  }

  /// - Returns: whether the waiter has joined.
  private func mark(_ reason: UInt8) -> Bool {
    // pairs with: deinit – publishes that the wheel has done with the timer's entry
    marks.bitwiseOr(reason, ordering: .releasing).oldValue & Self.joined != 0
  }

  private static let woken: Waiter.Awaken = { raw in
    let waiter = raw.assumingMemoryBound(to: Waiter.self)
    // unsafe: AsyncWaiter.A3, the list's reference.
    let own = Unmanaged<AsyncWaiter>.fromOpaque(UnsafeRawPointer(bitPattern: UInt(waiter.pointee.word))!)
    own._withUnsafeGuaranteedRef { $0.continuation!.resume(returning: .success) }
    own.release()
  }

  // MARK: Time

  private func makeTimer() {
    if deadline.isNever { return }
    // unsafe: an entry is as large as a node.
    let entry = Magazine.take().bindMemory(to: TimerEntry.self, capacity: 1)
    entry.initialize(
      to: TimerEntry(
        deadline: deadline.nanoseconds, leeway: leeway, context: Unmanaged.passRetained(self).toOpaque(),
        fire: AsyncWaiter.timeIsUp))
    timer = entry
    Engine.shared.pointee.timers.add(entry, on: deadline.clock, in: Engine.shared.pointee)
  }

  /// By the task itself, at the end.
  private func stopTimer() {
    guard let timer, Engine.shared.pointee.timers.cancel(timer, on: deadline.clock) else { return }
    Unmanaged.passUnretained(self).release()
  }

  private static let timeIsUp: TimerEntry.Fire = { raw in
    // unsafe: fired once, by the wheel that has let go of the entry; the reference is the one that `makeTimer` made.
    let entry = raw.assumingMemoryBound(to: TimerEntry.self)
    let own = Unmanaged<AsyncWaiter>.fromOpaque(entry.pointee.context!)
    own._withUnsafeGuaranteedRef { if $0.mark(timedOut) { $0.end(.timedOut) } }
    own.release()
  }
}
