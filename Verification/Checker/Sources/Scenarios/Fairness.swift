// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerKit

@testable import GrandCentral

// What a search promises (Contract.E9, `Place+FindWork.swift`): work that is runnable is started after a bounded number of
// other starts, whatever else there is. Each source of jobs is kept full: a job that has been started is submitted again at
// once, to where it came from. So the first job of each source waits for the searcher only.

/// Where a job waits.
private enum Source: Int, CaseIterable {
  case slot, backlog, runQueue, secondPlace, lastPlace

  /// After how many other starts of one searcher its first job must have been started, if a turn comes once in so many.
  func bound(_ turn: Int) -> Int {
    switch self {
    case .slot: 1
    // First in every second turn.
    case .backlog: 2 * turn
    // First in three of eight: in every second one but the last.
    case .runQueue: 4 * turn
    // Every eighth turn begins with the others, each time at another place.
    case .secondPlace, .lastPlace: 8 * turn * (places <= 64 ? places : (places + 63) & ~63)
    }
  }

  private var places: Int { engine.pointee.places.count }

  func submit(_ job: Job, by worker: Worker.Pointer) {
    switch self {
    case .slot: engine.pointee.places[0].pointee.keep(job, by: worker, in: engine.pointee)
    case .backlog: engine.pointee.places[0].pointee.enqueue(job, in: engine.pointee)
    case .runQueue: engine.pointee.submit(job)
    case .secondPlace: engine.pointee.places[1].pointee.enqueue(job, in: engine.pointee)
    case .lastPlace: engine.pointee.places[places - 1].pointee.enqueue(job, in: engine.pointee)
    }
  }
}

/// Searches so often, and counts for each source how many starts its first job has seen go by.
private func search(_ sources: [Source], turn: Int, starts: Int, run: ScenarioRun, each: (Int) -> Void) {
  let worker = engine.pointee.workers.take()
  _ = worker.pointee.take(engine.pointee.places[0])
  // A job's owner says where it is from.
  for source in sources {
    let job = makeJob()
    job.owner = UnsafeMutableRawPointer(bitPattern: source.rawValue + 1)
    source.submit(job, by: worker)
  }
  var passed = [Int](repeating: 0, count: Source.allCases.count)
  for start in 0..<starts {
    each(start)
    guard let job = engine.pointee.places[0].pointee.findWork(in: engine.pointee), let owner = job.owner,
      let source = Source(rawValue: Int(bitPattern: owner) - 1)
    else { return run.check(false, "work is pending, and the search finds nothing") }
    for other in sources where other != source {
      passed[other.rawValue] += 1
      run.check(
        passed[other.rawValue] <= other.bound(turn), "\(other) has been passed over \(passed[other.rawValue]) times")
    }
    passed[source.rawValue] = 0
    source.submit(job, by: worker)
  }
}

// MARK: Two searchers that steal from each other

/// Where each of the jobs waits, and how often each searcher has passed it over.
private final class Shares: @unchecked Sendable {  // fibres take turns
  /// Starts since the job was started last, by each of the searchers.
  private var passed: [(Int, Int)]
  private let run: ScenarioRun
  private let places: Int
  private let bound: Int

  /// A third place has jobs and no searcher. A job waits behind others, and goes with them when they are stolen: so each of the
  /// jobs may cost it one turn at the place that is looked at last.
  init(_ run: ScenarioRun, jobs: Int, turn: Int) {
    self.run = run
    places = 3
    bound = jobs * 8 * turn * places
    passed = [(Int, Int)](repeating: (0, 0), count: jobs)
    engine.pointee.setParallelism(places)
    for number in 0..<jobs { submit(makeJob(), number, by: nil) }
  }

