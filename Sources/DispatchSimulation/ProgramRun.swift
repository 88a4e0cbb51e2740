// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CSimulation
import Synchronization

/// The one run of a process that is simulated from its `main` on.
///
/// The program's end is the run's. Where nothing can go on, where the library is misused, and where the run passes its bounds, a
/// thread that takes no part writes the report and ends the process. It also writes it for a thread that receives the signal of an
/// error, or ends the process in the handler of another one: what that takes is nothing for a handler.
enum ProgramRun {
  /// How the process ends where the simulation ends it.
  private static let failed: Int32 = 99
  /// How long the run may stand still in real time, in nanoseconds: longer than a program computes between two points.
  private static var patience: UInt64 { min(Explorer.patience, wishes.time / 2) }

  // unsafe: written before there is a second thread.
  private(set) nonisolated(unsafe) static var run: Run! = nil
  private nonisolated(unsafe) static var wishes: Wishes! = nil
  private nonisolated(unsafe) static var outside: SimulationSupport.Outside?
  private nonisolated(unsafe) static var schedule: (any Schedule)! = nil
  // unsafe: by the thread that has the turn.
  private nonisolated(unsafe) static var randomness = Randomness(seed: 0)

  /// The signal that has come, or 0; and that its report is written.
  private static let signal = Atomic<Int32>(0)
  /// The code with which a thread ends the process that has no turn; the least number if none does.
  private static let code = Atomic<Int>(.min)
  /// No thread can go on, and one waits in the kernel for what others than the process may make ready.
  private static let isAwaitingOutside = Atomic<Bool>(false)
  private static let isReported = SimulatedTurn()

  static func begin() {
    guard let asked = Wishes() else { refuse("GRANDCENTRAL_SIMULATE is neither a token nor a seed") }
    wishes = asked
    schedule = asked.schedule
    // It is the one that strangers have, and has forks prepared.
    _ = Engine.shared
    outside = SimulationSupport.leaveRealWorld()
    if outside == nil { refuse("the library is in use before the program begins") }
    run = Run(
      schedule, processors: asked.token.processors, limit: asked.steps, carriers: Carriers(),
      places: asked.waits.isEmpty ? nil : WaitPlaces(asked.waits))
    run.descriptors = Run.Descriptors(
      look: { _ = gcs_look() },
      awaitOutside: { ProgramRun.awaitOutside($0) },
      nextExpiration: { gcs_next_expiration($0) },
      timeHasPassed: { gcs_time_has_passed() })
    _ = isReported
    if !gcs_start_beside({ ProgramRun.watch() }) { refuse("there is no thread for the simulation") }
    gcs_catch_signals { ProgramRun.speak($0) }
    gcs_name_main(World.firstID)
    run.adoptMain()
  }

  private static func refuse(_ reason: String) -> Never {
    Console.write("simulation: " + reason + "\n")
    gcs_exit_now(failed)
  }

  /// By the thread that ends the process.
  static func end(_ code: Int32) {
    run.lookForStrangers()
    if let escape = run.escape {
      write(.failure(escape))
    } else {
      write(.exit(code), left: run.leftNow)
    }
  }

  static func nextRandomByte() -> UInt8 { UInt8(truncatingIfNeeded: randomness.next()) }

  // MARK: The thread that takes no part

  private static func watch() {
    let begin = gc_clock_uptime()
    var moved = begin
    var seen = -1
    while true {
      let now = gc_clock_uptime()
      // relaxed: only whether it changes.
      let progress = run.progress.load(ordering: .relaxed)
      if progress != seen { (seen, moved) = (progress, now) }
      let end = min(begin + wishes.time, moved + patience)
      if now >= end { giveUp(isStill: end == moved + patience) }
      if run.over.wait(nanoseconds: min(end - now, 250_000_000)) { break }
    }
    // relaxed: passed with the turn.
    let signal = signal.load(ordering: .relaxed)
    if signal != 0 {
      write(.signal(signal))
      isReported.pass()
      return
    }
    // relaxed: as above.
    let code = code.load(ordering: .relaxed)
    if code != .min {
      if let escape = run.escape { write(.failure(escape)) } else { write(.exit(Int32(truncatingIfNeeded: code))) }
      isReported.pass()
      return
    }
    guard case .failed(let reason) = run.outcome else { return }
    gcs_flush()
    write(.failure(inFull(reason)))
    gcs_exit_now(failed)
  }

