// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

@Suite("A timer wheel")
struct TimerWheelTests {
  /// Entries with their numbers as `word`, in stable memory.
  private final class Entries {
    let base: TimerEntry.Pointer
    let count: Int
    init(_ count: Int) {
      self.count = count
      base = .allocate(capacity: count)
      for index in 0..<count { (base + index).initialize(to: TimerEntry(deadline: 0, word: UInt64(index))) }
    }
    deinit {
      base.deinitialize(count: count)
      base.deallocate()
    }
    subscript(index: Int) -> TimerEntry.Pointer { base + index }
    func set(_ index: Int, _ deadline: UInt64, _ leeway: UInt64 = 0) -> TimerEntry.Pointer {
      base[index].schedule(deadline, leeway: leeway)
      return base + index
    }
  }

  private func fired(_ wheel: borrowing TimerWheel, at now: UInt64) -> [Int] {
    var numbers: [Int] = []
    var due = wheel.advance(to: now)
    while let entry = due.popFirst() { numbers.append(Int(entry.pointee.word)) }
    return numbers
  }

  private func firedInSteps(_ wheel: borrowing TimerWheel, at now: UInt64, limit: Int) -> [Int] {
    var due = TimerChain()
    while !wheel.advance(to: now, limit: limit, into: &due) {}
    due.sort()
    var numbers: [Int] = []
    while let entry = due.popFirst() { numbers.append(Int(entry.pointee.word)) }
    return numbers
  }

  @Test(
    "fires at the nanosecond of the deadline, not one before", arguments: [1, 70_000, 5_000_000, 3_600_000_000_000])
  func exact(delay: UInt64) {
    let entries = Entries(1)
    let start: UInt64 = 123_456_789_012
    let wheel = TimerWheel(now: start)
    wheel.insert(entries.set(0, start + delay))
    #expect(wheel.nextDeadline == start + delay)
    #expect(fired(wheel, at: start + delay - 1) == [])
    #expect(wheel.nextDeadline == start + delay)
    #expect(fired(wheel, at: start + delay) == [0])
    #expect(wheel.nextDeadline == nil)
    #expect(wheel.isEmpty == true)
  }

  @Test("fires in order of deadlines, equal ones in order of their start")
  func order() {
    let entries = Entries(6)
    let wheel = TimerWheel(now: 0)
    for (index, deadline) in [50, 10, 3_000_000, 10, 700_000_000, 49].enumerated() {
      wheel.insert(entries.set(index, UInt64(deadline)))
    }
    #expect(fired(wheel, at: 1_000_000_000) == [1, 3, 5, 0, 2, 4])
  }

  @Test("serves timers whose leeway overlaps together")
  func leeway() {
    let entries = Entries(2)
    let wheel = TimerWheel(now: 0)
    wheel.insert(entries.set(0, 1_000_000, 200_000))
    wheel.insert(entries.set(1, 1_030_000, 150_000))
    let instant = wheel.nextDeadline!
    #expect((1_030_000...1_180_000).contains(instant))
    #expect(Set(fired(wheel, at: instant)) == [0, 1])
  }

  @Test("fires what had passed when it was started at the next opportunity")
  func overdue() {
    let entries = Entries(2)
    let wheel = TimerWheel(now: 1_000)
    wheel.insert(entries.set(0, 10))
    wheel.insert(entries.set(1, 1_000))
    #expect(wheel.nextDeadline == 10)
    #expect(fired(wheel, at: 1_000) == [0, 1])
  }

  @Test("takes timers again that it has just handed out, and knows the others no more")
  func restarted() {
    let entries = Entries(3)
    let wheel = TimerWheel(now: 0)
    for index in 0..<2 { wheel.insert(entries.set(index, 100)) }
    var due = wheel.advance(to: 100)
    #expect(wheel.isEmpty == true)
    #expect(due.popFirst() == entries[0])
    wheel.insert(entries.set(2, 50))
    wheel.insert(entries.set(0, 60))
    #expect(entries[1].pointee.isPending == false)
    #expect(due.popFirst() == entries[1])
    #expect(due.popFirst() == nil)
    #expect(fired(wheel, at: 100) == [2, 0])
  }

  @Test("knows a removed timer no more")
  func remove() {
    let entries = Entries(2)
    let wheel = TimerWheel(now: 0)
    wheel.insert(entries.set(0, 100_000))
    wheel.insert(entries.set(1, 100_001))
    wheel.remove(entries[0])
    #expect(entries[0].pointee.isPending == false)
    #expect(wheel.nextDeadline == 100_001)
    wheel.remove(entries[1])
    #expect(wheel.nextDeadline == nil)
    #expect(fired(wheel, at: .max) == [])
  }

  @Test("keeps timers apart that are as far as the clock goes")
  func farthest() {
    let entries = Entries(2)
    let wheel = TimerWheel(now: 0)
    wheel.insert(entries.set(0, .max))
    wheel.insert(entries.set(1, .max - 1, 1_000))
    #expect(fired(wheel, at: .max - 2) == [])
    #expect(fired(wheel, at: .max) == [1, 0])
  }

