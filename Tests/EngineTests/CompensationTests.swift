// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GrandCentral

/// Ticks of a millisecond on a machine with two processors.
@Suite("How many workers the monitor adds")
struct CompensationTests {
  private struct World {
    var compensation = Compensation()
    var blocked = 0
    var active = 2

    /// One tick of the monitor. The workers that it asks for are there at the next tick.
    /// `granted`: the processor time that the active workers have had; 0 for none.
    mutating func tick(
      stalled: Int = 0, ended: Int = 0, granted: UInt64 = 1_000_000, elapsed: UInt64 = 1_000_000
    ) -> Int? {
      blocked += stalled
      active -= stalled
      let pool = PoolState(
        rawValue: UInt64(blocked + active) * PoolState.liveOne + UInt64(blocked) * PoolState.blockedOne)
      let findings = Compensation.Findings(
        stalled: stalled, working: granted > 0 ? active : 0, ended: ended, hasStarted: ended > 0, granted: granted)
      let wanted = compensation.wanted(pool, parallelism: 2, findings, elapsed: elapsed)
      active = max(active, wanted ?? 0)
      return wanted
    }
  }

  @Test("E2: bursts double while everything that is added blocks")
  func doubles() {
    var world = World()
    #expect(world.tick() == 2)
    #expect(world.tick(stalled: 2) == 2 + 4)
    // This is a convoy by now. No wait has ended since, because the jobs wait for pending work.
    var added: [Int] = []
    for _ in 0..<8 {
      if let wanted = world.tick(stalled: world.active) { added.append(wanted - 2) }
    }
    #expect(added.max() == Compensation.largestBurst)
    #expect(world.blocked > 128)
  }

  @Test("E2: a convoy that lets its members through one by one does not grow")
  func convoy() {
    var world = World()
    world.blocked = 9
    world.active = 1
    for _ in 0..<1000 {
      // Five waits end at each tick, however many workers wait.
      _ = world.tick(ended: 5)
      // The workers that were added wait as well.
      world.blocked += world.active - 1
      world.active = 1
    }
    #expect(world.blocked < 64, "\(world.blocked)")
  }

  @Test("E2: a convoy does not grow while its holder has no processor")
  func busyMachine() {
    var world = World()
    world.blocked = 9
    world.active = 1
    _ = world.tick(ended: 5)
    _ = world.tick(ended: 5)
    // Now and then the holder and the added workers get no processor for half a second.
    for _ in 0..<500 {
      _ = world.tick(granted: 0)
      world.blocked += world.active - 1
      world.active = 1
    }
    #expect(world.blocked < 9 + 10, "\(world.blocked)")
    // The holder has a processor of its own and does not end either: then the convoy may wait for pending work.
    for _ in 0..<100 {
      _ = world.tick()
      world.blocked += world.active - 1
      world.active = 1
    }
    #expect(world.blocked > 64, "\(world.blocked)")
  }

  @Test("E2: a convoy whose members wait for things of their own grows as far as that helps")
  func independent() {
    var world = World()
    world.blocked = 9
    world.active = 1
    var ticks = 0
    while world.blocked < 400, ticks < 5000 {
      // Each worker waits for fifty milliseconds.
      _ = world.tick(ended: world.blocked / 50 + (ticks % 50 < world.blocked % 50 ? 1 : 0))
      world.blocked += world.active - 1
      world.active = 1
      ticks += 1
    }
    #expect(ticks < 2500)
  }

  @Test(
    "E2: on a busy machine counts differ by chance, and no convoy grows by it", arguments: [1, 2, 3, 4] as [UInt64])
  func chance(seed: UInt64) {
    var world = World()
    world.blocked = 20
    world.active = 1
    var random = seed
    for _ in 0..<4000 {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      // A random number of waits ends, from none to sixty-three, whatever the convoy's size.
      _ = world.tick(ended: Int(random >> 58), elapsed: 5_000_000)
      world.blocked += world.active - 1
      world.active = 1
    }
    #expect(world.blocked < 120, "\(world.blocked)")
  }

  @Test("E2: beside a convoy the processors are used: a worker that goes on working is followed by the next one soon")
  func trials() {
    var world = World()
    world.blocked = 40
    var longest = 0
    for _ in 0..<10 {
      // One of the two workers blocks for long.
      world.blocked += 1
      world.active = 1
      var ticks = 1
      while ticks < 100, world.tick(ended: 1) == nil { ticks += 1 }
      longest = max(longest, ticks)
      // The new worker works for a while.
      for _ in 0..<4 { #expect(world.tick(ended: 1) == nil) }
    }
    #expect(longest <= 4)
  }

  @Test("E2: a standstill that ends while the convoy stays has to last longer the next time")
  func patience() {
    var world = World()
    world.blocked = 20
    world.active = 1
    // Waits that ended before the first look do not count.
    _ = world.tick()
    _ = world.tick(ended: 1)
    var waits: [Int] = []
    for _ in 0..<6 {
      var ticks = 1
      // Only a burst adds workers beyond the number of processors.
      world.active = 2
      while ticks < 1000, (world.tick(stalled: 1) ?? 0) < 3 {
        world.active = 2
        ticks += 1
      }
      waits.append(ticks)
      world.active = 1
      _ = world.tick(ended: 1)
    }
    #expect(waits == [16, 32, 64, 128, 256, 512])
  }

  @Test("E2: however long the patience, workers are added one by one when hardly anybody is left to work")
  func nobodyWorks() {
    var world = World()
    world.blocked = 20
    world.active = 1
    // Standstills that went on although workers were added.
    for _ in 0..<4 {
      _ = world.tick(ended: 1)
      for _ in 0..<200 {
        world.active = 1
        _ = world.tick()
      }
    }
    world.active = 1
    _ = world.tick(ended: 1)
    world.blocked += 1
    world.active = 0
    let ticks = (1...100).first { _ in
      let wanted = world.tick()
      world.active = 0
      return wanted == 1
    }
    #expect(ticks ?? .max <= 17)
  }

  @Test("E2: with the convoy it is forgotten")
  func forgets() {
    var world = World()
    world.blocked = 20
    for _ in 0..<10 { _ = world.tick() }
    world.blocked = 0
    world.active = 2
    #expect(world.tick(ended: 1) != nil)
    world.compensation.rest()
    #expect(world.tick() == 2)
    #expect(world.tick(stalled: 1) == 2 + 2)
  }
}
