// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import GrandCentral

private let later: UInt64 = 2_000_000_000  // two seconds of uptime, a base that is not "now"
private let horizon: UInt64 = 4_611_686_018_427_387_902  // 2^62 - 2, the last instant before the distant future

@Suite("DispatchTime")
struct DispatchTimeTests {
  private func time(_ nanoseconds: UInt64) -> DispatchTime { DispatchTime(uptimeNanoseconds: nanoseconds) }

  @Test("T1: now is the kernel's monotonic clock")
  func now() {
    var kernel = timespec()
    clock_gettime(CLOCK_MONOTONIC, &kernel)
    let before = UInt64(kernel.tv_sec) * 1_000_000_000 + UInt64(kernel.tv_nsec)
    let now = DispatchTime.now()
    clock_gettime(CLOCK_MONOTONIC, &kernel)
    let after = UInt64(kernel.tv_sec) * 1_000_000_000 + UInt64(kernel.tv_nsec)
    #expect(before <= now.rawValue && now.rawValue <= after)
    #expect(now.uptimeNanoseconds == now.rawValue)
    #expect(now < .distantFuture)
  }

  @Test("T1: encodes nanoseconds as they are, and the distant future as all ones")
  func encoding() {
    #expect(time(5).rawValue == 5)
    #expect(time(5).uptimeNanoseconds == 5)
    #expect(DispatchTime.distantFuture.rawValue == .max)
    #expect(time(.max) == .distantFuture)
    #expect(time(horizon) != .distantFuture)
  }

  @Test(
    "T1: a count beyond the horizon is kept, and is the distant future in arithmetic",
    arguments: [1 << 62, 1 << 63, .max - 1])
  func beyondTheHorizon(count: UInt64) {
    #expect(time(count).rawValue == count)
    #expect(time(count).uptimeNanoseconds == count)
    #expect(time(horizon) < time(count))
    #expect(time(count) < .distantFuture)
    #expect(time(count) - .seconds(1) == .distantFuture)
    #expect(time(count) + 1.5 == .distantFuture)
    #expect(time(count).distance(to: .distantFuture) == .never)
    #expect(time(count - 5).distance(to: time(count)) == .nanoseconds(5))
    #expect(time(count).distance(to: time(1)) == .nanoseconds(-Int(clamping: count - 1)))
    // As a deadline it does not come: a wait that could time out would fail.
    let semaphore = DispatchSemaphore(value: 0)
    DispatchQueue.global().async { semaphore.signal() }
    #expect(semaphore.wait(timeout: time(count)) == .success)
  }

  @Test(
    "T3: moves by an interval",
    arguments: [
      (.seconds(1), 3_000_000_000, 1_000_000_000), (.milliseconds(-5), 1_995_000_000, 2_005_000_000),
      (.microseconds(1), 2_000_001_000, 1_999_999_000), (.nanoseconds(1), 2_000_000_001, 1_999_999_999),
      (.nanoseconds(0), 2_000_000_000, 2_000_000_000), (.seconds(2), 4_000_000_000, 1),
      (.seconds(.max), .max, 1), (.seconds(.min), 1, .max), (.milliseconds(.max), .max, 1),
      (.microseconds(.min), 1, .max), (.nanoseconds(.max), .max, 1), (.nanoseconds(.min), 1, .max), (.never, .max, 1),
    ] as [(DispatchTimeInterval, UInt64, UInt64)])
  func intervals(interval: DispatchTimeInterval, sum: UInt64, difference: UInt64) {
    #expect((time(later) + interval).rawValue == sum)
    #expect((time(later) - interval).rawValue == difference)
    #expect(time(later).advanced(by: interval).rawValue == sum)
  }

