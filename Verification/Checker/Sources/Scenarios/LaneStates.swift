// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit

@testable import GrandCentral

// The roles of LaneState, on the real word and the real list, with a lane made of nothing else: the thread that owes an
// activation carries it out at once. What is left out: targets, relays, hand-overs, readers in the list.

private final class SmallLane {
  let state: AtomicState<LaneState>
  let list = MPSCList()
  /// Only the thread that has the lane to itself touches it.
  let inside = Plain()
  var ran: [Int] = []
  let run: ScenarioRun

  init(_ run: ScenarioRun, concurrent: Bool = false) {
    self.run = run
    state = AtomicState(LaneState(rawValue: concurrent ? LaneState.concurrent : 0))
  }

  func push(_ number: Int) {
    if list.push(Node(number).raw) { answer(state.update { $0.announce(urgency: 2) }) }
  }

  /// An adopted activation is carried out by the thread that has set its bit.
  func answer(_ call: LaneState.Call) {
    guard case .push(let band) = call else { return }
    let id = gc_thread_id()
    if state.update({ $0.arrive(id, in: band) }) == .owns { drain() }
  }

  func drain() {
    while true {
      let first = list.head()
      if state.load().isHalted {
        if state.update({ $0.rest() }) == .done { return }
      } else if let head = first {
        // A barrier that waits for readers gives the lane up: the last reader goes on.
        if state.update({ $0.beginBarrier() }) == .givenUp { return }
        _ = list.pop(head)
        let node = Node(raw: head)
        inside.value += 1
        ran.append(node.number)
        node.free()
      } else if state.update({ $0.finish() }) == .done {
        return
      }
    }
  }

  /// A caller's quick way in and out.
  func sync() {
    let id = gc_thread_id()
    guard list.tailIsNil, state.attempt({ $0.acquire(id) ? true : nil }) != nil else { return }
    inside.value += 1
    if !state.exchange(held(by: id), for: idle) { drain() }
  }

  private func held(by id: UInt32) -> LaneState { LaneState(rawValue: idle.rawValue | UInt64(id)) }
  private var idle: LaneState { LaneState(rawValue: state.load(ordering: .relaxed).rawValue & LaneState.idle) }

  func read(_ look: (Int) -> Void) {
    let id = gc_thread_id()
    guard list.tailIsNil, state.attempt({ $0.enterRead() ? true : nil }) != nil else { return }
    look(inside.value)
    if state.update({ $0.leaveRead(id) }) == .owns { drain() }
  }

  func suspend() { state.update { $0.suspend() } }
  func resume() { answer(state.update { $0.resume() }) }

  func verify(_ items: [Int]) {
    run.check(ran.sorted() == items, "items \(ran) have run of \(items)")
    run.check(list.tailIsNil, "an item was left behind")
    run.check(state.load().rawValue & ~LaneState.roles == 0, "the lane is not idle at the end")
  }
}

func laneStates() -> [Scenario] {
  func lane(
    _ name: String, concurrent: Bool = false, items: [Int], isSmall: Bool = true, _ roles: [(SmallLane) -> Void]
  ) -> Scenario {
    protocolScenario(name, of: "LaneState", unusual: 0, isSmall: isSmall) { run in
      let lane = SmallLane(run, concurrent: concurrent)
      for role in roles { run.thread { role(lane) } }
      run.finally { lane.verify(items) }
    }
  }
  func pusher(_ number: Int) -> (SmallLane) -> Void { { $0.push(number) } }
  let syncer: (SmallLane) -> Void = { $0.sync() }
  let suspender: (SmallLane) -> Void = {
    $0.suspend()
    $0.resume()
  }
  let reader: (SmallLane) -> Void = { lane in lane.read { _ in } }
  return [
    lane("pusher and pusher", items: [1, 2], [pusher(1), pusher(2)]),
    lane(
      "a pusher of two and a pusher", items: [1, 2, 3], isSmall: false,
      [
        {
          $0.push(1); $0.push(2)
        }, pusher(3),
      ]),
    lane("pusher and syncer", items: [1], [pusher(1), syncer]),
    lane("pusher and suspender", items: [1], [pusher(1), suspender]),
    lane("syncer and syncer", items: [], [syncer, syncer]),
    lane("syncer and suspender", items: [], [syncer, suspender]),
    lane(
      "suspender and suspender", items: [],
      [
        {
          $0.suspend(); $0.resume()
        }, syncer,
      ]),
    lane("pusher and reader", concurrent: true, items: [1], [pusher(1), reader]),
    lane("syncer and reader", concurrent: true, items: [], [syncer, reader]),
    lane("reader and reader", concurrent: true, items: [], [reader, reader]),
    lane("reader and suspender", concurrent: true, items: [], [reader, suspender]),
    lane("pusher, syncer, suspender", items: [1], isSmall: false, [pusher(1), syncer, suspender]),
    lane("pusher, reader, suspender", concurrent: true, items: [1], isSmall: false, [pusher(1), reader, suspender]),
    lane("pusher, syncer, reader", concurrent: true, items: [1], isSmall: false, [pusher(1), syncer, reader]),
  ]
}
