// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

/// Runs a body, once in each schedule that it is given.
final class Explorer: Attempting {
  /// How long a run may stand still in real time, in nanoseconds.
  static let patience: UInt64 = 10_000_000_000

  /// The run that is under way, or was last.
  // unsafe: written before a run begins, and read by its threads. There is one simulation at a time.
  private(set) nonisolated(unsafe) static var current: Simulation?

  /// How often a run is looked at, in nanoseconds.
  private var pause: UInt64 = 1_000_000
  private static let shortPause: UInt64 = 100_000

  private let carriers = Carriers()
  private let lastWords = LastWords()
  private let patience: UInt64
  private let body: (Simulation) throws -> Void

  init(patience: UInt64, _ body: @escaping (Simulation) throws -> Void) {
    self.patience = patience
    self.body = body
  }

  func end() {
    Self.current = nil
    carriers.endAll()
    lastWords.end()
  }

  /// - Parameter token: Of the schedule; said if the process ends in the run.
  func attempt(_ schedule: any Schedule, _ token: Token, limit: Int) -> Attempt {
    attempt(schedule, token, limit: limit, places: nil)
  }

  private func attempt(_ schedule: any Schedule, _ token: Token, limit: Int, places: WaitPlaces?) -> Attempt {
    let processors = token.processors
    // What a search for all orders tries has its token behind the run alone.
    lastWords.prepare(schedule is OrderSchedule ? nil : token)
    defer { lastWords.forget() }
    let run = Run(
      schedule, processors: processors, limit: limit, carriers: carriers, isFine: token.isFine, places: places)
    let simulation = Simulation(run)
    Self.current = simulation
    let reports = SimulatedOrder.reports
    run.begin { [body] in try body(simulation) }
    if let stall = watch(run) { return attempt(run, .stalled(stall), hasTimeline: false) }
    let hasRace = SimulatedOrder.reports > reports
    var attempt = attempt(of: run, hasRace: hasRace)
    attempt.hasRace = hasRace
    return attempt
  }

  /// Where the threads of a deadlock wait. The schedule runs again for that; nil if something else comes of it.
  func places(of deadlock: Attempt, _ token: Token) -> WaitPlaces? {
    if deadlock.lastWaits.isEmpty { return nil }
    let places = WaitPlaces(deadlock.lastWaits)
    let again = attempt(token.schedule, token, limit: deadlock.steps * 2, places: places)
    return again.hash == deadlock.hash ? places : nil
  }

  private func attempt(of run: Run, hasRace: Bool) -> Attempt {
    switch run.outcome {
    case .failed(let reason): return attempt(run, reason)
    case .threw(let error):
      run.dismantle()
      return attempt(run, run.escape ?? .thrown(error))
    case .ended:
      run.dismantle()
      let race: SimulationFailure.Reason? = hasRace ? .race : nil
      return attempt(run, run.escape ?? run.complaint.map { .expectation($0) } ?? race)
    }
  }

  private func attempt(_ run: Run, _ reason: SimulationFailure.Reason?, hasTimeline: Bool = true) -> Attempt {
    var threadsLeft = 0
    if case .failed = run.outcome { threadsLeft = run.members.count }
    var attempt = Attempt(
      reason: reason, told: reason != nil && hasTimeline ? run.told : nil, steps: run.steps,
      choices: run.record.choices, hash: run.events.hash, timersLeft: run.timersLeft,
      switches: hasTimeline && run.record.isWhole ? run.record.switches : nil, threadsLeft: threadsLeft)
    attempt.hasTaskOutside = run.hasTaskOutside
    if run.waitsForEver { attempt.lastWaits = run.lastWaits }
    if case .failed = run.outcome { attempt.earlier = run.earlier }
    return attempt
  }

  /// Waits for the end of the run, and has others go on where a thread sleeps outside (Run.R8). Says so if the run does not get on.
  private func watch(_ run: Run) -> String? {
    var (seen, standsSince) = (-1, DispatchTime.now().uptimeNanoseconds)
    while true {
      if run.over.wait(nanoseconds: pause) {
        SimulatedOrder.unseen { SimulatedOrder.comesAfter(run) }
        return nil
      }
      let now = DispatchTime.now().uptimeNanoseconds
      // relaxed: only whether it has changed.
      let progress = run.progress.load(ordering: .relaxed)
      if progress != seen {
        (seen, standsSince) = (progress, now)
      } else if now - standsSince < patience {
        // Where threads wait outside once, they may do so in each run.
        if SimulatedOrder.unseen({ run.passOver(after: now - standsSince) }) { pause = Self.shortPause }
      } else {
        run.giveUp()
        let time = patience % 1_000_000_000 == 0 ? "\(patience / 1_000_000_000) s" : "\(patience / 1_000_000) ms"
        return
          "a thread has computed, or waited outside of the simulation, for \(time): in a sleep, a read, for a condition of the system?"
      }
    }
  }
}