  /// With what the kit does not know: that a thread which takes no part may end a wait, and how many points there were.
  private static func inFull(_ reason: SimulationFailure.Reason) -> SimulationFailure.Reason {
    switch reason {
    case .deadlock(let waits) where gcs_has_outsiders():
      .escape(
        "a thread that was started before main takes no part, and may be what is waited for: "
          + waits.joined(separator: "; "))
    case .deadlock(let waits) where gcs_has_signalled():
      .escape(
        "the program has sent itself a signal, which may end a wait that the simulation goes on with: "
          + waits.joined(separator: "; "))
    case .deadlock(let waits) where gcs_awaits_signals():
      .escape("another process may send the signal that is waited for: " + waits.joined(separator: "; "))
    case .deadlock(let waits) where gcs_may_be_signalled():
      .escape(
        "a child, or a timer of the kernel, may send the program a signal, which may end a wait: "
          + waits.joined(separator: "; "))
    case .endless(let waits):
      .endless(["it has passed \(wishes.steps) points"] + waits)
    default: reason
    }
  }

  /// By a thread that finds no other one that can go on.
  private static func awaitOutside(_ nanoseconds: UInt64) -> Bool {
    // relaxed: it is read when the thread has stood still for seconds.
    isAwaitingOutside.store(true, ordering: .relaxed)
    defer { isAwaitingOutside.store(false, ordering: .relaxed) }
    let hasCome = gcs_await_outside(nanoseconds)
    run.stayIfGivenUp()
    return hasCome
  }

  /// What the thread does that has the turn.
  private static var stillness: String {
    let member = run.members.indices.contains(run.current) ? run.members[run.current] : nil
    var text = [CChar](repeating: 0, count: 256)
    gcs_describe_call(member?.carrier.kernelID ?? 0, &text, text.count)
    let call = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return "the thread \"\(member?.name ?? "?")\" has computed, or waited outside of the simulation, for "
      + "\(Double(patience) / 1e9) s" + (call.isEmpty ? "" : ": it " + call)
  }

  private static func giveUp(isStill: Bool) -> Never {
    run.giveUp()
    // A thread that comes by points stays at the next one: what it has changed is read behind that.
    Thread.sleep(nanoseconds: 50_000_000)
    let reason: SimulationFailure.Reason =
      if !isStill {
        .endless(["it has taken \(wishes.time / 1_000_000_000) s of real time"])
      } else if isAwaitingOutside.load(ordering: .relaxed) {  // relaxed: the thread that stores it stands still
        .escape("no thread can go on but by what is outside: " + run.describeWaits().joined(separator: "; "))
      } else {
        .stalled(stillness)
      }
    gcs_flush()
    write(.failure(reason))
    gcs_exit_now(failed)
  }

  /// On a thread that has received the signal of an error: only what a handler may do.
  private static func speak(_ number: Int32) {
    // relaxed: passed with the turn. The first one counts.
    let (isFirst, _) = signal.compareExchange(expected: 0, desired: number, ordering: .relaxed)
    if isFirst { awaitReport() }
  }

  /// As above. A thread that takes no part may come before there is a run.
  static func endAside(_ number: Int32) {
    // relaxed: passed with the turn. The first one counts.
    let (isFirst, _) = code.compareExchange(expected: .min, desired: Int(number), ordering: .relaxed)
    if isFirst, run != nil { awaitReport() }
  }

  private static func awaitReport() {
    run.over.pass()
    // The thread may hold a lock that the writer needs.
    _ = isReported.wait(nanoseconds: 2_000_000_000)
  }

  private static func write(_ end: ProgramReport.End, left: [String] = []) {
    let report = ProgramReport(
      end: end, run: run, branches: (schedule as? BranchSchedule)?.branches ?? [], left: left)
    if let path = wishes.trace { report.writeTrace(to: path) }
    if let path = wishes.report {
      report.write(to: path, events: wishes.events)
    } else if report.isFailure {
      Console.write(report.text(wishes.token))
    }
  }
}
