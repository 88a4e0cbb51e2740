// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

#if Tasks || !HAS_TRAITS
  /// What a task can wait for, in one list with the threads that wait for it.
  protocol AsyncWaitable: AnyObject, Sendable {
    /// Takes what there is to take, without waiting; false if the caller has to wait.
    func tryWait() -> Bool
    /// Adds the waiter of a task of that urgency; false if there is nothing to wait for.
    func join(_ waiter: UnsafeMutablePointer<Waiter>, urgency: UInt8) -> Bool
    /// Takes the waiter out; false if another thread has chosen it, and wakes it.
    func leave(_ waiter: UnsafeMutablePointer<Waiter>) -> Bool
    /// Whether it knows a queue that it comes from, which is boosted for a task that waits.
    var comesFromQueue: Bool { get }
    /// Boosts that queue to the task's band (Contract.W4).
    ///
    /// - Returns: what the task lends besides, until its wait is over.
    func boostSubmission(for waiter: Band) -> Loan
  }

  extension AsyncWaitable {
    var comesFromQueue: Bool { false }
    func boostSubmission(for waiter: Band) -> Loan { .none }
  }

  extension DispatchGroup: AsyncWaitable {}
  extension DispatchSemaphore: AsyncWaitable {}
  extension DispatchWorkItem: AsyncWaitable { var comesFromQueue: Bool { true } }

  /// A task that waits until it is woken, its time is up, or it is cancelled: whichever comes first resumes it, once.
  ///
  ///   start ─► join ─► listed ──woken──────────────► success
  ///              │        ├─────time up, leave─────► timedOut
  ///              │        └─────cancelled, leave───► cancelled
  ///              └► nothing to wait for ───────────► success
  ///
  /// AsyncWaiter.A1  The thread that takes the waiter out of the list, by choosing it or by `leave`, resumes the task. No other
  ///     thread does.
  /// AsyncWaiter.A2  A cancellation, or the timer, that comes before the waiter has joined leaves a mark. Joining leaves one as
  ///     well. The thread that comes second finds both marks, and leaves the list.
  /// AsyncWaiter.A3  The waiter and the timer's entry are this object's. The list holds a reference, which the thread that
  ///     resumes the task gives up. The wheel holds one too, which the thread that takes the timer out of the wheel gives up.
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
    /// What the task lends: the code of a `Loan`, or `lendsNoMore`.
    private let loan = Atomic<UInt8>(Loan.none.code)
    private static let lendsNoMore = UInt8.max

    private init(_ host: any AsyncWaitable, _ deadline: Deadline, _ leeway: UInt64) {
      self.host = host
      self.deadline = deadline
      self.leeway = leeway
      // unsafe: a waiter is smaller than a node; given back in deinit.
      waiter = Magazine.takeRarely().bindMemory(to: Waiter.self, capacity: 1)
      waiter.initialize(to: Waiter(word: 0, awaken: AsyncWaiter.woken))
    }

    deinit {
      // pairs with: mark – publishes that the wheel has done with the timer's entry. The count of references does so as well,
      // but the thread sanitizer does not see it.
      _ = marks.load(ordering: .acquiring)
      waiter.deinitialize(count: 1)
      Magazine.giveRarely(UnsafeMutableRawPointer(waiter))
      if let timer {
        timer.deinitialize(count: 1)
        Magazine.giveRarely(UnsafeMutableRawPointer(timer))
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
        guard host.comesFromQueue else { return await withUnsafeContinuation { waiter.start($0) } }
        return await withTaskPriorityEscalationHandler {
          await withUnsafeContinuation { waiter.start($0) }
        } onPriorityEscalated: { _, priority in
          waiter.boost(for: QoSWord(priority).band)
        }
      } onCancel: {
        waiter.cancel()
      }
      waiter.stopTimer()
      waiter.lendNoMore()
      return outcome
    }

    /// Waits for `host`, also if the task is cancelled. No item of a queue is in between, so nothing that such an item would wait for.
    nonisolated(nonsending) static func waitToTheEnd(for host: any AsyncWaitable) async {
      if host.tryWait() { return }
      let waiter = AsyncWaiter(host, .never, 0)
      _ = await withUnsafeContinuation { waiter.start($0) }
      waiter.lendNoMore()
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
      if host.comesFromQueue { boost(for: Self.bandOfTask) }
      // pairs with: mark – publishes the waiter to the thread that comes second, whatever the host hands over by its lock
      let before = marks.bitwiseOr(Self.joined, ordering: .releasing).oldValue
      if before & Self.cancelled != 0 { end(.cancelled) } else if before & Self.timedOut != 0 { end(.timedOut) }
    }

    /// AsyncWaiter.A3. If there is nothing to wait for, resumes the task.
    private func join() -> Bool {
      let own = Owned(self).give()
      waiter.pointee.word = UInt64(own.bits)
      if host.join(waiter, urgency: host.comesFromQueue ? Urgency.of(Self.bandOfTask) : 0) { return true }
      own.giveBack()
      continuation!.resume(returning: .success)
      return false
    }

    private func leave() -> Bool {
      guard host.leave(waiter) else { return false }
      Borrowed(self).giveBack()
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
      // pairs with: start – publishes the waiter, which this thread may take out
      marks.bitwiseOr(reason, ordering: .acquiringAndReleasing).oldValue & Self.joined != 0
    }

    private static let woken: Waiter.Awaken = { raw in
      let waiter = raw.assumingMemoryBound(to: Waiter.self)
      // unsafe: AsyncWaiter.A3, the list's reference.
      let own = Borrowed<AsyncWaiter>(bits: UInt(waiter.pointee.word))!
      own.use { $0.continuation!.resume(returning: .success) }
      own.giveBack()
    }

    // MARK: Priority

    /// The task's band, or that of the item that it is in. The runtime's own threads run no items, and have no band.
    private static var bandOfTask: Band { QoSWord.ofThread.merged(with: QoSWord(Task.currentPriority)).band }

    private func boost(for band: Band) { lend(host.boostSubmission(for: band)) }

    /// In place of what the task has lent before. The task may have gone on meanwhile: then nobody would end the loan later.
    private func lend(_ new: Loan) {
      // relaxed: verified by the exchange.
      var seen = loan.load(ordering: .relaxed)
      while seen != Self.lendsNoMore {
        // relaxed: a loan is a hint, and ended by the thread that takes it out.
        let (exchanged, found) = loan.weakCompareExchange(expected: seen, desired: new.code, ordering: .relaxed)
        if exchanged { return Loan(code: seen).end() }
        seen = found
      }
      new.end()
    }

    private func lendNoMore() {
      // relaxed: as above.
      Loan(code: loan.exchange(Self.lendsNoMore, ordering: .relaxed)).end()
    }

    // MARK: Time

    private func makeTimer() {
      if deadline.isNever { return }
      // unsafe: an entry is as large as a node.
      let entry = Magazine.takeRarely().bindMemory(to: TimerEntry.self, capacity: 1)
      entry.initialize(
        to: TimerEntry(
          deadline: deadline.nanoseconds, leeway: leeway, context: Owned(self).intoWord(),
          fire: AsyncWaiter.timeIsUp))
      timer = entry
      Engine.current.timers.add(entry, on: deadline.clock, in: Engine.current)
    }

    /// By the task itself, at the end.
    private func stopTimer() {
      guard let timer, Engine.current.timers.cancel(timer, on: deadline.clock) else { return }
      Borrowed(self).giveBack()
    }

    private static let timeIsUp: TimerEntry.Fire = { raw in
      // unsafe: fired once, by the wheel that has let go of the entry; the reference is the one that `makeTimer` made.
      let entry = raw.assumingMemoryBound(to: TimerEntry.self)
      let own = Borrowed<AsyncWaiter>(word: entry.pointee.context!)
      own.use { if $0.mark(timedOut) { $0.end(.timedOut) } }
      own.giveBack()
    }
  }

  extension QoSWord {
    /// Priorities have the numbers of the classes.
    fileprivate init(_ priority: TaskPriority) { self.init(rawValue: UInt16(priority.rawValue) << 8) }
  }
#endif
