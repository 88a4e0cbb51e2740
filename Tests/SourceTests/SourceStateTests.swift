// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

/// What a transition answers, whichever it is.
private enum Answer: Hashable {
  case nothing, wait, register, enqueue, unregister, withdraw, activate, unbalanced, again, announce, release, wakeUp
  case finish(isLost: Bool)
  case fired(SourceState.Firing)
  case deliver(silenced: Bool)

  static func enqueue(if must: Bool) -> Answer { must ? .enqueue : .nothing }
  static func owed(_ debt: SourceState.Debt) -> Answer { debt == .release ? .release : .enqueue(if: debt == .enqueue) }
}

/// The calls of the state's transitions, by whatever thread.
private enum Call: CaseIterable {
  case activate, delayed, registered, refused, announceAgain, cancel, lose, unregistered, fire, forget, begin, end
  case suspend, resume, spend, wakeUp
  /// In a job that is no barrier, of a source whose cancel handler is one.
  case beginBesideOthers

  func apply(to state: inout SourceState) -> Answer {
    switch self {
    case .activate:
      switch state.activate() {
      case .nothing: return .nothing
      case .wait: return .wait
      case .register: return .register
      case .enqueue: return .enqueue
      }
    case .delayed: return state.didDelay() == .waits ? .wait : .nothing
    case .registered, .refused:
      switch state.didRegister(self == .registered) {
      case .nothing: return .nothing
      case .enqueue: return .enqueue
      case .unregister: return .unregister
      }
    case .announceAgain: return .owed(state.announceAgain())
    case .cancel, .lose:
      switch self == .cancel ? state.cancel() : state.lose() {
      case .nothing: return .nothing
      case .enqueue: return .enqueue
      case .unregister: return .unregister
      case .withdraw: return .withdraw
      case .wakeUp: return .wakeUp
      }
    case .unregistered: return .owed(state.didUnregister())
    case .fire: return .fired(state.fire())
    case .forget:
      state.forget()
      return .nothing
    case .begin, .beginBesideOthers:
      var barriers = SourceHandlers.Roles()
      if self == .beginBesideOthers { barriers.insert(.cancel) }
      switch state.begin(except: barriers) {
      case .nothing: return .nothing
      case .again: return .again
      case .announce: return .announce
      case .deliver(let silenced): return .deliver(silenced: silenced)
      case .finish(let isLost): return .finish(isLost: isLost)
      }
    case .end: return .owed(state.end())
    case .spend:
      state.spend()
      return .nothing
    case .wakeUp: return .owed(state.wakeUp())
    case .suspend:
      state.suspend()
      return .nothing
    case .resume:
      switch state.resume() {
      case .nothing: return .nothing
      case .enqueue: return .enqueue
      case .activate: return .activate
      case .unbalanced: return .unbalanced
      }
    }
  }
}

/// A source as its contract tells it: where its job is, what the kernel knows, what there is to say.
private struct Specification: Hashable {
  enum Kernel { case unasked, asked, watching, done }
  enum Job { case nowhere, submitted, working, over }

  var kernel = Kernel.unasked
  var job = Job.nowhere
  var hasEvent = false
  var announces = false
  var cancelled = false
  var lost = false
  var silenced = false
  var delayed = false
  var spent = false
  var suspensions: UInt64 = 0
  /// A thread is about to unregister.
  var unregisters = false

  var word: SourceState {
    var word = suspensions * SourceState.suspension
    for (flag, bit) in [
      (kernel == .unasked, SourceState.inactive), (kernel == .asked, SourceState.registering),
      (kernel == .watching, SourceState.registered), (announces, SourceState.announcing),
      (hasEvent, SourceState.pending), (lost, SourceState.lost),
      (job != .nowhere, SourceState.enqueued), (job == .working, SourceState.running),
      (cancelled, SourceState.cancelled), (job == .over, SourceState.finished), (silenced, SourceState.silenced),
      (delayed, SourceState.delayed), (spent, SourceState.spent),
    ] where flag { word |= bit }
    return SourceState(rawValue: word)
  }

  /// Whether the source leaves it to the program to keep it, though it is active and not suspended.
  var rests: Bool { spent && job == .nowhere && suspensions == 0 }

  /// What the job would do if it ran now.
  var due: Answer? {
    guard suspensions == 0, job != .over else { return nil }
    switch (kernel, cancelled) {
    case (.unasked, _), (.asked, _), (.watching, true): return nil
    case (.done, true): return .finish(isLost: lost)
    case (_, false):
      if announces { return .announce }
      return hasEvent ? .deliver(silenced: silenced) : nil
    }
  }

