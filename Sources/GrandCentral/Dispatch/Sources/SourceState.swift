// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// The state of a source: one word, and every step that changes it.
//
//   | bits  | name          | means                                                                       |
//   |-------|---------------|-----------------------------------------------------------------------------|
//   | 0     | inactive      | not activated yet                                                           |
//   | 1     | registering   | the activator is telling the kernel                                         |
//   | 2     | registered    | the kernel may report events                                                |
//   | 3     | announcing    | the registration handler is due                                             |
//   | 4     | pending       | an event waits to be delivered                                              |
//   | 5     | lost          | cancelled by itself: what it watched is gone, and the program does not know  |
//   | 6     | enqueued      | the source's one job is on the target, or runs                              |
//   | 7     | running       | a handler runs                                                              |
//   | 8     | cancelled     | for good                                                                    |
//   | 9     | finished      | the cancel handler has begun, or there is none: nothing runs any more       |
//   | 10    | silenced      | the kernel's reports are switched off until the next delivery               |
//   | 11    | delayed       | registering, and waits for the kernel to have what that needs               |
//   | 12    | spent         | a timer that has fired, and is not scheduled anew                           |
//   | 32–63 | suspensions   | calls of `suspend` not taken back                                           |
//
//            activate                didRegister                 fire              begin … end
//   inactive ────────► registering ────────────► registered ─────────► enqueued ◄──────────────┐
//                                                                          └── more to do ─────┘
//            cancel              didUnregister               begin
//   any ───────────► cancelled ───────────────► (enqueued) ─────────► finished
//
// SourceState.V1  The job is in one place at most: the thread that sets `enqueued` submits it, and the thread that runs it
//     clears the bit or submits it again. So no two handlers of a source run at once, whatever its target.
// SourceState.V2  An event handler starts only in `begin`, which looks at `cancelled`: after a cancellation none
//     starts. One that runs finishes, and the job, being one, comes back for the cancel handler afterwards.
// SourceState.V3  `finished` is set once, by `begin`, when the source is cancelled, not suspended, and neither
//     registering nor registered: the kernel's side is done, so the cancel handler may close the descriptor.
// SourceState.V4  The thread that sets `cancelled` on a registered source unregisters it; if it was registering, the registrar
//     does.
// SourceState.V5  An event that finds another one pending is merged into it (Contract.S2), and silences a level-triggered
//     report: otherwise the kernel would report it again and again until the program has read. The delivery takes `silenced`
//     along, and switches the reports on again when its handler has returned.
// SourceState.V6  An event says what was true when the kernel was asked. It is reported later and delivered later still; by
//     then its cause may be gone, for example because the handler that ran meanwhile has dealt with it. So the delivery looks
//     again, in every kind whose events can be over (`takeEvent`), and calls no handler if there is nothing to deliver.
// SourceState.V7  The source holds a reference to itself while it is active, not suspended and not finished (`keepsItself`).
//     So an active source needs no other reference. The release of the last reference to a suspended source traps.
//     One exception: SourceState.V12.
// SourceState.V8  A source that is `lost` tells the program in its last step, unless the program has cancelled it by then:
//     such a program no longer relies on the source.
// SourceState.V9  A source whose registration is delayed stays `registering`. Its cancellation withdraws the registration. The
//     thread that takes it off the list of retries, or makes the last attempt, concludes by `didRegister(false)`. See
//     Retries.swift.
// SourceState.V10  A registration handler that comes when the source is registered already is due at once. The handler
//     is in its place before the step, so the announcement that the step leads to finds it, or an earlier one has run
//     it, and has taken it from the roles that are barriers: the step's job need not be one.
// SourceState.V11  An announcement takes no turn of its own: an event that came before it ended is delivered in the same job. So
//     items that were submitted behind the event do not overtake it.
// SourceState.V12  A timer that is `spent` fires no more of itself, and one without a cancel handler has nothing left to say. Once its
//     job has ended it *rests*: it gives up its own reference, and ends with the program's last one. Only a thread with a reference
//     has it scheduled, announced or cancelled; that thread takes the reference again first (`wakeUp`).
//
// The transitions are pure; they return what the caller has to do.
struct SourceState: StateWord, Equatable {
  var rawValue: UInt64