  @Test(
    "T3: moves by seconds as a Double, cut to the nanosecond",
    arguments: [
      (0.5, 2_500_000_000, 1_500_000_000), (1e-10, 2_000_000_000, 2_000_000_000), (-1.0, 1_000_000_000, 3_000_000_000),
      (1.999_999_999_9, 3_999_999_999, 1), (1e30, .max, 1), (-1e30, 1, .max), (9_223_372_037, .max, 1),
      (.infinity, .max, 1), (-.infinity, 1, .max), (.nan, .max, .max), (.greatestFiniteMagnitude, .max, 1),
      (.leastNonzeroMagnitude, 2_000_000_000, 2_000_000_000), (0, 2_000_000_000, 2_000_000_000),
    ] as [(Double, UInt64, UInt64)])
  func seconds(seconds: Double, sum: UInt64, difference: UInt64) {
    #expect((time(later) + seconds).rawValue == sum)
    #expect((time(later) - seconds).rawValue == difference)
  }

  @Test("T1: saturates at the horizon, 2^62 nanoseconds")
  func saturation() {
    #expect((time(horizon - 1) + .nanoseconds(1)).rawValue == horizon)
    #expect(time(horizon) + .nanoseconds(1) == .distantFuture)
    #expect((time(horizon) - .nanoseconds(1)).rawValue == horizon - 1)
    #expect(time(horizon) - .seconds(.min) == .distantFuture)
    #expect((time(5) - .nanoseconds(4)).rawValue == 1)
    #expect((time(5) - .nanoseconds(5)).rawValue == 1)
  }

  @Test(
    "T1: in the distant future stays there",
    arguments: [.seconds(1), .seconds(-1), .seconds(.min), .nanoseconds(.min), .nanoseconds(0), .never]
      as [DispatchTimeInterval])
  func distantFuture(interval: DispatchTimeInterval) {
    #expect(DispatchTime.distantFuture + interval == .distantFuture)
    #expect(DispatchTime.distantFuture - interval == .distantFuture)
    #expect(DispatchTime.distantFuture + -1e30 == .distantFuture)
    #expect(DispatchTime.distantFuture - 1e30 == .distantFuture)
  }

  @Test("T1: 0 stands for now in arithmetic")
  func zero() {
    let before = DispatchTime.now() + .seconds(1)
    let sum = time(0) + .seconds(1)
    let after = DispatchTime.now() + .seconds(1)
    #expect(before <= sum && sum <= after)
  }

  @Test("T3: measures distances")
  func distance() {
    #expect(time(5).distance(to: time(12)) == .nanoseconds(7))
    #expect(time(12).distance(to: time(5)) == .nanoseconds(-7))
    #expect(time(5).distance(to: time(5)) == .nanoseconds(0))
    #expect(time(5).distance(to: .distantFuture) == .never)
    #expect(DispatchTime.distantFuture.distance(to: .distantFuture) == .nanoseconds(0))
    #expect(DispatchTime.distantFuture.distance(to: time(5)) == .nanoseconds(.min))
    #expect(time(later).distance(to: time(5_000_000_000)) == .seconds(3))
  }

  @Test("T3: advanced by a distance is where the distance leads to")
  func roundTrip() {
    let times = [time(1), time(later), time(horizon), .distantFuture]
    for start in times.dropLast() {
      for end in times { #expect(start.advanced(by: start.distance(to: end)) == end) }
    }
  }

  @Test("T3: is ordered, the distant future last")
  func order() {
    #expect(time(1) < time(2))
    #expect(!(time(2) < time(2)))
    #expect(time(horizon) < .distantFuture)
    #expect(time(2) >= time(2))
    #expect([.distantFuture, time(3), time(1)].sorted() == [time(1), time(3), .distantFuture])
    #expect(Set([time(1), time(1), .distantFuture]).count == 2)
  }

  @Test("T1: tells the engine its deadline")
  func deadline() {
    #expect(time(7).deadline == Deadline(clock: .uptime, nanoseconds: 7))
    #expect(DispatchTime.distantFuture.deadline.isNever)
    #expect(time(0).deadline.hasPassed())
    #expect(!(DispatchTime.now() + .seconds(3600)).deadline.hasPassed())
  }
}

@Suite("DispatchWallTime")
struct DispatchWallTimeTests {
  private func wall(_ seconds: Int, _ nanoseconds: Int = 0) -> DispatchWallTime {
    DispatchWallTime(timespec: timespec(tv_sec: seconds, tv_nsec: nanoseconds))
  }

  /// The encoding of an instant: the negated number of nanoseconds.
  private func code(_ nanoseconds: Int64) -> UInt64 { UInt64(bitPattern: -nanoseconds) }

