// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GrandCentral

/// A number for each of the bands that a world knows: that of urgency 1, that of lanes without an urgency, and the highest.
private struct PerBand: Hashable {
  static let bands = [Band(rank: 5), .normal, Band(rank: 0)]
  private var numbers = SIMD4<UInt8>()

  subscript(band: Band) -> UInt8 {
    get { numbers[Self.bands.firstIndex(of: band)!] }
    set { numbers[Self.bands.firstIndex(of: band)!] = newValue }
  }
}

/// What the word cannot know: the list, and what is on its way. A world is one step of the lane's protocol, without threads.
private struct World: Hashable {
  var word: UInt64
  /// Items that may be taken off, oldest first: r(eader), b(arrier).
  var list: [UInt8] = []
  /// The urgency of the item of a pusher that found the list empty and has yet to announce it.
  var announcing: UInt8 = 0
  /// A pusher of an urgent item found the list not empty and has yet to look at the urgency.
  var overtaking = false
  /// Activations on their way through the present target, and strays on their way through the former one.
  var activations = PerBand()
  var strays = PerBand()
  var moved = false
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

  mutating func answer(_ call: LaneState.Call) {
    if case .push(let band) = call { activations[band] += 1 }
  }
}

@Suite("A lane's state word")
struct LaneStateTests {
  private static let worker: UInt32 = 7
  /// A worker whose activation has come through a target that the lane has left.
  private static let astray: UInt32 = 8
  private static let reader = UInt8(ascii: "r")
  private static let barrier = UInt8(ascii: "b")

  // MARK: One transition at a time

