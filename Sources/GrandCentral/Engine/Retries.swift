// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// One registration that the kernel has refused for want of something, in memory that its party provides and keeps in
/// place until it is done.
struct Retry: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<Retry>

  /// Registers again, on a worker. If `isWithdrawn`, does instead what is left to do for a party that no longer wants to
  /// register.
  ///
  /// - Returns: 0 when the party is done with the entry; otherwise the number of the error, which is still a shortage.
  typealias Attempt = @convention(c) (_ context: UnsafeMutableRawPointer, _ isWithdrawn: Bool) -> Int32

  fileprivate enum Place { case outside, listed, trying }

  /// Guarded by the list's lock, like all that follows.
  fileprivate var next: Pointer?
  fileprivate var previous: Pointer?
  fileprivate var place = Place.outside
  fileprivate var isWithdrawn = false
  fileprivate var kind = Shortages.Kind.descriptors
  /// The engine that has it in its list: a forked child has another one.
  fileprivate var engine: UnsafeMutableRawPointer?
  fileprivate let context: UnsafeMutableRawPointer
  fileprivate let attempt: Attempt

  @_optimize(size)
  init(context: UnsafeMutableRawPointer, attempt: @escaping Attempt) {
    self.context = context
    self.attempt = attempt
  }
}

// The registrations that wait for the kernel to have what they need, and the one timer that has them tried again.
//
//   outside ──add──► listed ──the timer's job──► trying ──refused again──► listed
//      ▲               │                           ├──────done────────────► the party's
//      └───withdraw────┘                           └──refused, withdrawn──► attempt(isWithdrawn: true), the party's
//
// Retries.A  An entry that is `trying` belongs to the job. The party may not free it, but may note that it is withdrawn. The
//            thread that makes the entry `outside`, or ends the last attempt, concludes for the party: exactly one thread
//            does.
// Retries.B  The job tries the entries in the order in which they came. When one is refused, others that are short of the
//            same thing are left for the next time: ten thousand sources cost one failing call a pause.
//            Those that look for themselves meanwhile (`.looks`) are all called. What one is refused, another may get, because one kind
//            stands for several limits: after a refusal the next job begins with another entry, so each is tried within as many jobs as
//            there are entries.
// Retries.C  There is a timer, or a job on its way, while the list is not empty (`isScheduled`).
//
// The lock is never held while an attempt runs.
struct Retries: ~Copyable, @unchecked Sendable {  // guarded by `lock`
  private struct State: ~Copyable {
    var first: Retry.Pointer?
    var last: Retry.Pointer?
    var count = 0
    var isScheduled = false
  }

  private let lock = Lock()
  private let state: UnsafeMutablePointer<State>
  private let timer: TimerEntry.Pointer

  @_optimize(size)
  init() {
    // unsafe: both live as long as the engine.
    state = .allocate(capacity: 1)
    state.initialize(to: State())
    timer = .allocate(capacity: 1)
    timer.initialize(to: TimerEntry(deadline: 0, fire: Retries.timerFired))
  }

  /// The engine goes, and no thread is in it.
  ///
  /// - Returns: false if a registration waits here, which may still be withdrawn: then all stays.
  @_optimize(size)
  func discard() -> Bool {
    let last = state.move()
    if last.count > 0 || last.isScheduled {
      state.initialize(to: last)
      return false
    }
    state.deallocate()
    timer.deinitialize(count: 1)
    timer.deallocate()
    return true
  }

  /// Has a registration that was refused with `error` tried again.
  ///
  /// - Returns: false if it was withdrawn meanwhile: then the caller concludes.
  @_optimize(size)
  func add(_ retry: Retry.Pointer, refusedWith error: Errno, in engine: borrowing Engine) -> Bool {
    let kind = Shortages.ofRegistration(error)
    let pause = kind.refused(error)
    lock.lock()
    if retry.pointee.isWithdrawn {
      lock.unlock()
      return false
    }
    retry.pointee.kind = kind
    retry.pointee.engine = UnsafeMutableRawPointer(Engine.shared)
    append(retry)
    let schedules = !state.pointee.isScheduled
    state.pointee.isScheduled = true
    lock.unlock()
    if schedules { startTimer(after: pause, in: engine) }
    return true
  }