  @Test("T1: now is the kernel's real-time clock")
  func now() {
    var kernel = timespec()
    clock_gettime(CLOCK_REALTIME, &kernel)
    let before = DispatchWallTime(timespec: kernel)
    let now = DispatchWallTime.now()
    clock_gettime(CLOCK_REALTIME, &kernel)
    #expect(before <= now && now <= DispatchWallTime(timespec: kernel))
  }

  @Test("T1: encodes the negated number of nanoseconds since 1970")
  func encoding() {
    #expect(wall(1_700_000_000, 5).rawValue == 0xe868_6301_c9d5_fffb)
    #expect(wall(0, 3).rawValue == 0xffff_ffff_ffff_fffd)
    #expect(wall(1, 2_000_000_000).rawValue == code(3_000_000_000))
    #expect(wall(1, -5).rawValue == code(999_999_995))
    #expect(DispatchWallTime.distantFuture.rawValue == .max)
  }

  @Test("T1: saturates: at the beginning of 1970, and 146 years later")
  func saturation() {
    #expect(wall(0).rawValue == code(2))
    #expect(wall(-5).rawValue == code(2))
    #expect(wall(.min).rawValue == code(2))
    #expect(wall(.min, .min).rawValue == code(2))
    #expect(wall(4_611_686_018).rawValue == 0xc000_0000_1979_6c00)
    #expect(wall(4_611_686_019) == .distantFuture)
    #expect(wall(.max) == .distantFuture)
    #expect(wall(.max, .max) == .distantFuture)
    #expect(wall(4_611_686_018) + .seconds(1) == .distantFuture)
    #expect((wall(5) - .seconds(6)).rawValue == code(2))
  }

  @Test("T3: the beginning of 1970 is an instant like others, though C has its bits for the present one")
  func beginning() {
    #expect(wall(0) + .seconds(1) == wall(1, 2))
    #expect(wall(0) + 1.5 == wall(1, 500_000_002))
    #expect(wall(5) - .seconds(6) + .seconds(7) == wall(7, 2))
    #expect(wall(0).advanced(by: .nanoseconds(0)) == wall(0))
    #expect(wall(0) - 1.0 == wall(0))
    #expect(wall(0) + Double.nan == .distantFuture)
  }

  @Test(
    "T3: moves by an interval",
    arguments: [
      (.seconds(1), 0xe868_6301_8e3b_35fb, 0xe868_6302_0570_c9fb),
      (.milliseconds(-5), 0xe868_6301_ca22_4b3b, 0xe868_6301_c989_b4bb),
      (.microseconds(1), 0xe868_6301_c9d5_fc13, 0xe868_6301_c9d6_03e3),
      (.seconds(.max), 0xffff_ffff_ffff_ffff, 0xffff_ffff_ffff_fffe),
      (.seconds(.min), 0xffff_ffff_ffff_fffe, 0xffff_ffff_ffff_ffff),
      (.nanoseconds(.min), 0xffff_ffff_ffff_fffe, 0xffff_ffff_ffff_ffff),
      (.never, 0xffff_ffff_ffff_ffff, 0xffff_ffff_ffff_fffe),
    ] as [(DispatchTimeInterval, UInt64, UInt64)])
  func intervals(interval: DispatchTimeInterval, sum: UInt64, difference: UInt64) {
    let base = wall(1_700_000_000, 5)
    #expect((base + interval).rawValue == sum)
    #expect((base - interval).rawValue == difference)
    #expect(base.advanced(by: interval).rawValue == sum)
  }

  @Test(
    "T3: moves by seconds as a Double",
    arguments: [
      (0.5, 0xe868_6301_ac08_9afb, 0xe868_6301_e7a3_64fb), (-1.0, 0xe868_6302_0570_c9fb, 0xe868_6301_8e3b_35fb),
      (1e30, 0xffff_ffff_ffff_ffff, 0xffff_ffff_ffff_fffe), (.infinity, 0xffff_ffff_ffff_ffff, 0xffff_ffff_ffff_fffe),
      (-.infinity, 0xffff_ffff_ffff_fffe, 0xffff_ffff_ffff_ffff),
      (.nan, 0xffff_ffff_ffff_ffff, 0xffff_ffff_ffff_ffff),
    ] as [(Double, UInt64, UInt64)])
  func seconds(seconds: Double, sum: UInt64, difference: UInt64) {
    let base = wall(1_700_000_000, 5)
    #expect((base + seconds).rawValue == sum)
    #expect((base - seconds).rawValue == difference)
  }

