// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GrandCentral

/// The expected values are what the C interface of the platform's own library gives for the same arguments.
@Suite("A time in the C interface's encoding")
struct TimeCodeTests {
  private static let continuous: UInt64 = 1 << 63

  @Test(
    "T1: moves by nanoseconds, on each clock",
    arguments: [
      (5, -5, 1), (5, -4, 1), (1, 0, 1), (0x3fff_ffff_ffff_ffff, 0, .max), (0x4000_0000_0000_0000, 0, .max),
      (0x4000_0000_0000_0005, -10, .max), (0x7fff_ffff_ffff_ffff, 0, .max), (.max, -5, .max),
      (continuous + 5, -10, continuous + 1), (continuous + 5, 0, continuous + 5),
      (continuous + 5, 1000, continuous + 1005), (continuous + 5, .max, .max), (0xbfff_ffff_ffff_fffe, 1, .max),
      (0 &- 10, 5, 0 &- 15), (0 &- 10, -5, 0 &- 5), (0 &- 10, -8, 0 &- 2), (0 &- 10, -100, 0 &- 2),
      (0xc000_0000_0000_0000, 1, .max), (0xc000_0000_0000_0001, 0, .max),
      (0xc000_0000_0000_0001, -1, 0xc000_0000_0000_0002),
    ] as [(UInt64, Int64, UInt64)])
  func moves(base: UInt64, delta: Int64, expected: UInt64) {
    #expect(TimeCode(rawValue: base).advanced(by: delta).rawValue == expected)
  }

  @Test("T1: of now is the present instant of its clock", arguments: [-5, 0, 5] as [Int64])
  func now(delta: Int64) throws {
    let codes: [(TimeCode, GrandCentral.Clock)] = [
      (.now, .uptime), (.continuousNow, .continuous), (.wallNow, .wall),
    ]
    for (code, clock) in codes {
      let before = Int64(clock.now()) + delta
      let deadline = code.advanced(by: delta).deadline
      let after = Int64(clock.now()) + delta
      #expect(deadline.clock == clock)
      #expect((before...after).contains(Int64(deadline.nanoseconds)))
    }
    #expect(TimeCode.now.advanced(by: .min).rawValue == 1)
    #expect(TimeCode.now.advanced(by: .max) == .forever)
  }

  @Test("T1: decodes into the clock that it encodes")
  func deadlines() {
    #expect(TimeCode(rawValue: 5).deadline == Deadline(clock: .uptime, nanoseconds: 5))
    #expect(TimeCode(rawValue: Self.continuous | 5).deadline == Deadline(clock: .continuous, nanoseconds: 5))
    #expect(TimeCode(rawValue: 0 &- 5).deadline == Deadline(clock: .wall, nanoseconds: 5))
    #expect(TimeCode(rawValue: 1 << 62).deadline.isNever)
    #expect(TimeCode.forever.deadline.isNever)
    #expect(TimeCode.now.deadline.hasPassed())
    #expect(TimeCode.continuousNow.deadline.hasPassed())
    #expect(TimeCode.wallNow.deadline.hasPassed())
  }

  @Test(
    "T1: is made of a wall time's parts",
    arguments: [
      (0, 0, 0, .max), (0, 1, 0, .max), (-1, 0, 0, .max), (0, 1, -5, 0 &- 2), (1, 0, -2_000_000_000, 0 &- 2),
      (-1, 0, 3_000_000_000, 0xffff_ffff_88ca_6c00), (0, 3, 0, 0 &- 3), (.max, 0, 0, .max), (.max, 0, .min, .max),
      (.min, 0, -1, 0 &- 2),
    ] as [(Int64, Int64, Int64, UInt64)])
  func wall(seconds: Int64, nanoseconds: Int64, delta: Int64, expected: UInt64) {
    #expect(TimeCode.wall(seconds: seconds, nanoseconds: nanoseconds, delta: delta).rawValue == expected)
  }
}
