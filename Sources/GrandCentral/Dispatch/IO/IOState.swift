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
//
// IOState.O1  Whoever sets `running` sends the step, and the step alone touches what is the step's. All that happens to
//     an operation – its turn, readiness, a result, the handler's return – is a bit and a kick: the step looks at
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

  @inline(__always)
  func has(_ bit: UInt64) -> Bool { rawValue & bit != 0 }

  /// Something has happened: whether the caller sends the step.
  mutating func kick(_ set: UInt64, clearing cleared: UInt64 = 0) -> Bool {
    rawValue = (rawValue & ~cleared) | set
    if has(Self.running) {
      rawValue |= Self.again
      return false
    }
    rawValue |= Self.running
    return true
  }

  /// The step looks: what there is, of which it takes what happens once.
  mutating func begin() -> IOState {
    let seen = self
    rawValue &= ~(Self.again | Self.landed | Self.ticked)
    return seen
  }

  /// The step has done what it could: whether it looks again at once.
  mutating func end() -> Bool {
    if has(Self.again) { return true }
    rawValue &= ~Self.running
    return false
  }
}