  /// A wheel, beside the simplest implementation that could work.
  private func run(seed: UInt64, live: Int, steps: Int, reach: Int = 48, leeways: Bool, backwards: Bool) {
    var random = SeededRandom(seed: seed)
    let entries = Entries(live)
    var pending: Set<Int> = []
    var now = random.next() >> UInt64(10 + random.below(40))
    let wheel = TimerWheel(now: now)
    for _ in 0..<steps {
      let index = random.below(live)
      switch random.below(10) {
      case 0..<6:
        if pending.remove(index) != nil {
          wheel.remove(entries[index])
        } else {
          let delay = random.next() >> UInt64(64 - reach + random.below(reach))
          let leeway = leeways ? random.next() >> UInt64(68 - reach + random.below(reach - 4)) : 0
          let early = random.oneIn(20) ? min(now, delay) : 0
          wheel.insert(entries.set(index, early > 0 ? now - early : now + delay, leeway))
          pending.insert(index)
        }
      case 6 where backwards:
        now -= min(now, random.next() >> UInt64(20 + random.below(40)))
      case 7:
        now = wheel.nextDeadline.map { max(now, $0) } ?? now
      default:
        now += random.next() >> UInt64(66 - reach + random.below(reach - 2))
      }
      let numbers = random.oneIn(2) ? fired(wheel, at: now) : firedInSteps(wheel, at: now, limit: 1 + random.below(5))
      for number in numbers {
        #expect(pending.remove(number) != nil)
        #expect(entries[number].pointee.deadline <= now, "early")
      }
      if !leeways && !backwards {
        let deadlines = numbers.map { entries[$0].pointee.deadline }
        #expect(deadlines == deadlines.sorted())
      }
      let soonest = pending.map { entries[$0].pointee.instant }.min()
      if live <= 64 {
        #expect(wheel.nextDeadline == soonest)
      } else {
        #expect(wheel.nextDeadline ?? .max <= soonest ?? .max)
      }
      #expect(soonest ?? .max > now, "late")
      #expect(wheel.count == pending.count)
      #if DEBUG
        if let broken = wheel.brokenInvariant() { Issue.record("\(broken)") }
      #endif
    }
  }

  @Test("does what a plain set of timers does", arguments: [8, 64, 300], [false, true])
  func model(live: Int, leeways: Bool) {
    let seed = Stress.seed("timer wheel of \(live), leeway \(leeways)")
    run(seed: seed, live: live, steps: 6_000, leeways: leeways, backwards: false)
  }

  @Test("does so with timers as dense as a busy server's", arguments: [22, 26, 30], [false, true])
  func dense(reach: Int, leeways: Bool) {
    let seed = Stress.seed("timer wheel, \(reach) bits, leeway \(leeways)")
    run(seed: seed, live: 64, steps: 6_000, reach: reach, leeways: leeways, backwards: false)
  }

  @Test("does so on a clock that steps back")
  func backwards() {
    run(seed: Stress.seed("timer wheel, clock steps back"), live: 50, steps: 6_000, leeways: true, backwards: true)
  }

  @Test("wakes nobody twice for one timer that was stopped in a long list")
  func staleBound() {
    let entries = Entries(200)
    let wheel = TimerWheel(now: 0)
    for index in 0..<200 { wheel.insert(entries.set(index, 1_000_000_000 + UInt64(index) * 1_000)) }
    wheel.remove(entries[0])
    let stale = wheel.nextDeadline!
    #expect(stale <= 1_000_001_000)
    #expect(fired(wheel, at: stale) == (stale == 1_000_001_000 ? [1] : []))
    #expect(wheel.nextDeadline! > stale)
  }

  @Test("a step looks at no more entries than it may, and between steps the wheel can be used", arguments: [1, 7, 64])
  func steps(limit: Int) {
    let entries = Entries(3_000)
    let wheel = TimerWheel(now: 0)
    // Three lists of level 1 and what had passed before; a third of all is due at half a list's time.
    for index in 0..<2_000 { wheel.insert(entries.set(index, 4_194_304 + UInt64(index) * 6_000)) }
    let now: UInt64 = 4_194_304 + 6_000 * 700
    var pending = Set(0..<2_000)
    var due = TimerChain()
    var steps = 0
    var (next, stopped) = (2_000, Set<Int>())
    var isDone = false
    while !isDone {
      let before = due.count
      isDone = wheel.advance(to: now, limit: limit, into: &due)
      #expect(due.count - before <= limit)
      steps += 1
      #if DEBUG
        if steps % 16 == 0, let broken = wheel.brokenInvariant() { Issue.record("\(broken) after step \(steps)") }
      #endif
      #expect(wheel.nextDeadline != nil)
      // Timers come and go meanwhile.
      if steps % 3 == 0, next < 3_000 {
        wheel.insert(entries.set(next, now + UInt64(next)))
        pending.insert(next)
        next += 1
      }
      if steps % 5 == 0, let victim = pending.first, entries[victim].pointee.isPending {
        wheel.remove(entries[victim])
        pending.remove(victim)
        stopped.insert(victim)
      }
    }
    #expect(steps >= 700 / limit)
    due.sort()
    var fired: [Int] = []
    while let entry = due.popFirst() { fired.append(Int(entry.pointee.word)) }
    #expect(fired == fired.sorted(), "in order of deadlines")
    #expect(Set(fired) == Set(0...700).subtracting(stopped), "each once that was due and was not stopped")
    #expect(wheel.count == pending.count - fired.count)
    #if DEBUG
      if let broken = wheel.brokenInvariant() { Issue.record("\(broken)") }
    #endif
    let rest = self.fired(wheel, at: .max)
    #expect(Set(rest) == pending.subtracting(fired))
  }
}