  static let inactive: UInt64 = 1
  static let registering: UInt64 = 1 << 1
  static let registered: UInt64 = 1 << 2
  static let announcing: UInt64 = 1 << 3
  static let pending: UInt64 = 1 << 4
  static let lost: UInt64 = 1 << 5
  static let enqueued: UInt64 = 1 << 6
  static let running: UInt64 = 1 << 7
  static let cancelled: UInt64 = 1 << 8
  static let finished: UInt64 = 1 << 9
  static let silenced: UInt64 = 1 << 10
  static let delayed: UInt64 = 1 << 11
  static let spent: UInt64 = 1 << 12
  static let suspension: UInt64 = 1 << 32

  init(rawValue: UInt64) { self.rawValue = rawValue }

  @inline(__always)
  func has(_ bits: UInt64) -> Bool { rawValue & bits != 0 }

  var isSuspended: Bool { rawValue >= Self.suspension }

  /// SourceState.V7
  var keepsItself: Bool { !isSuspended && !has(Self.inactive | Self.finished) && !rests }

  /// SourceState.V12
  var rests: Bool { has(Self.spent) && !has(Self.enqueued) && !isSuspended }

  /// Which handler the job's next step calls, if it has anything to do.
  var dueRole: SourceHandlers.Role {
    if has(Self.cancelled) { return .cancel }
    return has(Self.announcing) ? .registration : .event
  }

  private mutating func set(_ bits: UInt64) { rawValue |= bits }
  private mutating func clear(_ bits: UInt64) { rawValue &= ~bits }

  /// Whether the job has something to do.
  var hasWork: Bool {
    if isSuspended || has(Self.inactive | Self.finished | Self.registering) { return false }
    if has(Self.cancelled) { return !has(Self.registered) }
    return has(Self.announcing | Self.pending)
  }

  /// What a step leaves to its caller that can at most make the job due, or end it.
  enum Debt: Equatable {
    /// There is nothing to do, or the job will do it.
    case nothing
    /// The caller submits the job.
    case enqueue
    /// The caller gives up the source's own reference (SourceState.V12).
    case release
  }

  /// Takes the job, if it is free and has something to do.
  private mutating func enqueueIfNeeded() -> Debt {
    if has(Self.enqueued) || !hasWork { return .nothing }
    set(Self.enqueued)
    return .enqueue
  }

  // MARK: Life

  /// `wait`: active from now on, but cancelled and suspended; the thread that resumes the source submits the job.
  enum Activation { case nothing, wait, register, enqueue }

  mutating func activate() -> Activation {
    guard has(Self.inactive) else { return .nothing }
    clear(Self.inactive)
    if has(Self.cancelled) { return enqueueIfNeeded() == .enqueue ? .enqueue : .wait }
    set(Self.registering)
    return .register
  }

  enum Registration { case nothing, enqueue, unregister }

  /// The kernel has been told, or has refused.
  mutating func didRegister(_ succeeded: Bool) -> Registration {
    clear(Self.registering | Self.delayed)
    if succeeded {
      set(Self.registered)
      if has(Self.cancelled) { return .unregister }
      set(Self.announcing)
    } else {
      clear(Self.pending)
      set(Self.cancelled)
    }
    return enqueueIfNeeded() == .enqueue ? .enqueue : .nothing
  }

  /// The program has set a registration handler (SourceState.V10).
  mutating func announceAgain() -> Debt {
    guard has(Self.registered), !has(Self.cancelled) else { return .nothing }
    set(Self.announcing)
    return enqueueIfNeeded()
  }

  enum Delay: Equatable {
    /// The registration is tried again later; a cancellation withdraws it.
    case waits
    /// The source was cancelled meanwhile: the caller concludes the registration.
    case concludes
  }

