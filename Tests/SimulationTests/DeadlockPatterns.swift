// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting

extension Pattern {
  // MARK: What waits for ever

  static let deadlocks = [
    Pattern("two queues sync onto each other") { sim, repaired in
      let (a, b) = (DispatchQueue(label: "a"), DispatchQueue(label: "b"))
      a.async { b.sync {} }
      b.async { if !repaired { a.sync {} } }
      sim.run()
    },
    Pattern("three queues sync in a circle") { sim, repaired in
      let queues = (0..<3).map { DispatchQueue(label: "queue \($0)") }
      for index in 0..<3 {
        let (own, next) = (queues[index], queues[(index + 1) % 3])
        let (first, second) = repaired && index == 2 ? (next, own) : (own, next)
        DispatchQueue.global().async { first.sync { second.sync {} } }
      }
      sim.run()
    },
    Pattern("three philosophers, and as many forks") { sim, repaired in
      let forks = (0..<3).map { _ in DispatchSemaphore(value: 1) }
      let meals = Box(0)
      for index in 0..<3 {
        let (left, right) = (forks[index], forks[(index + 1) % 3])
        let (first, second) = repaired && index == 2 ? (right, left) : (left, right)
        DispatchQueue.global().async {
          first.wait()
          Simulation.yield()
          second.wait()
          meals.value += 1
          second.signal()
          first.signal()
        }
      }
      sim.run()
      sim.expect(meals.value == 3, "\(meals.value) meals")
    },
    Pattern("a reader reads again while a writer waits") { sim, repaired in
      let queue = DispatchQueue(label: "values", attributes: .concurrent)
      DispatchQueue.global().async {
        queue.sync {
          Simulation.yield()
          if !repaired { DispatchQueue.global().sync { queue.sync {} } }
        }
      }
      DispatchQueue.global().async { queue.sync(flags: .barrier) {} }
      sim.run()
    },
    Pattern("a wake-up is lost: the flag is looked at before the waiter is there") { sim, repaired in
      let (isReady, waits) = (Box(false), Box(false))
      let wakeUp = DispatchSemaphore(value: 0)
      let guardian = DispatchQueue(label: "state")
      DispatchQueue.global().async {
        let mustWait = {
          if isReady.value { return false }
          Simulation.yield()
          waits.value = true
          return true
        }
        if repaired ? guardian.sync(execute: mustWait) : mustWait() { wakeUp.wait() }
      }
      DispatchQueue.global().async {
        let wakes = {
          isReady.value = true
          return waits.value
        }
        if repaired ? guardian.sync(execute: wakes) : wakes() { wakeUp.signal() }
      }
      sim.run()
    },
    Pattern("a lock is not given back on the way out that is taken rarely") { sim, repaired in
      // One that starts with a signal must end with it.
      let guardian = DispatchSemaphore(value: 0)
      guardian.signal()
      let isFull = Flag()
      for _ in 0..<2 {
        DispatchQueue.global().async {
          guardian.wait()
          if isFull.isUp {
            if repaired { guardian.signal() }
            return
          }
          Simulation.yield()
          guardian.signal()
        }
      }
      DispatchQueue.global().async {
        isFull.raise()
        guardian.wait()
        guardian.signal()
      }
      sim.run()
    },
    Pattern("an item waits for an answer that needs its own queue") { sim, repaired in
      let queue = DispatchQueue(label: "service")
      let answer = DispatchSemaphore(value: 0)
      let callbacks = repaired ? DispatchQueue(label: "callbacks") : queue
      queue.async {
        DispatchQueue.global().async { callbacks.async { answer.signal() } }
        answer.wait()
      }
      sim.run()
    },
    Pattern("a consumer leaves early, and the producer waits for room for ever") { sim, repaired in
      let (room, items) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      room.signal()
      let hasLeft = Box(false)
      DispatchQueue.global().async {
        for _ in 0..<3 {
          room.wait()
          if hasLeft.value { return room.signal().discard() }
          items.signal()
        }
      }
      DispatchQueue.global().async {
        items.wait()
        hasLeft.value = true
        if repaired { room.signal() }
      }
      sim.run()
    },
    Pattern("a group whose member leaves on one of two ways") { sim, repaired in
      let group = DispatchGroup()
      let isCancelled = Flag()
      group.enter()
      DispatchQueue.global().async {
        if isCancelled.isUp {
          if repaired { group.leave() }
          return
        }
        group.leave()
      }
      DispatchQueue.global().async { isCancelled.raise() }
      group.wait()
      sim.run()
    },
  ]
}

extension Int {
  fileprivate func discard() {}
}