  /// Submits the job if there is a need and it is free.
  mutating func offer() -> Bool {
    guard job == .nowhere, due != nil else { return false }
    job = .submitted
    return true
  }

  func allows(_ call: Call) -> Bool {
    switch call {
    case .activate, .announceAgain, .cancel, .lose, .resume, .wakeUp: true
    // A timer that is spent is scheduled anew before it fires, and wakes up for that.
    case .fire, .forget: !spent
    case .spend: job == .working
    case .delayed, .registered, .refused: kernel == .asked
    case .unregistered: unregisters
    case .begin, .beginBesideOthers: job == .submitted
    case .end: job == .working
    case .suspend: suspensions < 2
    }
  }

  mutating func apply(_ call: Call) -> Answer {
    switch call {
    case .activate:
      guard kernel == .unasked else { return .nothing }
      kernel = cancelled ? .done : .asked
      if !cancelled { return .register }
      return offer() ? .enqueue : .wait
    case .delayed:
      if cancelled { return .nothing }
      delayed = true
      return .wait
    case .registered:
      (kernel, delayed) = (.watching, false)
      unregisters = cancelled
      if cancelled { return .unregister }
      announces = true
      return .enqueue(if: offer())
    case .refused:
      (kernel, hasEvent, cancelled, delayed) = (.done, false, true, false)
      return .enqueue(if: offer())
    case .announceAgain:
      guard kernel == .watching, !cancelled else { return .nothing }
      announces = true
      return .enqueue(if: offer())
    case .cancel, .lose:
      if call == .cancel { lost = false }
      if cancelled { return .nothing }
      if rests { return .wakeUp }
      (cancelled, lost, hasEvent, announces, spent) = (true, call == .lose, false, false, false)
      unregisters = kernel == .watching
      if delayed { return .withdraw }
      return unregisters ? .unregister : .enqueue(if: offer())
    case .unregistered:
      (unregisters, kernel) = (false, .done)
      return .enqueue(if: offer())
    case .fire:
      if cancelled { return .fired(.silence) }
      if hasEvent {
        silenced = true
        return .fired(.silence)
      }
      hasEvent = true
      return .fired(offer() ? .enqueue : .nothing)
    case .forget:
      hasEvent = false
      return .nothing
    case .begin, .beginBesideOthers:
      let step = due ?? .nothing
      if case .finish = step, call == .beginBesideOthers { return .again }
      switch step {
      case .finish: job = .over
      case .announce: (job, announces) = (.working, false)
      case .deliver: (job, hasEvent, silenced) = (.working, false, false)
      default: job = .nowhere
      }
      return step
    case .end:
      job = due == nil ? .nowhere : .submitted
      return rests ? .release : .enqueue(if: job == .submitted)
    case .spend:
      if !cancelled && !hasEvent { spent = true }
      return .nothing
    case .wakeUp:
      spent = false
      return .nothing
    case .suspend:
      suspensions += 1
      return .nothing
    case .resume:
      if suspensions == 0 { return kernel == .unasked ? .activate : .unbalanced }
      suspensions -= 1
      return .enqueue(if: offer())
    }
  }

  /// The invariants of SourceState.swift that one state can show; nil if all hold.
  var broken: String? {
    // By the names of SourceState.swift.
    if due != nil, job == .nowhere { return "V1: nobody does what is due" }
    if cancelled, hasEvent || announces { return "V2: a cancelled source has something to say" }
    if job == .over, !cancelled || kernel != .done || unregisters { return "V3: finished while the kernel watches" }
    if lost, !cancelled { return "V8: lost, and not cancelled" }
    if word.keepsItself != (kernel != .unasked && job != .over && suspensions == 0 && !rests) {
      return "V7: the own reference"
    }
    if spent, kernel != .watching || cancelled { return "V12: spent, and not registered" }
    if unregisters != (cancelled && kernel == .watching) { return "V4: nobody unregisters, or somebody for nothing" }
    if delayed, kernel != .asked { return "V9: delayed, though the registration is over" }
    return nil
  }
}

/// Every state that the calls can bring about, from each of which every legal call is tried.
@Suite("The state of a source")
struct SourceStateTests {
  private static func explore(
    _ calls: [Call], _ visit: (_ before: Specification, _ call: Call, _ answer: Answer, _ after: Specification) -> Void
  ) -> Set<Specification> {
    var reached: Set<Specification> = [Specification()]
    var open = [Specification()]
    while let before = open.popLast() {
      for call in calls where before.allows(call) {
        var after = before
        let answer = after.apply(call)
        visit(before, call, answer, after)
        if reached.insert(after).inserted { open.append(after) }
      }
    }
    return reached
  }

