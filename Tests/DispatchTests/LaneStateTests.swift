// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GrandCentral

/// What the word cannot know: the list, and what is on its way. A world is one step of the lane's protocol, without threads.
private struct World: Hashable {
  var word: UInt64
  /// Items that may be taken off, oldest first: r(eader), b(arrier).
  var list: [UInt8] = []
  /// A pusher found the list empty and has yet to announce.
  var announcing = false
  var activations = 0
  /// Readers that run.
  var readers = 0
  var pushed = 0
  var suspended = false

  var state: LaneState { LaneState(rawValue: word) }

  mutating func update<R>(_ transition: (inout LaneState) -> R) -> R {
    var state = self.state
    let result = transition(&state)
    word = state.rawValue
    return result
  }
}

@Suite("A lane's state word")
struct LaneStateTests {
  private static let worker: UInt32 = 7
  private static let reader = UInt8(ascii: "r")
  private static let barrier = UInt8(ascii: "b")

  // MARK: One transition at a time

  @Test("Q2: fields do not overlap")
  func fields() {
    let bits: [UInt64] = [
      LaneState.ownerMask, LaneState.readerMask, LaneState.enqueued, LaneState.dirty, LaneState.barrierPending,
      LaneState.suspended, LaneState.inactive, LaneState.concurrent, LaneState.nested, LaneState.threadBound,
      LaneState.urgencyMask, LaneState.roomPending,
    ]
    var seen: UInt64 = 0
    for field in bits {
      #expect(seen & field == 0)
      seen |= field
    }
  }

  @Test("Q7: the first pusher of an idle lane pushes the activation, the first of an owned one leaves it to the owner")
  func announce() {
    var idle = LaneState(rawValue: 0)
    let announceAnswer1 = idle.announce(urgency: 4)
    #expect(announceAnswer1)
    #expect(idle.has(LaneState.enqueued) && idle.has(LaneState.dirty) && idle.urgency == 4)
    var owned = LaneState(rawValue: 9)
    let announceAnswer2 = owned.announce(urgency: 4)
    #expect(!announceAnswer2)
    #expect(owned.has(LaneState.dirty) && owned.owner == 9)
    var halted = LaneState(rawValue: LaneState.suspended)
    let announceAnswer3 = halted.announce(urgency: 4)
    #expect(!announceAnswer3)
    let resumeAnswer4 = halted.resume()
    #expect(resumeAnswer4)
  }

  @Test("Q2: an owner that finds the lane dirty looks again, and is free the second time")
  func finish() {
    var state = LaneState(rawValue: 9 | LaneState.dirty | LaneState.urgencyOne)
    let finishAnswer5 = state.finish()
    #expect(finishAnswer5 == .again)
    #expect(state.owner == 9)
    let finishAnswer6 = state.finish()
    #expect(finishAnswer6 == .done)
    #expect(state.rawValue == 0)
  }

  @Test("Q3: a barrier waits for readers, and the last one takes the lane over")
  func barrierWaits() {
    var state = LaneState(rawValue: LaneState.concurrent | 9 | 2 * LaneState.readerOne)
    let beginBarrierAnswer7 = state.beginBarrier()
    #expect(!beginBarrierAnswer7)
    let enterReadAnswer8 = state.enterRead()
    #expect(!enterReadAnswer8)
    let leaveReadAnswer9 = state.leaveRead(5)
    #expect(!leaveReadAnswer9)
    let leaveReadAnswer10 = state.leaveRead(6)
    #expect(leaveReadAnswer10)
    #expect(state.owner == 6 && !state.has(LaneState.barrierPending))
    let beginBarrierAnswer11 = state.beginBarrier()
    #expect(beginBarrierAnswer11)
  }

  @Test("Q3: a reader waits while the limit is reached, and the next one to leave takes the lane over for it")
  func readerWaitsForRoom() {
    var state = LaneState(rawValue: LaneState.concurrent | 9 | LaneState.readerOne)
    let second = state.admit(limit: 2)
    #expect(second && state.readers == 2 && state.owner == 9)
    let third = state.admit(limit: 2)
    #expect(!third && state.readers == 2 && !state.isOwned && state.has(LaneState.roomPending))
    let passedBy = state.enterRead()
    #expect(!passedBy)
    let owns = state.leaveRead(5)
    #expect(owns && state.owner == 5 && state.readers == 1 && !state.has(LaneState.roomPending))
    let admitted = state.admit(limit: 2)
    #expect(admitted)
  }