  /// The first two jobs are the searchers' slots' if there is a searcher, the third one an item of the run queue, the others lie
  /// beside the places in turn.
  private func submit(_ job: Job, _ number: Int, by worker: Worker.Pointer?) {
    job.owner = UnsafeMutableRawPointer(bitPattern: number + 1)
    if number == 2 { return engine.pointee.submit(job) }
    if number < 2, let worker, let place = worker.pointee.place {
      return place.pointee.keep(job, by: worker, in: engine.pointee)
    }
    engine.pointee.places[number % places].pointee.enqueue(job, in: engine.pointee)
  }

  /// A searcher's thread: starts so many jobs, each of which is submitted anew.
  func search(_ me: Int, starts: Int, turn: Int, keepsSlot: Bool) {
    let worker = engine.pointee.workers.take()
    become(worker)
    guard worker.pointee.take(engine.pointee.places[me]) else { return run.check(false, "the place is not free") }
    for start in 0..<starts {
      if start % turn == 0 { engine.pointee.places[me].pointee.passOverSlot() }
      // Nil while the other searcher has a stolen batch in its hands.
      guard let job = engine.pointee.places[me].pointee.findWork(in: engine.pointee), let owner = job.owner
      else { continue }
      count(Int(bitPattern: owner) - 1, by: me)
      submit(job, Int(bitPattern: owner) - 1, by: keepsSlot ? worker : nil)
      // Lets the other searcher go on, if it has come as far.
      gc_pause()
    }
  }

  /// A job counts as passed over when both searchers have passed it over: one that stands still may have the job in its hands.
  private func count(_ number: Int, by me: Int) {
    for other in passed.indices where other != number {
      if me == 0 { passed[other].0 += 1 } else { passed[other].1 += 1 }
      let both = min(passed[other].0, passed[other].1)
      run.check(both <= bound, "job \(other) has been passed over \(both) times by both searchers")
    }
    passed[number] = (0, 0)
  }
}

private func pairs() -> [Scenario] {
  func pair(_ name: String, jobs: Int, turn: Int, keepsSlot: Bool) -> Scenario {
    Scenario(
      "E9: two searchers steal from each other, " + name, of: "Place", unusual: 0, isSmall: false, steps: 500_000
    ) {
      run in
      ck_machine_set_processors(1)
      _ = Backoff.maySpin
      standInForPool()
      let shares = Shares(run, jobs: jobs, turn: turn), starts = 3 * jobs * 8 * turn
      for me in 0..<2 { run.thread { shares.search(me, starts: 2 * starts, turn: turn, keepsSlot: keepsSlot) } }
    }
  }
  return [
    pair("and their slots are empty", jobs: 6, turn: 1, keepsSlot: false),
    pair("and keep their slots full beside a monitor that ticks", jobs: 7, turn: 3, keepsSlot: true),
  ]
}

func fairness() -> [Scenario] { single() + pairs() }

private func single() -> [Scenario] {
  /// `turn`: how many searches there are to one that goes past the slot.
  func bounded(_ name: String, turn: Int, places: Int = 3, without absent: [Source] = []) -> Scenario {
    protocolScenario(name, of: "Place", unusual: 0, steps: 500_000) { run in
      standInForPool()
      engine.pointee.setParallelism(places)
      run.finally {
        let sources = Source.allCases.filter { !absent.contains($0) }
        search(sources, turn: turn, starts: 3 * Source.lastPlace.bound(turn), run: run) { start in
          // A tick of the monitor's.
          if turn < 64, start % turn == 0 { engine.pointee.places[0].pointee.passOverSlot() }
        }
      }
    }
  }
  return [
    bounded("E9: every source of work is started within its bound", turn: 64),
    bounded("E9: the same beside a monitor that ticks", turn: 5),
    bounded("E9: without a slot every search is a turn", turn: 1, without: [.slot]),
    bounded("E9: without a run queue", turn: 64, without: [.runQueue]),
    bounded("E9: work at other places only, and in the slot", turn: 64, without: [.backlog, .runQueue]),
    bounded("E9: more than 64 places", turn: 1, places: 66, without: [.slot]),
  ]
}