  /// The party does not want to register any more.
  ///
  /// - Returns: whether the caller concludes. Otherwise the attempt that runs concludes, or the thread that is about to add
  ///   the entry.
  @_optimize(size)
  func withdraw(_ retry: Retry.Pointer) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    retry.pointee.isWithdrawn = true
    // The entry may belong to the parent's engine, in its list or tried there: no thread tries it in this child.
    let isParents = retry.pointee.engine != nil && retry.pointee.engine != UnsafeMutableRawPointer(Engine.shared)
    guard isParents || retry.pointee.place == .listed else { return false }
    if !isParents { remove(retry) }
    retry.pointee.place = .outside
    return true
  }

  // MARK: The timer and its job

  @_optimize(size)
  private func startTimer(after pause: UInt64, in engine: borrowing Engine) {
    timer.pointee.schedule(Clock.uptime.now().addingSaturated(pause), leeway: pause / 4)
    engine.timers.add(timer, on: .uptime, in: engine)
  }

  private static let timerFired: TimerEntry.Fire = { _ in
    Engine.shared.pointee.submitUnordered(Job(invoke: Retries.run, band: .normal))
  }

  private static let run: Job.Invoke = { raw in
    Job(raw: raw).recycle()
    let engine = Engine.shared
    engine.pointee.retries.tryAll(in: engine.pointee)
  }

  @_optimize(size)
  func tryAll(in engine: borrowing Engine) {
    var refused: UInt8 = 0
    var shortest = UInt64.max
    lock.lock()
    for _ in 0..<state.pointee.count {
      guard let retry = popFirst() else { break }
      if refused & 1 << retry.pointee.kind.rawValue != 0 {
        append(retry)
        continue
      }
      retry.pointee.place = .trying
      lock.unlock()
      if let (kind, pause) = attempt(retry) {
        // An entry that looks for itself says nothing about others.
        if kind != .looks { refused |= 1 << kind.rawValue }
        shortest = min(shortest, pause)
      }
      lock.lock()
    }
    // Retries.B: all have been appended again, in the order in which they were, but for one that came meanwhile.
    if refused != 0, let first = popFirst() { append(first) }
    let isOver = state.pointee.first == nil
    if isOver { state.pointee.isScheduled = false }
    lock.unlock()
    // Where none was refused, those that are left have come meanwhile: the next job tries them, and finds out how long their pause is.
    let pause = shortest == .max ? Self.shortestPause : min(shortest, Self.longestPause)
    if !isOver { startTimer(after: pause, in: engine) }
  }

  private static let shortestPause: UInt64 = 1_000_000
  private static let longestPause: UInt64 = 1_000_000_000

  /// - Returns: what the registration is short of still, and how long to wait; nil if it is done.
  @_optimize(size)
  private func attempt(_ retry: Retry.Pointer) -> (Shortages.Kind, UInt64)? {
    let (former, context, again) = (retry.pointee.kind, retry.pointee.context, retry.pointee.attempt)
    let code = again(context, false)
    if code == 0 {
      former.granted()
      return nil
    }
    let error = Errno(code: code)
    let kind = Shortages.ofRegistration(error)
    let pause = kind.refused(error)
    lock.lock()
    if retry.pointee.isWithdrawn {
      retry.pointee.place = .outside
      lock.unlock()
      _ = again(context, true)
    } else {
      retry.pointee.kind = kind
      append(retry)
      lock.unlock()
    }
    return (kind, pause)
  }

  // MARK: With the lock held

  @_optimize(size)
  private func append(_ retry: Retry.Pointer) {
    retry.pointee.place = .listed
    retry.pointee.next = nil
    retry.pointee.previous = state.pointee.last
    if let last = state.pointee.last { last.pointee.next = retry } else { state.pointee.first = retry }
    state.pointee.last = retry
    state.pointee.count += 1
  }

  @_optimize(size)
  private func popFirst() -> Retry.Pointer? {
    guard let first = state.pointee.first else { return nil }
    remove(first)
    return first
  }

  @_optimize(size)
  private func remove(_ retry: Retry.Pointer) {
    let (previous, next) = (retry.pointee.previous, retry.pointee.next)
    if let previous { previous.pointee.next = next } else { state.pointee.first = next }
    if let next { next.pointee.previous = previous } else { state.pointee.last = previous }
    state.pointee.count -= 1
  }
}
