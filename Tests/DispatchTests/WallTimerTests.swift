// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Testing

@testable import GrandCentral

@Suite("A deadline of the wall clock")
struct WallTimerTests {
  @Test("T2: is kept by the wall clock, and never early")
  func keptByTheWallClock() {
    let (fired, when) = (Latch(), Guarded<UInt64>(0))
    let due = Clock.wall.now() + 30_000_000
    let time = timespec(tv_sec: Int(due / 1_000_000_000), tv_nsec: Int(due % 1_000_000_000))
    DispatchQueue.global().asyncAfter(wallDeadline: DispatchWallTime(timespec: time)) {
      when.with { $0 = Clock.wall.now() }
      fired.open()
    }
    #expect(fired.wait())
    #expect(when.with { $0 } >= due)
  }

  @Test("T2: far away leaves nearer ones of the other clock alone, and can be cancelled")
  func farAway() {
    let (fired, weakling) = (Latch(), Latch())
    let item = DispatchWorkItem { weakling.open() }
    DispatchQueue.global().asyncAfter(wallDeadline: .now() + .seconds(3_600), execute: item)
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(10)) { fired.open() }
    #expect(fired.wait())
    item.cancel()
    #expect(!weakling.isOpen)
  }

  @Test("T2: is armed with the kernel though the poller would wake up before it anyway")
  func armedBesideNearerOnes() {
    let result = Probe.run("idle-clocks")
    #expect(result.ended, "\(result)")
  }

  @Test("T2: is armed with the kernel so that a step of the clock ends the wait")
  func armedAgainstSteps() {
    // The kernel tells a timer of the wall clock about steps if it is armed with cancel-on-set. Without the right to set the clock
    // a test can see two things: the kernel accepts that flag, and an armed timer is quiet without a step.
    guard let timer = TimerFD(clock: .wall) else {
      Issue.record("no descriptor")
      return
    }
    #expect(timer.arm(at: Clock.wall.now() + 3_600_000_000_000) == nil)
    #expect(timer.acknowledge() == .nothing)
  }
}
