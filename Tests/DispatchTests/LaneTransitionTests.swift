// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GrandCentral

/// What each transition answers and changes, compared in every state from which its caller may call it.
@Suite("A transition of the lane's state word")
struct LaneTransitionTests {
  private static let me: UInt32 = 9

  private func compare<Answer: Equatable>(
    where isLegal: (LaneFields) -> Bool = { _ in true }, _ transition: (inout LaneState) -> Answer,
    with specification: (inout LaneFields) -> Answer, at location: SourceLocation = #_sourceLocation
  ) {
    var compared = 0
    for fields in LaneFields.all where isLegal(fields) {
      var state = fields.word
      let answer = transition(&state)
      var wanted = fields
      let wantedAnswer = specification(&wanted)
      compared += 1
      if answer == wantedAnswer, state == wanted.word { continue }
      Issue.record(
        "\(fields) became \(LaneFields(state)), \(answer); wanted \(wanted), \(wantedAnswer)", sourceLocation: location)
      return
    }
    #expect(compared >= 72, "too few states to compare", sourceLocation: location)
  }

  @Test("reads each field where it was written, whatever the others are")
  func fieldsDoNotOverlap() {
    for fields in LaneFields.all { if LaneFields(fields.word) != fields { Issue.record("\(fields)") } }
    let masks = [
      LaneState.ownerMask, LaneState.readerMask, LaneState.enqueued, LaneState.dirty, LaneState.barrierPending,
      LaneState.suspended, LaneState.inactive, LaneState.concurrent, LaneState.nested, LaneState.threadBound,
      LaneState.urgencyMask, LaneState.roomPending, LaneState.sentMask,
    ]
    #expect(masks.reduce(0) { $0 + $1.nonzeroBitCount } == 62)
    #expect(masks.reduce(0, |) == 1 << 62 - 1)
    #expect(LaneState.sentMask.nonzeroBitCount == Band.count)
    #expect(LaneState.readerOne == LaneState.ownerMask + 1)
    #expect(LaneState.urgencyOne.nonzeroBitCount == 1 && LaneState.urgencyMask == 7 * LaneState.urgencyOne)
  }

