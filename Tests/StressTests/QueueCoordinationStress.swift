// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("Coordination under stress", .serialized)
struct QueueCoordinationStress {
  @Test("G1, G2: a group that is used by many at once lets nobody through early and loses no notification")
  func groups() {
    let seed = Stress.seed("groups")
    let deadline = Stress.deadline()
    var random = SeededRandom(seed: seed)
    let queues = [
      DispatchQueue(label: "serial"), DispatchQueue(label: "concurrent", attributes: .concurrent), .global(),
    ]
    repeat {
      let seeds = (0..<3).map { _ in random.next() }
      let (group, asked, notified, early) = (DispatchGroup(), Counter(), Counter(), Recorder<String>())
      PlainThread.concurrently(3) { thread in
        var random = SeededRandom(seed: seeds[thread])
        let mine = Counter()
        for step in 1...100 {
          let queue = queues[random.below(queues.count)]
          queue.async(group: group) {
            group.enter()
            DispatchQueue.global().async {
              mine.add()
              group.leave()
            }
          }
          switch random.below(4) {
          case 0:
            group.wait()
            if mine.value != step { early.note("wait") }
          case 1:
            if group.wait(timeout: .now() + .microseconds(random.below(50))) == .success, mine.value != step {
              early.note("wait with timeout")
            }
          case 2:
            asked.add()
            group.notify(queue: queue) {
              if mine.value < step { early.note("notification") }
              notified.add()
            }
          default: break
          }
        }
      }
      group.wait()
      let all = eventually { notified.value == asked.value }
      #expect(all, "seed \(seed): \(notified.value) of \(asked.value) notifications")
      #expect(early.values == [], "seed \(seed)")
      if !all { return }
    } while Stress.runs(until: deadline)
  }

  @Test("G3: a semaphore with waits, timeouts and signals from everywhere keeps its count")
  func semaphores() {
    let seed = Stress.seed("semaphores")
    let deadline = Stress.deadline()
    var random = SeededRandom(seed: seed)
    repeat {
      let (permits, occupancy) = (1 + random.below(3), Occupancy())
      let semaphore = DispatchSemaphore(value: permits)
      let seeds = (0..<4).map { _ in random.next() }
      let fromItems = Latch(50)
      for _ in 0..<50 {
        DispatchQueue.global().async {
          semaphore.wait()
          occupancy.enter()
          occupancy.leave()
          semaphore.signal()
          fromItems.open()
        }
      }
      PlainThread.concurrently(4) { thread in
        var random = SeededRandom(seed: seeds[thread])
        for _ in 0..<300 {
          if random.oneIn(2) {
            semaphore.wait()
          } else if semaphore.wait(timeout: .now() + .microseconds(random.below(100))) == .timedOut {
            continue
          }
          occupancy.enter()
          occupancy.leave()
          semaphore.signal()
        }
      }
      #expect(fromItems.wait(), "seed \(seed)")
      #expect(occupancy.peak <= permits, "seed \(seed)")
      var left = 0
      while semaphore.wait(timeout: .now()) == .success { left += 1 }
      #expect(left == permits, "seed \(seed)")
      for _ in 0..<left { semaphore.signal() }
    } while Stress.runs(until: deadline)
  }

  @Test("Q16: random nests of concurrentPerform and sync give every index once")
  func nestedApply() {
    let seed = Stress.seed("nested apply")
    let deadline = Stress.deadline()
    var random = SeededRandom(seed: seed)
    let queues = [DispatchQueue(label: "serial"), DispatchQueue(label: "concurrent", attributes: .concurrent)]
    repeat {
      let (outer, inner, total) = (1 + random.below(40), random.below(40), Counter())
      let queue = queues[random.below(2)]
      DispatchQueue.concurrentPerform(iterations: outer) { index in
        if index % 3 == 0 { queue.async { total.add(0) } }
        DispatchQueue.concurrentPerform(iterations: inner) { _ in total.add() }
        queue.sync { _ = total.add() }
      }
      #expect(total.value == outer * inner + outer, "seed \(seed)")
    } while Stress.runs(until: deadline)
  }
}
