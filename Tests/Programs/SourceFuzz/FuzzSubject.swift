// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc

@testable import GrandCentral

/// What one run of the fuzzer has in common: what went wrong, and what is still alive.
final class FuzzReport: Sendable {
  let failures = Recorder<String>()
  /// Handlers that sources keep, or that run.
  let liveHandlers = Counter()
  /// Sources made, and gone.
  let made = Counter()
  let gone = Counter()

  var hasFailed: Bool { failures.count > 0 }
}

/// One source, and what is promised of it whatever its kind: handlers one at a time, the registration handler first and once,
/// the cancel handler last and once, nothing after that.
final class FuzzSubject: Sendable {
  typealias Source = any DispatchSourceProtocol

  let name: String
  let report: FuzzReport
  /// The program's reference; handlers use it, and the last one may go inside of any of them.
  private let place: Guarded<Source?>
  private let inside = Counter()
  private let registrations = Counter()
  private let cancels = Counter()
  let events = Counter()
  private let isRegisteredLate: Bool
  private let registrationsSet = Counter()
  private let isActive = Counter()
  /// `cancel` has returned, and events that started nevertheless: one may have been on its way.
  private let cancelled = Counter()
  private let late = Counter()
  /// `cancel` has returned inside an event handler: none may start any more.
  private let selfCancelled = Counter()
  /// The descriptor's number was given to another file.
  let stolen = Counter()
  let ended = Latch()
  /// What the kind does in its event handler, and when the source has ended.
  private let onEvent: @Sendable (FuzzSubject, Source) -> Void
  private let onEnd: @Sendable () -> Void

  init(
    _ name: String, _ report: FuzzReport, _ source: Source, onEvent: @escaping @Sendable (FuzzSubject, Source) -> Void,
    onEnd: @escaping @Sendable () -> Void = {}
  ) {
    self.name = name
    self.report = report
    place = Guarded(source)
    self.onEvent = onEvent
    self.onEnd = onEnd
    isRegisteredLate = report.made.add() % 2 == 0
    let object = source as! DispatchSource
    object.context = Unmanaged.passRetained(report).toOpaque()
    object.setFinalizer { Unmanaged<FuzzReport>.fromOpaque($0!).takeRetainedValue().gone.add() }
    setEventHandler(source)
    setCancelHandler(source)
    if !isRegisteredLate { setRegistrationHandler(source) }
  }

  func fail(_ what: String) { report.failures.note("\(name): \(what)") }

  private func enter(_ role: String) {
    if inside.add() != 1 { fail("the \(role) handler runs beside another one") }
    if ended.isOpen { fail("the \(role) handler runs after the end") }
  }

  private func leave() { inside.add(-1) }

  // MARK: Handlers

  /// While the source is being registered, for half of them. A barrier is one where the source has a concurrent queue.
  private func setRegistrationHandler(_ source: Source) {
    let alive = HandlerWitness(report)
    source.setRegistrationHandler(flags: isRegisteredLate ? .barrier : []) { [self] in
      alive.visit()
      enter("registration")
      if registrations.add() != 1 { fail("registered twice") }
      if !isRegisteredLate, events.value > 0 { fail("registered after an event") }
      if cancels.value > 0 { fail("registered after the end") }
      leave()
    }
  }

  private func setEventHandler(_ source: Source) {
    let alive = HandlerWitness(report)
    source.setEventHandler { [self] in
      alive.visit()
      enter("event")
      events.add()
      if selfCancelled.value > 0 { fail("an event after a cancellation inside the handler") }
      if cancelled.value > 0, late.add() > 1 { fail("a second event after cancel has returned") }
      if let source = place.with({ $0 }) { onEvent(self, source) }
      leave()
    }
  }

  private func setCancelHandler(_ source: Source) {
    let alive = HandlerWitness(report)
    source.setCancelHandler { [self] in
      alive.visit()
      enter("cancel")
      if cancels.add() != 1 { fail("the cancel handler runs twice") }
      if !(place.with { $0?.isCancelled } ?? true) { fail("the cancel handler of a source that is not cancelled") }
      place.with { $0 = nil }
      onEnd()
      leave()
      ended.open()
    }
  }

  // MARK: What programs do

  func activate() {
    use {
      $0.activate()
      if isRegisteredLate, registrationsSet.add() == 1 { setRegistrationHandler($0) }
    }
    isActive.add()
  }

  func use(_ body: (Source) -> Void) { if let source = place.with({ $0 }) { body(source) } }

  func cancel() {
    use {
      $0.cancel()
      cancelled.add()
    }
  }

  /// Gives up the program's reference with it, so that the source lives on by itself.
  func cancelAndForget() {
    let last = place.with { place in
      defer { place = nil }
      return place
    }
    last?.cancel()
    if last != nil { cancelled.add() }
  }

  /// Inside the event handler; with the program's reference, if it is to go.
  func cancelInside(forgets: Bool) {
    if forgets { cancelAndForget() } else { cancel() }
    selfCancelled.add()
  }

  /// Something that must not change what is delivered in the end.
  func meddle(_ random: inout SeededRandom, _ queues: FuzzQueues) {
    switch random.below(8) {
    case 0, 1:
      let rounds = random.below(40)
      use {
        $0.suspend()
        let before = events.value
        for _ in 0..<rounds { sched_yield() }
        // One may have been on its way.
        if events.value > before + 1 { fail("\(events.value - before) events while it was suspended") }
        $0.resume()
      }
    case 2, 3:
      let queue = queues.any(&random)
      use { $0.setTarget(queue: queue) }
    case 4: use { setEventHandler($0) }
    case 5: use { setCancelHandler($0) }
    // Not before the driver has activated the source: this activation may last, and later events must be reported.
    case 6: if isActive.value > 0 { use { $0.activate() } }
    default:
      let queue = queues.any(&random)
      queue.async { [self] in use { _ = ($0.data, $0.handle, $0.mask, $0.isCancelled) } }
    }
  }

  /// Waits for the end, which must come once the source is cancelled.
  func expectEnd() {
    if ended.wait() { return }
    fail("never ended; cancelled \(cancelled.value), \(events.value) events, inside \(inside.value)")
  }
}

/// Counts a handler while anybody keeps it.
private final class HandlerWitness: Sendable {
  private let report: FuzzReport

  init(_ report: FuzzReport) {
    self.report = report
    report.liveHandlers.add()
  }

  func visit() {}

  deinit { report.liveHandlers.add(-1) }
}

/// Queues of all kinds, some of which target others.
struct FuzzQueues: Sendable {
  private let all: [DispatchQueue]
  let serial = DispatchQueue(label: "fuzz.serial")

  init() {
    let concurrent = DispatchQueue(label: "fuzz.concurrent", attributes: .concurrent)
    all = [
      serial, concurrent, .global(), .global(qos: .userInitiated),
      DispatchQueue(label: "fuzz.on-serial", target: serial),
      DispatchQueue(label: "fuzz.on-concurrent", attributes: .concurrent, target: concurrent),
      DispatchWorkloop(label: "fuzz.workloop"),
    ]
  }

  func any(_ random: inout SeededRandom) -> DispatchQueue { all[random.below(all.count)] }
}
