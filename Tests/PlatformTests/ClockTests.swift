// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import GrandCentral

@Suite("A clock")
struct ClockTests {
  @Test(
    "T1: reads what the kernel's does",
    arguments: [(GrandCentral.Clock.uptime, CLOCK_MONOTONIC), (.continuous, CLOCK_BOOTTIME), (.wall, CLOCK_REALTIME)])
  func reads(clock: GrandCentral.Clock, id: clockid_t) {
    let before = kernelTime(id)
    let now = clock.now()
    let after = kernelTime(id)
    #expect(before <= now && now <= after)
  }

  private func kernelTime(_ id: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(id, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

@Suite("A deadline")
struct DeadlineTests {
  static let clocks: [GrandCentral.Clock] = [.uptime, .continuous, .wall]

  @Test("T1: beyond the clock's end is never", arguments: clocks)
  func saturates(clock: GrandCentral.Clock) {
    #expect(Deadline.after(.max, on: clock).isNever)
    #expect(Deadline.after(.max - 1, on: clock).isNever)
    #expect(!Deadline.after(1 << 62, on: clock).isNever)
  }

  @Test("has passed once its clock shows it, and not before", arguments: clocks)
  func passes(clock: GrandCentral.Clock) {
    let now = clock.now()
    #expect(Deadline(clock: clock, nanoseconds: 0).hasPassed())
    #expect(Deadline(clock: clock, nanoseconds: now).hasPassed())
    let hour: UInt64 = 3_600_000_000_000
    let later = Deadline(clock: clock, nanoseconds: now + hour)
    #expect(!later.hasPassed())
    #expect(later.remaining() <= hour && later.remaining() > hour / 2)
    #expect(Deadline(clock: clock, nanoseconds: now).remaining() == 0)
  }

  @Test("that is never does not pass, on any clock", arguments: clocks)
  func never(clock: GrandCentral.Clock) {
    let never = Deadline(clock: clock, nanoseconds: .max)
    #expect(never == .never)
    #expect(never.isNever)
    #expect(!never.hasPassed())
    #expect(never.remaining() == .max)
  }

  @Test("equals another of the same clock and instant only")
  func equality() {
    #expect(Deadline(clock: .uptime, nanoseconds: 5) == Deadline(clock: .uptime, nanoseconds: 5))
    #expect(Deadline(clock: .uptime, nanoseconds: 5) != Deadline(clock: .uptime, nanoseconds: 6))
    #expect(Deadline(clock: .uptime, nanoseconds: 5) != Deadline(clock: .wall, nanoseconds: 5))
  }
}