  @Test("has a bit for each flag, and suspensions above them")
  func bits() {
    let masks = [
      SourceState.inactive, SourceState.registering, SourceState.registered, SourceState.announcing,
      SourceState.pending, SourceState.lost, SourceState.enqueued, SourceState.running, SourceState.cancelled,
      SourceState.finished, SourceState.silenced, SourceState.delayed, SourceState.spent,
    ]
    #expect(masks.allSatisfy { $0.nonzeroBitCount == 1 })
    #expect(masks.reduce(0, |).nonzeroBitCount == masks.count)
    #expect(SourceState.suspension == 1 << 32)
    #expect(masks.allSatisfy { $0 < SourceState.suspension })
  }

  @Test("S1, S2, S4, S5: every transition from every reachable state answers and does what is specified")
  func transitions() {
    var answers: Set<Answer> = []
    var compared = 0
    let reached = Self.explore(Call.allCases) { before, call, wantedAnswer, wanted in
      var state = before.word
      let answer = call.apply(to: &state)
      compared += 1
      answers.insert(answer)
      if answer == wantedAnswer, state == wanted.word { return }
      Issue.record("\(call) of \(before): \(answer), \(state); wanted \(wantedAnswer), \(wanted.word)")
    }
    // All twelve plain answers, two ends, three of `fire`, two deliveries.
    #expect(answers.count == 19)
    #expect(reached.count > 120 && compared > 5 * reached.count, "\(reached.count) states, \(compared) transitions")
  }

  @Test("S2, S4: the invariants hold in every reachable state")
  func invariants() {
    for state in Self.explore(Call.allCases, { _, _, _, _ in }) {
      if let broken = state.broken { Issue.record("\(broken): \(state)") }
    }
  }

  @Test("O3: a step that gives up the source's own reference says so, and only threads with another one take it again")
  func ownReference() {
    var (given, taken) = (0, 0)
    _ = Self.explore(Call.allCases) { before, call, answer, after in
      let (kept, keeps) = (before.word.keepsItself, after.word.keepsItself)
      if kept == keeps, answer != .release { return }
      if kept, !keeps {
        given += 1
        if call == .suspend || answer == .release { return }
        if case .finish = answer { return }
      } else if keeps, answer != .release {
        taken += 1
        if [.activate, .resume, .announceAgain, .wakeUp].contains(call) { return }
      }
      Issue.record("\(call) of \(before): \(answer), \(after)")
    }
    #expect(given > 0 && taken > 0)
  }

  @Test("S4: from every reachable state, cancelled and let run, the source finishes, and once")
  func finishes() {
    for start in Self.explore(Call.allCases, { _, _, _, _ in }) {
      var (specification, state) = (start, start.word)
      var finishes = start.job == .over ? 1 : 0
      func perform(_ call: Call) {
        guard specification.allows(call) else { return }
        _ = specification.apply(call)
        if case .finish = call.apply(to: &state) { finishes += 1 }
      }
      if start.rests { perform(.wakeUp) }
      perform(.cancel)
      perform(.activate)
      perform(.registered)
      while specification.suspensions > 0 { perform(.resume) }
      perform(.unregistered)
      // A handler that runs, the job's return, and what a late call might bring.
      for _ in 0..<2 { for call in [Call.end, .begin, .fire, .cancel, .begin, .end] { perform(call) } }
      if finishes != 1 { Issue.record("finished \(finishes) times: \(start)") }
    }
  }

  @Test("S2: a report that was silenced is remembered until a delivery takes it along, or the source is cancelled")
  func silence() {
    let calls = Call.allCases.filter { $0 != .forget }
    var deliveries = 0
    let reached = Self.explore(calls) { before, call, answer, after in
      if case .deliver(let silenced) = answer {
        deliveries += 1
        #expect(silenced == before.silenced && !after.silenced)
      } else if before.silenced, !after.silenced {
        Issue.record("\(call) of \(before) forgets that reports are off")
      }
    }
    #expect(deliveries > 0)
    for state in reached where state.silenced && !state.hasEvent && !state.cancelled {
      Issue.record("nobody would switch the reports on again: \(state)")
    }
  }

  @Test("S2: suspensions are counted far beyond what a program needs")
  func deepSuspension() {
    var state = Specification().word
    _ = state.activate()
    _ = state.didRegister(true)
    #expect(state.begin() == .announce)
    #expect(state.end() == .nothing)
    for _ in 0..<1_000_000 { state.suspend() }
    #expect(state.fire() == .nothing)
    for _ in 1..<1_000_000 where state.resume() != .nothing { Issue.record("resumed early") }
    #expect(state.resume() == .enqueue)
    #expect(state.begin() == .deliver(silenced: false))
  }
}