  @Test("Q2: fields do not overlap")
  func fields() {
    let bits: [UInt64] = [
      LaneState.ownerMask, LaneState.readerMask, LaneState.enqueued, LaneState.dirty, LaneState.barrierPending,
      LaneState.suspended, LaneState.inactive, LaneState.concurrent, LaneState.nested, LaneState.threadBound,
      LaneState.urgencyMask, LaneState.roomPending, LaneState.sentMask,
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
    let firstPusher = idle.announce(urgency: 4)
    #expect(firstPusher == .push(.normal))
    #expect(idle.has(LaneState.enqueued) && idle.has(LaneState.dirty) && idle.urgency == 4)
    var owned = LaneState(rawValue: 9)
    let pusherBesideTheOwner = owned.announce(urgency: 4)
    #expect(pusherBesideTheOwner == .nothing)
    #expect(owned.has(LaneState.dirty) && owned.owner == 9)
    var own = LaneState(rawValue: 9)
    own.announceAsOwner(urgency: 4)
    #expect(own.rawValue == owned.rawValue)
    var halted = LaneState(rawValue: LaneState.suspended)
    let pusherWhileSuspended = halted.announce(urgency: 4)
    #expect(pusherWhileSuspended == .nothing)
    let resumption = halted.resume()
    #expect(resumption == .push(.normal))
  }

  @Test("Q2: an owner that finds the lane dirty looks again, and is free the second time")
  func finish() {
    var state = LaneState(rawValue: 9 | LaneState.dirty | LaneState.urgencyOne)
    let whileDirty = state.finish()
    #expect(whileDirty == .again)
    #expect(state.owner == 9)
    let whileClean = state.finish()
    #expect(whileClean == .done)
    #expect(state.rawValue == 0)
  }

  @Test("Q3: a barrier waits for readers, and the last one takes the lane over")
  func barrierWaits() {
    var state = LaneState(rawValue: LaneState.concurrent | 9 | 2 * LaneState.readerOne)
    let begins = state.beginBarrier()
    #expect(begins == .givenUp)
    let enters = state.enterRead()
    #expect(!enters)
    let first = state.leaveRead(5)
    #expect(first == .leaves)
    let last = state.leaveRead(6)
    #expect(last == .owns)
    #expect(state.owner == 6 && !state.has(LaneState.barrierPending))
    let beginsAgain = state.beginBarrier()
    #expect(beginsAgain == .granted)
  }

  @Test("Q3: a reader waits while the limit is reached, and the next one to leave takes the lane over for it")
  func readerWaitsForRoom() {
    var state = LaneState(rawValue: LaneState.concurrent | 9 | LaneState.readerOne)
    let second = state.admit(limit: 2)
    #expect(second == .granted && state.readers == 2 && state.owner == 9)
    let third = state.admit(limit: 2)
    #expect(third == .givenUp && state.readers == 2 && !state.isOwned && state.has(LaneState.roomPending))
    let passedBy = state.enterRead()
    #expect(!passedBy)
    let owns = state.leaveRead(5)
    #expect(owns == .owns && state.owner == 5 && state.readers == 1 && !state.has(LaneState.roomPending))
    let admitted = state.admit(limit: 2)
    #expect(admitted == .granted)
  }

  @Test("Q11: urgency rises, and only asks for an overtaking activation while one is on its way")
  func overtake() {
    var state = LaneState(rawValue: LaneState.enqueued | 2 * LaneState.urgencyOne)
    let lessUrgent = state.overtake(urgency: 1)
    #expect(lessUrgent == .nothing)
    let moreUrgent = state.overtake(urgency: 5)
    #expect(moreUrgent == .push(.userInitiated))
    #expect(state.urgency == 5)
    var idle = LaneState(rawValue: 0)
    let boostOfIdle = idle.boost(urgency: 5)
    #expect(boostOfIdle == .nothing)
    #expect(idle.rawValue == 0)
  }

  @Test("Q6 Q11: an activation that was overtaken serves the next work of its band; more urgent work gets its own")
  func adopt() {
    var lane = LaneState(rawValue: 0)
    let first = lane.announce(urgency: 2)
    let urgent = lane.overtake(urgency: 5)
    #expect(first == .push(.background) && urgent == .push(.userInitiated))
    let arrives = lane.arrive(9, in: .userInitiated)
    let finishes = lane.finish()
    #expect(arrives == .owns && finishes == .done)
    #expect(lane.rawValue == LaneState.sent(.background))

    let again = lane.announce(urgency: 2)
    #expect(again == .adopt && lane.has(LaneState.enqueued))
    let between = lane.overtake(urgency: 3)
    #expect(between == .push(.utility))
    let late = lane.arrive(9, in: .background)
    #expect(late == .owns && lane.rawValue & LaneState.sentMask == LaneState.sent(.utility))
    _ = lane.finish()
    let idle = lane.arrive(9, in: .utility)
    #expect(idle == .leaves && lane.rawValue == 0)
  }

  @Test("Q4: a lane that has another target adopts nothing that comes through the former one")
  func adoptNothingFromFormerTarget() {
    var lane = LaneState(rawValue: LaneState.sent(.background) | 9)
    lane.moveAway(nested: true)
    _ = lane.finish()
    let call = lane.announce(urgency: 2)
    #expect(call == .push(.background))
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
    if world.pushed < 3, world.announcing == 0 || !world.list.isEmpty {
      for kind in concurrent ? [Self.reader, Self.barrier] : [Self.barrier] {
        for urgency: UInt8 in [1, 6] {
          step { world in
            world.pushed += 1
            let empty = world.list.isEmpty
            world.list.append(kind)
            if empty { world.announcing = urgency } else if urgency == 6 { world.overtaking = true }
          }
        }
      }
    }
    if world.announcing != 0 {
      step { world in
        let urgency = world.announcing
        world.announcing = 0
        world.answer(world.update { $0.announce(urgency: urgency) })
      }
    }
    if world.overtaking {
      step { world in
        world.overtaking = false
        world.answer(world.update { $0.overtake(urgency: 6) })
      }
    }
    for band in PerBand.bands where !mayRun && world.activations[band] > 0 {
      step { world in
        world.activations[band] -= 1
        _ = world.update { $0.arrive(Self.worker, in: band) }
      }
    }
    for band in PerBand.bands where world.state.owner != Self.astray && world.strays[band] > 0 {
      step { world in
        world.strays[band] -= 1
        _ = world.update { $0.arrive(Self.astray, in: band) }
      }
    }
    if world.state.owner == Self.astray {
      step { world in world.answer(world.update { $0.relay() }) }
    }
    if mayRun { next += ownersSteps(world, limit: limit) }
    if mayRun, !world.moved, world.readers == 0 {
      step { world in
        world.moved = true
        world.update { $0.moveAway(nested: false) }
        (world.strays, world.activations) = (world.activations, PerBand())
      }
    }
    if world.readers > 0 {
      step { world in
        world.readers -= 1
        _ = world.update { $0.leaveRead(Self.worker) }
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
        world.answer(world.update { $0.resume() })
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
    } else if let item = world.list.first, world.announcing == 0 || world.list.count > 0 {
      if item == Self.barrier {
        if next.update({ $0.beginBarrier() }) == .givenUp { return [next] }
        // Invariant L4: no reader runs beside a barrier.
        #expect(next.readers == 0)
      } else {
        if next.update({ $0.admit(limit: limit) }) == .givenUp { return [next] }
        next.readers += 1
      }
      next.list.removeFirst()
      // The turn may end after any item.
      var relayed = next
      relayed.answer(relayed.update { $0.relay() })
      return [next, relayed]
    } else {
      _ = next.update { $0.finish() }
    }
    return [next]
  }

  private func brokenInvariant(_ world: World, _ roles: UInt64, _ limit: Int?) -> String? {
    let state = world.state
    let responsible =
      world.list.isEmpty || state.isOwned || state.has(LaneState.enqueued) || world.announcing != 0
      || state.isHalted && state.has(LaneState.dirty) || state.has(LaneState.barrierPending) && state.readers > 0
      || state.has(LaneState.barrierPending) && state.isHalted
      || state.has(LaneState.roomPending) && state.readers > 0
    if !responsible { return "L2: nobody is responsible" }
    if state.has(LaneState.enqueued), state.isOwned { return "L9: owned and enqueued" }
    if state.has(LaneState.enqueued), !state.has(LaneState.sent(state.band)) { return "L8: not in the lane's band" }
    for band in PerBand.bands {
      let (sent, onTheirWay) = (state.has(LaneState.sent(band)), world.activations[band])
      if sent, onTheirWay == 0 { return "L8: nothing is on its way" }
      if world.moved ? onTheirWay + world.strays[band] > 2 : onTheirWay != (sent ? 1 : 0) { return "L8: too many" }
    }
    if let limit, state.readers > limit { return "L7" }
    if state.has(LaneState.roomPending), state.isOwned || state.readers == 0 { return "L7: nobody makes room" }
    if !world.list.isEmpty, world.announcing == 0, state.urgency == 0 { return "L6" }
    if state.readers != world.readers { return "a reader is lost" }
    if state.rawValue & LaneState.roles != roles { return "roles have changed" }
    return nil
  }

  @Test(
    "Q1 Q2 Q3 O4: in every reachable state somebody is responsible for what is in the list, and few are on their way",
    arguments: [0, 1, 2, 9])
  func enumerate(limit: Int) {
    // A limit of 0 stands for a serial lane; 9 is more than the readers that there will be.
    let concurrent = limit > 0
    let roles = concurrent ? LaneState.concurrent : 0
    let start = World(word: roles)
    var seen: Set<World> = [start]
    var frontier = [start]
    while let world = frontier.popLast() {
      if let broken = brokenInvariant(world, roles, concurrent ? limit : nil) {
        Issue.record("\(broken): \(world) \(String(world.word, radix: 16))")
        return
      }
      for next in successors(world, concurrent: concurrent, limit: limit) where seen.insert(next).inserted {
        frontier.append(next)
      }
    }
    // An exploration that has got stuck would reach a handful.
    #expect(seen.count > 100)
  }
}
