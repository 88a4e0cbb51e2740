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

@Suite("The processor's counter")
struct CyclesTests {
  @Test("its pace is known, so that a slice is a time on this machine")
  func pace() {
    // The pace is measured between two moments that are far enough apart.
    _ = Cycles.perMillisecond
    let start = GrandCentral.Clock.uptime.now()
    while GrandCentral.Clock.uptime.now() < start + 1_000_000 {}
    let perMillisecond = Double(Cycles.perMillisecond)
    let first = reading()
    while GrandCentral.Clock.uptime.now() < first.uptime + 20_000_000 {}
    let second = reading()
    let expected = perMillisecond * Double(second.uptime - first.uptime) / 1e6
    // The thread may lose its processor between two clocks: what it has counted lies between these.
    let least = Double(second.before - first.after)
    let most = Double(second.after - first.before)
    #expect(least * 0.95 <= expected && expected <= most * 1.05, "\(least)…\(most), expected \(expected)")
  }

  private func reading() -> (before: UInt64, uptime: UInt64, after: UInt64) {
    let before = Cycles.now
    let uptime = GrandCentral.Clock.uptime.now()
    return (before, uptime, Cycles.now)
  }

  @Test(
    "the pace of two moments is the counter's, whatever that is",
    arguments: [24_000, 1_000_000, 5_000_000] as [UInt64])
  func steps(perMillisecond: UInt64) {
    let second = (count: 7 + perMillisecond * 3, uptime: UInt64(5 + 3_000_000))
    #expect(Cycles.steps(from: (7, 5), to: second) == perMillisecond)
  }

  @Test("two moments that are too near to each other, or in the wrong order, say nothing")
  func tooNear() {
    #expect(Cycles.steps(from: (0, 0), to: (100_000, 50_000)) == nil)
    #expect(Cycles.steps(from: (100, 10), to: (50, 1_000_000)) == nil)
    #expect(Cycles.steps(from: (100, 1_000_000), to: (500, 10)) == nil)
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