  /// The kernel has refused for now.
  mutating func didDelay() -> Delay {
    if has(Self.cancelled) { return .concludes }
    set(Self.delayed)
    return .waits
  }

  /// `wakeUp`: nothing has been done; the caller wakes the source up first.
  enum Cancellation { case nothing, enqueue, unregister, withdraw, wakeUp }

  /// The program cancels.
  mutating func cancel() -> Cancellation {
    // SourceState.V8: it knows now.
    clear(Self.lost)
    return end(asLost: false)
  }

  /// What was watched is gone.
  mutating func lose() -> Cancellation { end(asLost: true) }

  private mutating func end(asLost: Bool) -> Cancellation {
    if has(Self.cancelled) { return .nothing }
    if rests { return .wakeUp }
    set(asLost ? Self.cancelled | Self.lost : Self.cancelled)
    clear(Self.pending | Self.announcing | Self.spent)
    if has(Self.registered) { return .unregister }
    if has(Self.delayed) { return .withdraw }
    return enqueueIfNeeded() == .enqueue ? .enqueue : .nothing
  }

  /// The kernel reports nothing any more.
  mutating func didUnregister() -> Debt {
    clear(Self.registered)
    return enqueueIfNeeded()
  }

  // MARK: Events

  enum Firing: Equatable {
    /// The job is on its way already, or is held back until `resume`.
    case nothing
    /// The caller submits the job.
    case enqueue
    /// The source is cancelled, or the event before has not been delivered: reports are to stop until it has been.
    case silence
  }

  /// An event has happened.
  mutating func fire() -> Firing {
    if has(Self.cancelled) { return .silence }
    if has(Self.pending) {
      set(Self.silenced)
      return .silence
    }
    set(Self.pending)
    return enqueueIfNeeded() == .enqueue ? .enqueue : .nothing
  }

  /// What was pending has been taken back: the timer has another schedule.
  mutating func forget() {
    clear(Self.pending)
  }

  /// Delivery: nothing comes any more, unless the program asks for it (SourceState.V12).
  mutating func spend() {
    // What is pending is delivered first, or taken back.
    if !has(Self.cancelled | Self.pending) { set(Self.spent) }
  }

  /// By a thread that has taken the source's own reference, in case it is missing.
  mutating func wakeUp() -> Debt {
    clear(Self.spent)
    return .nothing
  }

  /// `again`: the job is to be submitted anew, for the handler that is due wants to run as a barrier.
  enum Step: Equatable { case nothing, again, announce, deliver(silenced: Bool), finish(isLost: Bool) }

  /// The job runs: what it is to do.
  ///
  /// - Parameter barriers: The roles whose handlers must not run in this job, which is no barrier.
  mutating func begin(except barriers: SourceHandlers.Roles = SourceHandlers.Roles()) -> Step {
    guard hasWork else {
      clear(Self.enqueued)
      return .nothing
    }
    if barriers.contains(dueRole) { return .again }
    if has(Self.cancelled) {
      set(Self.finished)
      return .finish(isLost: has(Self.lost))
    }
    set(Self.running)
    if has(Self.announcing) {
      clear(Self.announcing)
      return .announce
    }
    let step = Step.deliver(silenced: has(Self.silenced))
    clear(Self.pending | Self.silenced)
    return step
  }

  /// The job has done its step; it keeps `enqueued` if it is to be submitted again.
  mutating func end() -> Debt {
    clear(Self.running)
    if hasWork { return .enqueue }
    // Asked first: all other sources take this way with each event.
    if !has(Self.spent) {
      clear(Self.enqueued)
      return .nothing
    }
    clear(Self.enqueued)
    return rests ? .release : .nothing
  }

  // MARK: Suspension

  mutating func suspend() { rawValue += Self.suspension }

  enum Resumption { case nothing, enqueue, activate, unbalanced }

  mutating func resume() -> Resumption {
    if !isSuspended { return has(Self.inactive) ? .activate : .unbalanced }
    rawValue -= Self.suspension
    return enqueueIfNeeded() == .enqueue ? .enqueue : .nothing
  }
}
