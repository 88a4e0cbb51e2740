// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

@testable import GrandCentral

/// A lane's state with a variable for each field, written down without the word's bits.
struct LaneFields: Equatable {
  var owner: UInt32 = 0
  var readers = 0
  var enqueued = false
  var dirty = false
  var barrierPending = false
  var roomPending = false
  var suspended = false
  var inactive = false
  var roles: UInt64 = 0
  var urgency: UInt8 = 0
  /// Bands in which an activation is on its way.
  var sent: Set<UInt8> = []

  var halted: Bool { suspended || inactive }
  var owned: Bool { owner != 0 }
  var readersPending: Bool { barrierPending || roomPending }

  init() {}

  init(_ state: LaneState) {
    owner = state.owner
    readers = state.readers
    enqueued = state.has(LaneState.enqueued)
    dirty = state.has(LaneState.dirty)
    barrierPending = state.has(LaneState.barrierPending)
    roomPending = state.has(LaneState.roomPending)
    suspended = state.has(LaneState.suspended)
    inactive = state.has(LaneState.inactive)
    roles = state.rawValue & LaneState.roles
    urgency = state.urgency
    sent = Set((0..<UInt8(Band.count)).filter { state.has(LaneState.sent(Band(rank: $0))) })
  }

  var word: LaneState {
    var word = UInt64(owner) | UInt64(readers) * LaneState.readerOne | roles | UInt64(urgency) * LaneState.urgencyOne
    for (flag, bit) in [
      (enqueued, LaneState.enqueued), (dirty, LaneState.dirty), (barrierPending, LaneState.barrierPending),
      (suspended, LaneState.suspended), (inactive, LaneState.inactive), (roomPending, LaneState.roomPending),
    ] where flag { word |= bit }
    for rank in sent { word |= 1 << (56 + UInt64(rank)) }
    return LaneState(rawValue: word)
  }

  mutating func raise(_ urgency: UInt8) { self.urgency = max(self.urgency, urgency) }

  /// No thread works on the lane or waits for it.
  var idle: Bool {
    !owned && readers == 0 && !enqueued && !dirty && !readersPending && !halted && urgency == 0
  }

  mutating func send() -> LaneState.Call {
    enqueued = true
    let band = urgency == 0 ? Band.normal : Band(rank: 6 - urgency)
    return sent.insert(band.rank).inserted ? .push(band) : .adopt
  }

  /// Every combination of flags, with small and with the largest numbers, and some of what may be on its way.
  static let all: [LaneFields] = {
    var all: [LaneFields] = []
    for flags in 0..<64 {
      for owner: UInt32 in [0, 5, (1 << 22) - 1] {
        for readers in [0, 1, 2, (1 << 22) - 1] {
          for roles in [0, LaneState.roles] {
            for urgency: UInt8 in [0, 1, 6] {
              var fields = LaneFields()
              (fields.owner, fields.readers, fields.roles, fields.urgency) = (owner, readers, roles, urgency)
              fields.enqueued = flags & 1 != 0
              fields.dirty = flags & 2 != 0
              fields.barrierPending = flags & 4 != 0
              fields.suspended = flags & 8 != 0
              fields.inactive = flags & 16 != 0
              fields.roomPending = flags & 32 != 0
              for sent: Set<UInt8> in [[], [0], [2], [5], [0, 1, 2, 3, 4, 5]] {
                fields.sent = sent
                all.append(fields)
              }
            }
          }
        }
      }
    }
    return all
  }()
}