  @Test("T1: in the distant future stays there")
  func distantFuture() {
    let intervals: [DispatchTimeInterval] = [.seconds(-1), .seconds(.min), .nanoseconds(.max), .never]
    for interval in intervals {
      #expect(DispatchWallTime.distantFuture + interval == .distantFuture)
      #expect(DispatchWallTime.distantFuture - interval == .distantFuture)
    }
    #expect(DispatchWallTime.distantFuture - 1e30 == .distantFuture)
  }

  @Test("T3: is ordered by time, though its encoding is not")
  func order() {
    #expect(wall(1) < wall(2))
    #expect(!(wall(2) < wall(1)))
    #expect(!(wall(2) < wall(2)))
    #expect(wall(4_611_686_018) < .distantFuture)
    #expect(!(DispatchWallTime.distantFuture < wall(1)))
    #expect(!(DispatchWallTime.distantFuture < .distantFuture))
    #expect(Set([wall(1), wall(1), .distantFuture]).count == 2)
  }

  @Test("T3: measures distances")
  func distance() {
    #expect(wall(5).distance(to: wall(7)) == .seconds(2))
    #expect(wall(7).distance(to: wall(5)) == .seconds(-2))
    #expect(wall(7).distance(to: .distantFuture) == .never)
    #expect(DispatchWallTime.distantFuture.distance(to: wall(7)) == .nanoseconds(.min))
    #expect(wall(5).advanced(by: wall(5).distance(to: wall(7, 1))) == wall(7, 1))
  }

  @Test("T1: tells the engine its deadline")
  func deadline() {
    #expect(wall(7, 1).deadline == Deadline(clock: .wall, nanoseconds: 7_000_000_001))
    #expect(DispatchWallTime.distantFuture.deadline.isNever)
    #expect(wall(-5).deadline.hasPassed())
  }
}

@Suite("DispatchTimeInterval")
struct DispatchTimeIntervalTests {
  @Test("T3: equals another that lasts as long, whatever the unit")
  func equality() {
    let second: [DispatchTimeInterval] = [
      .seconds(1), .milliseconds(1_000), .microseconds(1_000_000), .nanoseconds(1_000_000_000),
    ]
    for a in second {
      for b in second {
        #expect(a == b)
        #expect(a.hashValue == b.hashValue)
      }
    }
    #expect(DispatchTimeInterval.seconds(1) != .milliseconds(1_001))
    #expect(DispatchTimeInterval.seconds(-1) == .milliseconds(-1_000))
    #expect(DispatchTimeInterval.seconds(1) != .seconds(-1))
    #expect(DispatchTimeInterval.seconds(0) == .nanoseconds(0))
    #expect(Set(second).count == 1)
  }

  @Test("T3: that is never equals only itself")
  func never() {
    #expect(DispatchTimeInterval.never == .never)
    #expect(DispatchTimeInterval.never != .nanoseconds(.max))
    #expect(DispatchTimeInterval.seconds(.max) != .never)
    #expect(Set([DispatchTimeInterval.never, .never, .nanoseconds(.max)]).count == 2)
  }

  @Test("T1: too long for nanoseconds is the longest, at both ends")
  func saturation() {
    #expect(DispatchTimeInterval.seconds(.max).clampedNanoseconds == .max)
    #expect(DispatchTimeInterval.seconds(.min).clampedNanoseconds == .min)
    #expect(DispatchTimeInterval.milliseconds(9_223_372_036_854).clampedNanoseconds == 9_223_372_036_854_000_000)
    #expect(DispatchTimeInterval.milliseconds(9_223_372_036_855).clampedNanoseconds == .max)
    #expect(DispatchTimeInterval.microseconds(-9_223_372_036_854_776).clampedNanoseconds == .min)
  }
}
