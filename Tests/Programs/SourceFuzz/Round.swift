// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

/// A load (`FuzzLoad`) with one to three sources, a driver that makes things happen, and a meddler beside it. The seed decides
/// what both do; how their steps interleave is up to the machine.
struct Round {
  let seed: UInt64
  let lane: Int
  let report: FuzzReport

  static let kinds = 8

  private func load(_ kind: Int, _ random: inout SeededRandom, _ name: String, _ queues: FuzzQueues) -> any FuzzLoad {
    switch kind {
    case 0: FuzzStealing(&random, name, report, queues)
    case 1: FuzzProcess(&random, name, report, queues)
    case 2: FuzzFile(&random, name, report, queues)
    case 3: FuzzSignals(&random, name, report, queues, lane: lane)
    case 4: FuzzTimer(&random, name, report)
    case 5: FuzzUserData(&random, name, report, queues)
    case 6: FuzzWriting(&random, name, report, queues)
    default: FuzzReading(&random, name, report, queues)
    }
  }

  func run(kind: Int?) {
    var random = SeededRandom(seed: seed)
    let queues = FuzzQueues()
    // Children and stolen numbers cost more than the rest.
    let number = random.oneIn(30) ? random.below(2) : 2 + random.below(9)
    let name = "seed \(seed) lane \(lane)"
    let load = load(kind ?? number, &random, name, queues)
    let (isPatient, steps) = (!random.oneIn(3), 1 + random.below(60))
    let meddling = random.oneIn(4) ? nil : random.next()
    // A timer's queue is part of what is known about it.
    let meddlers = load is FuzzTimer ? [] : load.subjects
    let isOver = Latch()
    let meddler = meddling.map { meddling in
      PlainThread {
        var random = SeededRandom(seed: meddling)
        while !isOver.isOpen, !meddlers.isEmpty {
          meddlers[random.below(meddlers.count)].meddle(&random, queues)
          sched_yield()
        }
      }
    }
    // What happens before the activation counts as well, if the kind can know.
    if load is FuzzReading || load is FuzzUserData, random.oneIn(3) { load.step(&random) }
    for subject in load.subjects { subject.activate() }
    for _ in 0..<steps {
      load.step(&random)
      if random.oneIn(4) { sched_yield() }
      if !isPatient, random.oneIn(20) { load.subjects[random.below(load.subjects.count)].cancel() }
    }
    if isPatient {
      let isWhole = { load.subjects.contains { $0.ended.isOpen } }
      // A load of many small events takes long beside busy neighbours: it is stuck once nothing more is reported.
      var account = load.account
      while !eventually({ load.isSettled() || isWhole() || report.hasFailed }) {
        if account != load.account {
          account = load.account
          continue
        }
        let subjects = load.subjects.map { "\($0.name), \($0.events.value) events" }
        report.failures.note("\(name): reported \(load.account); \(subjects)")
        break
      }
    }
    if random.oneIn(2) { isOver.open() }
    for subject in load.subjects {
      if random.oneIn(3) { subject.cancelAndForget() } else { subject.cancel() }
    }
    for subject in load.subjects { subject.expectEnd() }
    isOver.open()
    meddler?.join()
    load.tidyUp()
  }
}