  @Test("Q11: urgency rises, and only asks for an overtaking activation while one is on its way")
  func overtake() {
    var state = LaneState(rawValue: LaneState.enqueued | 2 * LaneState.urgencyOne)
    let overtakeAnswer12 = state.overtake(urgency: 1)
    #expect(!overtakeAnswer12)
    let overtakeAnswer13 = state.overtake(urgency: 5)
    #expect(overtakeAnswer13)
    #expect(state.urgency == 5)
    var idle = LaneState(rawValue: 0)
    let hurryAnswer14 = idle.hurry(urgency: 5)
    #expect(!hurryAnswer14)
    #expect(idle.rawValue == 0)
  }

  // MARK: All of them together

  /// The successors of a world: everything that some thread could do next.
  private func successors(_ world: World, concurrent: Bool, limit: Int) -> [World] {
    var next: [World] = []
    func step(_ body: (inout World) -> Void) {
      var copy = world
      body(&copy)
      next.append(copy)
    }
    let mayRun = world.state.owner == Self.worker
    if world.pushed < 3, !world.announcing || !world.list.isEmpty {
      for kind in concurrent ? [Self.reader, Self.barrier] : [Self.barrier] {
        step { world in
          world.pushed += 1
          let empty = world.list.isEmpty
          world.list.append(kind)
          if empty { world.announcing = true }
        }
      }
    }
    if world.announcing {
      step { world in
        world.announcing = false
        if world.update({ $0.announce(urgency: 4) }) { world.activations += 1 }
      }
    }
    if world.activations > 0, !mayRun {
      step { world in
        world.activations -= 1
        _ = world.update { $0.arrive(Self.worker) }
      }
    }
    if mayRun { next += ownersSteps(world, limit: limit) }
    if world.readers > 0 {
      step { world in
        world.readers -= 1
        if world.update({ $0.leaveRead(Self.worker) }) {}
      }
    }
    if concurrent, world.list.isEmpty, world.readers < limit {
      step { world in
        if world.update({ $0.enterRead() }) { world.readers += 1 }
      }
    }
    step { world in
      if world.suspended {
        world.suspended = false
        if world.update({ $0.resume() }) { world.activations += 1 }
      } else {
        world.suspended = true
        world.update { $0.suspend() }
      }
    }
    return next
  }

  private func ownersSteps(_ world: World, limit: Int) -> [World] {
    var next = world
    if world.state.isHalted {
      _ = next.update { $0.rest() }
    } else if let item = world.list.first, !world.announcing || world.list.count > 0 {
      if item == Self.barrier {
        if !next.update({ $0.beginBarrier() }) { return [next] }
        // Invariant L4: nobody reads while a barrier runs.
        #expect(next.readers == 0)
      } else {
        if !next.update({ $0.admit(limit: limit) }) { return [next] }
        next.readers += 1
      }
      next.list.removeFirst()
      // The turn may end after any item.
      var relayed = next
      relayed.update { $0.relay() }
      relayed.activations += 1
      return [next, relayed]
    } else {
      _ = next.update { $0.finish() }
    }
    return [next]
  }

  @Test(
    "Q1 Q2 Q3 O4: in every reachable state somebody is responsible for what is in the list", arguments: [0, 1, 2, 9])
  func enumerate(limit: Int) {
    // 0: a serial lane; 9: more than there will be.
    let concurrent = limit > 0
    let roles = concurrent ? LaneState.concurrent : 0
    let start = World(word: roles)
    var seen: Set<World> = [start]
    var frontier = [start]
    while let world = frontier.popLast() {
      let state = world.state
      // L2
      let responsible =
        world.list.isEmpty || state.isOwned || state.has(LaneState.enqueued) || world.announcing
        || state.isHalted && state.has(LaneState.dirty) || state.has(LaneState.barrierPending) && state.readers > 0
        || state.has(LaneState.barrierPending) && state.isHalted
        || state.has(LaneState.roomPending) && state.readers > 0
      if !responsible {
        Issue.record("nobody is responsible: \(world) \(String(world.word, radix: 16))")
        return
      }
      // L7
      #expect(!concurrent || state.readers <= limit)
      #expect(!state.has(LaneState.roomPending) || !state.isOwned && state.readers > 0)
      // L3, L6 and the ghosts.
      #expect(!state.has(LaneState.enqueued) || world.activations > 0)
      #expect(state.readers == world.readers)
      #expect(state.rawValue & LaneState.roles == roles)
      #expect(world.list.isEmpty || world.announcing || state.urgency != 0)
      for next in successors(world, concurrent: concurrent, limit: limit)
      where next.activations < 4 && seen.insert(next).inserted {
        frontier.append(next)
      }
    }
    // Far more than a handful, or the exploration has got stuck.
    #expect(seen.count > 100)
  }
}
