// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// One operation's word.
//
//   | bit       | means                                                                        |
//   |-----------|------------------------------------------------------------------------------|
//   | running   | its step is on its way to a worker, or runs                                  |
//   | again     | something has happened since the step last looked                            |
//   | landed    | the request that was on its way has a result                                 |
//   | ticked    | the interval is over                                                         |
//   | cancelled | the channel was stopped                                                      |
//   | turn      | the file is the operation's: it may transfer                                 |
//   | out       | its handler is on its way, or runs                                           |
//   | mayEnd    | it ends without its turn, if it has been stopped (IOChannel.B5)              |
//   | behind    | its handler is called when an earlier operation's last call is on its way    |
//
// IOState.O1  The thread that sets `running` sends the step, and the step alone touches what is the step's. All that happens
//     to an operation – its turn, readiness, a result, the handler's return – is a bit and a kick: the step looks at
//     everything anew, so it does not matter in which order things came, or how often.
// IOState.O2  `out` is set by the step and cleared when the handler has returned. So handlers of one operation follow
//     each other, whatever the queue, and an operation has at most one delivery out and one in the making.
struct IOState: StateWord, Equatable {
  var rawValue: UInt64

  init(rawValue: UInt64) { self.rawValue = rawValue }

  static let running: UInt64 = 1 << 0
  static let again: UInt64 = 1 << 1
  static let landed: UInt64 = 1 << 2
  static let ticked: UInt64 = 1 << 3
  static let cancelled: UInt64 = 1 << 4
  static let turn: UInt64 = 1 << 5
  static let out: UInt64 = 1 << 6
  static let mayEnd: UInt64 = 1 << 7
  static let behind: UInt64 = 1 << 8

  @inline(__always)
  func has(_ bit: UInt64) -> Bool { rawValue & bit != 0 }

  enum Kick: Equatable {
    /// The step is on its way, or runs, and looks again.
    case noted
    /// The caller sends the step.
    case send
  }

  /// Something has happened.
  mutating func kick(_ set: UInt64, clearing cleared: UInt64 = 0) -> Kick {
    rawValue = (rawValue & ~cleared) | set
    if has(Self.running) {
      rawValue |= Self.again
      return .noted
    }
    rawValue |= Self.running
    return .send
  }

  /// Starts a step: returns the current state, and clears the flags of what happens once.
  mutating func begin() -> IOState {
    let seen = self
    rawValue &= ~(Self.again | Self.landed | Self.ticked)
    return seen
  }

  enum End: Equatable {
    /// Something has happened meanwhile: the step looks again at once.
    case again
    /// The step is over; the next kick sends another one.
    case done
  }

  /// The step has done what it could.
  mutating func end() -> End {
    if has(Self.again) { return .again }
    rawValue &= ~Self.running
    return .done
  }
}
