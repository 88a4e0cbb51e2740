// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("Short lives under stress", .serialized)
struct QueueLifetimeStress {
  @Test("O1, O3, Q7: queues that are let go with work pending run it all, and everything is released")
  func queuesComeAndGo() {
    let seed = Stress.seed("queues come and go")
    let deadline = Stress.deadline()
    var random = SeededRandom(seed: seed)
    repeat {
      let (ran, buried, expected) = (Counter(), Counter(), Counter())
      let seeds = (0..<3).map { _ in random.next() }
      PlainThread.concurrently(3) { thread in
        var random = SeededRandom(seed: seeds[thread])
        var last: DispatchQueue?
        for _ in 0..<100 {
          let queue = DispatchQueue(
            label: "brief", attributes: random.oneIn(2) ? .concurrent : [], target: random.oneIn(2) ? last : nil)
          for _ in 0..<random.below(4) {
            expected.add()
            let tombstone = Tombstone { buried.add() }
            let item: @Sendable () -> Void = {
              tombstone.visit()
              ran.add()
            }
            switch random.below(5) {
            case 0: queue.sync(execute: item)
            case 1: queue.async(flags: .barrier, execute: item)
            case 2: queue.asyncAfter(deadline: .now() + .microseconds(random.below(2_000)), execute: item)
            default: queue.async(execute: item)
            }
          }
          last = random.oneIn(5) ? nil : queue
        }
      }
      let all = eventually { ran.value == expected.value && buried.value == expected.value }
      #expect(all, "seed \(seed): \(ran.value) ran and \(buried.value) were released of \(expected.value)")
      if !all { return }
    } while Stress.runs(until: deadline)
  }

  /// Only an optimised build could show what this is about: where a client's copy of the value is retained.
  @Test("Q14: a value that is read while another thread replaces it stays whole")
  func valuesAreReplaced() {
    final class Value: Sendable { let (first, second) = (17, 4) }
    let key = DispatchSpecificKey<Value>()
    let queue = DispatchQueue(label: "values")
    queue.setSpecific(key: key, value: Value())
    let (deadline, broken) = (Stress.deadline(), Counter())
    PlainThread.concurrently(4) { thread in
      repeat {
        for _ in 0..<1_000 {
          let read =
            switch thread {
            case 0: queue.sync { DispatchQueue.getSpecific(key: key) }
            case 1, 2: queue.getSpecific(key: key)
            default: Value()
            }
          if let read, read.first != 17 || read.second != 4 { broken.add() }
          if thread == 3 { queue.setSpecific(key: key, value: read) }
        }
      } while Stress.runs(until: deadline)
    }
    #expect(broken.value == 0)
  }

  @Test("Q17, W1: random timers run once or are cancelled, never early, and release everything")
  func randomTimers() {
    let seed = Stress.seed("random timers")
    let deadline = Stress.deadline()
    var random = SeededRandom(seed: seed)
    repeat {
      let (early, twice, lost, buried) = (Counter(), Counter(), Counter(), Latch(600))
      let seeds = (0..<3).map { _ in random.next() }
      PlainThread.concurrently(3) { thread in
        var random = SeededRandom(seed: seeds[thread])
        let queue = DispatchQueue(label: "timers")
        var items: [(item: DispatchWorkItem, runs: Counter)] = []
        for _ in 0..<200 {
          let (runs, tombstone) = (Counter(), Tombstone(buried))
          let due = DispatchTime.now() + .microseconds(random.below(4_000))
          let item = DispatchWorkItem {
            tombstone.visit()
            if DispatchTime.now() < due { early.add() }
            if runs.add() > 1 { twice.add() }
          }
          (random.oneIn(2) ? queue : .global()).asyncAfter(deadline: due, execute: item)
          items.append((item, runs))
          if random.oneIn(2) { items[random.below(items.count)].item.cancel() }
        }
        for (item, runs) in items where !item.isCancelled {
          if item.wait(timeout: .now() + Patience.seconds) == .timedOut || runs.value != 1 { lost.add() }
        }
      }
      #expect(buried.wait(), "seed \(seed): not every closure was released")
      #expect(early.value == 0, "seed \(seed)")
      #expect(twice.value == 0, "seed \(seed)")
      #expect(lost.value == 0, "seed \(seed)")
      if !buried.isOpen { return }
    } while Stress.runs(until: deadline)
  }
}
