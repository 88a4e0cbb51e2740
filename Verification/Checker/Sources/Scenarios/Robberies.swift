// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit

@testable import GrandCentral

// Participants of `concurrentPerform`: the owner of a chunk, and threads that rob it. Each index is to be begun once.

func robberies() -> [Scenario] {
  [
    protocolScenario("P3: a chunk is robbed while its owner runs it", of: "ApplyTurn", unusual: 0) { run in
      let call = Called(run, count: 3)
      call.takePart { turn in
        ApplyTurn.run(turn, 0, 2)
        ApplyTurn.run(turn, 2, 3)
      }
      call.takePart { _ = ApplyTurn.robOne($0, half: true) }
      run.finally { call.end() }
    },
    protocolScenario("P3: a robbed chunk is robbed again, before its owner has noticed", of: "ApplyTurn", unusual: 0) {
      run in
      let call = Called(run, count: 3)
      call.takePart { ApplyTurn.run($0, 0, 3) }
      call.takePart { turn in for _ in 0..<2 { _ = ApplyTurn.robOne(turn, half: true) } }
      run.finally { call.end() }
    },
    protocolScenario("P3: in a careful call a robber takes all", of: "ApplyTurn", unusual: 0) { run in
      let call = Called(run, count: 3, parts: ApplyCall.careful)
      call.takePart { ApplyTurn.run($0, 0, 3) }
      call.takePart { while ApplyTurn.robOne($0, half: false) {} }
      run.finally { call.end() }
    },
    protocolScenario("P3: a lone caller is robbed of its next pieces", of: "ApplyTurn", unusual: 0) { run in
      let call = Called(run, count: 2)
      call.takePart { turn in
        turn[0].open(0, 1, limit: 2)
        var end = 1
        repeat {
          ApplyTurn.runLoop(turn)
          end += 1
        } while end <= 2 && turn[0].advance(from: end - 1, to: end)
        if !turn[0].close(end - 1) { ApplyTurn.settle(turn) }
      }
      call.takePart { _ = ApplyTurn.robOne($0, half: true) }
      run.finally { call.end() }
    },
  ]
}

/// A call, and how often each of its indices has been begun.
private final class Called: @unchecked Sendable {  // fibres take turns
  private let run: ScenarioRun
  private let begun: [Plain]
  private let loop: (ApplyLoop.Pointer) -> Void
  private let call = ApplyCall.Pointer.allocate(capacity: 1)

  init(_ run: ScenarioRun, count: Int, parts: Int = ApplyCall.partsOfOne) {
    standInForPool()
    _ = Barrier.register()
    let begun = (0..<count).map { _ in Plain() }
    self.run = run
    self.begun = begun
    loop = { ApplyLoop.run($0) { begun[$0].value += 1 } }
    call.initialize(to: ApplyCall(count: count, body: BorrowedClosure(loop), helpers: 1, queue: nil, place: nil))
    call[0].parts.store(parts, ordering: .relaxed)
  }

  /// Runs `work` on a thread, as a participant.
  func takePart(_ work: @escaping (ApplyTurn.Pointer) -> Void) {
    let turn = ApplyTurn.Pointer.allocate(capacity: 1)
    turn.initialize(to: ApplyTurn(of: call))
    ApplyCall.link(turn, to: call)
    run.thread { work(turn) }
  }

  func end() {
    for index in begun.indices { run.check(begun[index].value == 1, "an index is begun twice, or not at all") }
    call.deinitialize(count: 1)
    call.deallocate()
  }
}