  @Test("urgency has room for every band, and orders them")
  func urgencies() {
    for rank in 0..<UInt8(Band.count) {
      let urgency = Urgency.of(Band(rank: rank))
      #expect(urgency >= 1 && urgency <= 7)
      #expect(Urgency.band(urgency) == Band(rank: rank))
      if rank > 0 { #expect(urgency < Urgency.of(Band(rank: rank - 1))) }
      var state = LaneState(rawValue: 0)
      state.raise(to: urgency)
      #expect(state.band == Band(rank: rank))
    }
    #expect(LaneState(rawValue: 0).band == .normal)
  }

  // MARK: Pushing

  @Test(
    "announce asks for an activation of a lane that nobody sees to, and else leaves word", arguments: [1, 4] as [UInt8])
  func announce(urgency: UInt8) {
    compare {
      $0.announce(urgency: urgency)
    } with: { lane in
      let isRaised = lane.urgency < urgency
      lane.raise(urgency)
      lane.dirty = true
      if lane.enqueued { return isRaised ? lane.send() : .nothing }
      return lane.owned || lane.halted || lane.readersPending ? .nothing : lane.send()
    }
  }

  @Test("overtake asks for a second activation if one of a lower urgency is on its way")
  func overtake() {
    compare {
      $0.overtake(urgency: 4)
    } with: { lane in
      if lane.urgency >= 4 { return .nothing }
      lane.urgency = 4
      return lane.enqueued ? lane.send() : .nothing
    }
  }

  @Test("boost is overtake, but for a lane without work")
  func boost() {
    compare {
      $0.boost(urgency: 4)
    } with: { lane in
      guard lane.owned || lane.enqueued || lane.dirty || lane.readersPending, lane.urgency < 4 else { return .nothing }
      lane.urgency = 4
      return lane.enqueued ? lane.send() : .nothing
    }
  }

  // MARK: Draining

  @Test(
    "arrive owns a free lane that has work, leaves word if it is halted, and goes away if it is idle or owned",
    arguments: [0, 2, 5] as [UInt8])
  func arrive(rank: UInt8) {
    compare(where: { !($0.owned && $0.enqueued) }) {
      $0.arrive(Self.me, in: Band(rank: rank))
    } with: { lane in
      lane.sent.remove(rank)
      if lane.owned || !(lane.enqueued || lane.dirty || lane.readersPending) { return .leaves }
      lane.enqueued = false
      if lane.halted {
        lane.dirty = true
        return .leaves
      }
      if lane.barrierPending, lane.readers > 0 { return .leaves }
      lane.dirty = false
      lane.barrierPending = false
      lane.roomPending = false
      lane.owner = Self.me
      return .owns
    }
  }

  @Test("arriveOnMain owns the main queue unless it is owned, and forgets all signals")
  func arriveOnMain() {
    compare(where: { !($0.owned && $0.enqueued) && !$0.halted && !$0.readersPending && $0.readers == 0 }) {
      $0.arriveOnMain(Self.me)
    } with: { lane in
      if lane.owned { return .leaves }
      lane.enqueued = false
      lane.sent = []
      lane.dirty = false
      lane.owner = Self.me
      return .owns
    }
  }

  @Test("finish gives up a lane that is not dirty, with its urgency")
  func finish() {
    compare(where: { $0.owned }) {
      $0.finish()
    } with: { lane in
      if lane.dirty {
        lane.dirty = false
        return .again
      }
      lane.owner = 0
      lane.urgency = 0
      return .done
    }
  }

  @Test("rest gives up a lane that is halted, dirty and as urgent as before")
  func rest() {
    compare(where: { $0.owned }) {
      $0.rest()
    } with: { lane in
      if !lane.halted { return .again }
      lane.owner = 0
      lane.dirty = true
      return .done
    }
  }

  @Test("relay trades the ownership for an activation")
  func relay() {
    compare(where: { $0.owned && !$0.enqueued }) {
      $0.relay()
    } with: { lane in
      lane.owner = 0
      return lane.send()
    }
  }

  @Test("moveAway forgets what is on its way through the former target", arguments: [false, true])
  func moveAway(nested: Bool) {
    compare {
      $0.moveAway(nested: nested)
      return true
    } with: { lane in
      lane.sent = []
      lane.roles = nested ? lane.roles | LaneState.nested : lane.roles & ~LaneState.nested
      return true
    }
  }

  @Test("sendAnew asks for an activation of a lane that is enqueued, whatever was on its way")
  func sendAnew() {
    compare {
      $0.sendAnew()
    } with: { lane in
      lane.sent = []
      return lane.enqueued ? lane.send() : .nothing
    }
  }

  @Test("leaveToParent keeps the roles, and nothing else", arguments: [0, 9] as [UInt32])
  func leaveToParent(owner: UInt32) {
    compare {
      $0.leaveToParent(owner: owner)
      return true
    } with: { lane in
      let roles = lane.roles
      lane = LaneFields()
      lane.roles = roles
      lane.owner = owner
      return true
    }
  }

  @Test("beginBarrier waits for readers, and only then gives the lane up")
  func beginBarrier() {
    compare(where: { $0.owned && !$0.barrierPending }) {
      $0.beginBarrier()
    } with: { lane in
      if lane.readers == 0 { return .granted }
      lane.owner = 0
      lane.barrierPending = true
      return .givenUp
    }
  }

  @Test("handOver changes the owner and nothing else")
  func handOver() {
    compare(where: { $0.owned }) {
      $0.handOver(to: Self.me)
      return true
    } with: { lane in
      lane.owner = Self.me
      return true
    }
  }

  @Test(
    "admit counts one more reader where there is room, and else gives the lane up to the readers", arguments: [1, 2, 9])
  func admit(limit: Int) {
    compare(where: { $0.owned && !$0.readersPending }) {
      $0.admit(limit: limit)
    } with: { lane in
      if lane.readers < limit {
        lane.readers += 1
        return .granted
      }
      lane.owner = 0
      lane.roomPending = true
      return .givenUp
    }
  }

  // MARK: Synchronous callers

  @Test("acquire takes a lane that is idle in every respect, and leaves any other as it is")
  func acquire() {
    compare {
      $0.acquire(Self.me)
    } with: { lane in
      guard lane.idle else { return false }
      lane.owner = Self.me
      return true
    }
  }

  @Test("join owns a free lane, or sees to it that the waiter is found", arguments: [false, true])
  func join(barrier: Bool) {
    compare {
      $0.join(Self.me, urgency: 4, barrier: barrier)
    } with: { lane in
      let isRaised = lane.urgency < 4
      lane.raise(4)
      if lane.owned || lane.enqueued || lane.halted || lane.readersPending {
        lane.dirty = true
        return .waits(lane.enqueued && isRaised ? lane.send() : .nothing)
      }
      if barrier, lane.readers > 0 {
        lane.barrierPending = true
        return .waits(.nothing)
      }
      lane.dirty = false
      lane.owner = Self.me
      return .owns
    }
  }

  @Test("enterRead enters a lane that is idle or read, and leaves any other as it is")
  func enterRead() {
    compare {
      $0.enterRead()
    } with: { lane in
      var alone = lane
      alone.readers = 0
      guard alone.idle, lane.readers < LaneTransitionTests.mostReaders else { return false }
      lane.readers += 1
      return true
    }
  }

  @Test(
    "leaveRead makes the last reader the owner if a barrier waits, any if a reader does, and nobody else sees to it")
  func leaveRead() {
    compare(where: { $0.readers > 0 }) {
      $0.leaveRead(Self.me)
    } with: { lane in
      lane.readers -= 1
      if !(lane.roomPending || lane.barrierPending && lane.readers == 0) { return .leaves }
      lane.barrierPending = false
      lane.roomPending = false
      if lane.halted {
        lane.dirty = true
        return .leaves
      }
      if lane.owned || lane.enqueued { return .leaves }
      lane.owner = Self.me
      return .owns
    }
  }

  @Test("leaveReadUnawaited is leaveRead where no barrier waits, and declines where one does")
  func leaveReadUnawaited() {
    compare(where: { $0.readers > 0 }) {
      $0.leaveReadUnawaited()
    } with: { lane in
      if lane.readersPending { return nil }
      lane.readers -= 1
      return true
    }
  }

  // MARK: Limits

  /// As many readers as the field can count.
  private static let mostReaders = Int(LaneState.ownerMask)

  @Test("enterRead declines where one more reader would spill over into the next field")
  func readersDoNotOverflow() {
    for readers in [Int(LaneState.ownerMask), Int(LaneState.ownerMask)] {
      var lane = LaneFields()
      lane.roles = LaneState.concurrent
      lane.readers = readers
      var state = lane.word
      if state.enterRead() { lane.readers += 1 }
      #expect(LaneFields(state) == lane, "\(readers) readers and one more")
      #expect(!LaneFields(state).enqueued)
    }
  }

  // MARK: Suspension

  @Test("suspend halts and changes nothing else")
  func suspend() {
    compare {
      $0.suspend()
      return true
    } with: { lane in
      lane.suspended = true
      return true
    }
  }

  @Test(
    "resume and activate start a dirty lane that is halted no longer, if nobody sees to it", arguments: [false, true])
  func start(activates: Bool) {
    compare {
      activates ? $0.activate() : $0.resume()
    } with: { lane in
      if activates { lane.inactive = false } else { lane.suspended = false }
      if lane.halted || !lane.dirty || lane.owned || lane.enqueued || lane.readersPending { return .nothing }
      return lane.send()
    }
  }
}
