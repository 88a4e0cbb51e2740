// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting

/// Where a pattern runs: in a simulation, or in reality.
protocol Stage: Sendable {
  func run()
  func advance(by duration: Duration)
  func expect(_ condition: Bool, _ message: @autoclosure () -> String)
}

extension Stage {
  func expect(_ condition: Bool) { expect(condition, "an expectation does not hold") }
}

private struct SimulatedStage: Stage {
  let sim: Simulation
  func run() { sim.run() }
  func advance(by duration: Duration) { sim.advance(by: duration) }
  func expect(_ condition: Bool, _ message: @autoclosure () -> String) { sim.expect(condition, message()) }
}

/// A bug as programs have it, and its mend. They are our own programs, after what has been published about bugs of that kind
/// (GoKer's kernels, SCTBench's programs).
struct Pattern: Sendable {
  let name: String
  let body: @Sendable (_ sim: any Stage, _ repaired: Bool) -> Void

  init(_ name: String, _ body: @escaping @Sendable (any Stage, Bool) -> Void) {
    self.name = name
    self.body = body
  }

  func run(_ sim: Simulation, _ repaired: Bool) { body(SimulatedStage(sim: sim), repaired) }

  static let all = races + orders + deadlocks
}

private func concurrent(_ label: String) -> DispatchQueue { DispatchQueue(label: label, attributes: .concurrent) }

extension Pattern {
  // MARK: What is done in two steps

  static let races = [
    Pattern("account: two transfers change a balance at once") { sim, repaired in
      let balance = Box(100)
      let guardian = DispatchQueue(label: "account")
      for amount in [10, -20] {
        DispatchQueue.global().async {
          @Sendable func change() {
            let seen = balance.value
            Simulation.yield()
            balance.value = seen + amount
          }
          repaired ? guardian.sync(execute: change) : change()
        }
      }
      sim.run()
      sim.expect(balance.value == 90, "\(balance.value)")
    },
    Pattern("wrong lock: two queues guard one value") { sim, repaired in
      let value = Box(0)
      let first = DispatchQueue(label: "first")
      let second = repaired ? first : DispatchQueue(label: "second")
      for queue in [first, second] {
        DispatchQueue.global().async {
          queue.sync {
            let seen = value.value
            Simulation.yield()
            value.value = seen + 1
          }
        }
      }
      sim.run()
      sim.expect(value.value == 2)
    },
    Pattern("lazy value: made by two threads that both find none") { sim, repaired in
      let made = Box(0)
      let value = Box<Int?>(nil)
      let guardian = DispatchQueue(label: "lazy")
      @Sendable func get() {
        if value.value != nil { return }
        Simulation.yield()
        made.value += 1
        value.value = 7
      }
      for _ in 0..<2 { DispatchQueue.global().async { repaired ? guardian.sync(execute: get) : get() } }
      sim.run()
      sim.expect(made.value == 1)
    },
    Pattern("close: two threads that find it open both close it") { sim, repaired in
      let (isClosed, closes) = (Box(false), Box(0))
      let guardian = DispatchSemaphore(value: 1)
      for _ in 0..<2 {
        DispatchQueue.global().async {
          if repaired { guardian.wait() }
          if !isClosed.value {
            Simulation.yield()
            isClosed.value = true
            closes.value += 1
          }
          if repaired { guardian.signal() }
        }
      }
      sim.run()
      sim.expect(closes.value == 1)
    },
    Pattern("cache: a writer on a concurrent queue without a barrier") { sim, repaired in
      let cache = Box<[Int]>([])
      let queue = concurrent("cache")
      for key in 0..<3 {
        queue.async(flags: repaired ? .barrier : []) {
          var copy = cache.value
          Simulation.yield()
          copy.append(key)
          cache.value = copy
        }
      }
      sim.run()
      sim.expect(cache.value.count == 3, "\(cache.value)")
    },
    Pattern("cache: read, missed, and written in another item") { sim, repaired in
      let (cache, loads) = (Box<Int?>(nil), Box(0))
      let queue = concurrent("cache")
      for _ in 0..<2 {
        DispatchQueue.global().async {
          if queue.sync(execute: { cache.value }) != nil { return }
          queue.sync(flags: .barrier) {
            if repaired, cache.value != nil { return }
            loads.value += 1
            cache.value = 1
          }
        }
      }
      sim.run()
      sim.expect(loads.value == 1)
    },
    Pattern("parallel loop: a sum that all change") { sim, repaired in
      let sum = Box(0)
      let guardian = DispatchSemaphore(value: 1)
      DispatchQueue.concurrentPerform(iterations: 8) { _ in
        if repaired { guardian.wait() }
        let seen = sum.value
        Simulation.yield()
        sum.value = seen + 1
        if repaired { guardian.signal() }
      }
      sim.expect(sum.value == 8, "\(sum.value)")
    },
    Pattern("two stages: a second value follows the first one under another lock") { sim, repaired in
      let (first, second) = (Box(0), Box(0))
      let (one, two) = (DispatchQueue(label: "one"), DispatchQueue(label: "two"))
      DispatchQueue.global().async {
        if repaired {
          one.sync {
            first.value = 1
            second.value = first.value + 1
          }
        } else {
          one.sync { first.value = 1 }
          two.sync { second.value = first.value + 1 }
        }
      }
      DispatchQueue.global().async {
        let seen =
          repaired ? one.sync { (first.value, second.value) } : (one.sync { first.value }, two.sync { second.value })
        sim.expect(seen.0 == 0 || seen.1 == seen.0 + 1, "\(seen)")
      }
      sim.run()
    },
    Pattern("stack: the top is read, and replaced after others have changed it") { sim, repaired in
      let stack = Box([1, 2, 3])
      let popped = Box<[Int]>([])
      let guardian = DispatchQueue(label: "stack")
      @Sendable func pop() {
        guard let top = stack.value.last else { return }
        Simulation.yield()
        stack.value = stack.value.filter { $0 != top }
        popped.value.append(top)
      }
      for _ in 0..<2 { DispatchQueue.global().async { repaired ? guardian.sync(execute: pop) : pop() } }
      sim.run()
      sim.expect(Set(popped.value).count == 2, "\(popped.value)")
    },
    Pattern("driver: work begins while the device stops") { sim, repaired in
      let (isStopping, isStopped, pending) = (Box(false), Box(false), Box(0))
      let guardian = DispatchQueue(label: "driver")
      DispatchQueue.global().async {
        let begins = {
          if isStopping.value { return false }
          Simulation.yield()
          pending.value += 1
          return true
        }
        guard repaired ? guardian.sync(execute: begins) : begins() else { return }
        let end = {
          sim.expect(!isStopped.value, "work on a device that has stopped")
          Simulation.yield()
          pending.value -= 1
        }
        repaired ? guardian.sync(execute: end) : end()
      }
      DispatchQueue.global().async {
        let stop = {
          isStopping.value = true
          if pending.value == 0 { isStopped.value = true }
        }
        repaired ? guardian.sync(execute: stop) : stop()
      }
      sim.run()
    },
  ]

  // MARK: What comes in the wrong order

  static let orders = [
    Pattern("order: what another item makes is used before") { sim, repaired in
      let value = Box<Int?>(nil)
      let made = DispatchSemaphore(value: 0)
      DispatchQueue.global().async {
        value.value = 1
        made.signal()
      }
      DispatchQueue.global().async {
        if repaired { made.wait() }
        sim.expect(value.value != nil, "used before it was made")
      }
      sim.run()
    },
    Pattern("reorder: two values are written one after the other, and both are read") { sim, repaired in
      let (a, b) = (Box(0), Box(0))
      let guardian = concurrent("pair")
      @Sendable func write() {
        a.value = 1
        Simulation.yield()
        b.value = -1
      }
      DispatchQueue.global().async { repaired ? guardian.sync(flags: .barrier, execute: write) : write() }
      DispatchQueue.global().async {
        let seen = guardian.sync { (a.value, b.value) }
        sim.expect(seen == (0, 0) || seen == (1, -1), "\(seen)")
      }
      sim.run()
    },
    Pattern("group: entered by the item itself, so that a waiter goes on before") { sim, repaired in
      let group = DispatchGroup()
      let done = (0..<3).map { _ in Box(false) }
      for item in done {
        if repaired { group.enter() }
        DispatchQueue.global().async {
          if !repaired { group.enter() }
          Simulation.yield()
          item.value = true
          group.leave()
        }
      }
      group.wait()
      sim.expect(done.allSatisfy(\.value), "not all of 3")
    },
    Pattern("time-out: the answer and the time-out both complete") { sim, repaired in
      let (isDone, completions) = (Box(false), Box(0))
      let serial = DispatchQueue(label: "request")
      @Sendable func complete() {
        if isDone.value { return }
        Simulation.yield()
        isDone.value = true
        completions.value += 1
      }
      let others = repaired ? [serial, serial] : [DispatchQueue.global(), DispatchQueue(label: "clock")]
      for queue in others { queue.asyncAfter(deadline: .now() + .seconds(5), execute: complete) }
      sim.run()
      sim.expect(completions.value == 1, "\(completions.value) completions")
    },
    Pattern("debouncer: the action of an older event runs as well") { sim, repaired in
      let (generation, actions) = (Box(0), Box(0))
      let queue = DispatchQueue(label: "debounce")
      func event() {
        queue.async {
          generation.value += 1
          let mine = generation.value
          queue.asyncAfter(deadline: .now() + .milliseconds(100)) {
            if !repaired || generation.value == mine { actions.value += 1 }
          }
        }
      }
      event()
      sim.advance(by: .milliseconds(50))
      event()
      sim.run()
      sim.expect(actions.value == 1, "\(actions.value) actions")
    },
    Pattern("timer: the handler uses what was given back beside cancel") { sim, repaired in
      let isOpen = Box(true)
      let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "timer"))
      timer.schedule(deadline: .now() + .milliseconds(10), repeating: .milliseconds(10))
      timer.setEventHandler {
        Simulation.yield()
        sim.expect(isOpen.value, "used after it was given back")
      }
      if repaired { timer.setCancelHandler { isOpen.value = false } }
      timer.resume()
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(30)) {
        timer.cancel()
        if !repaired { isOpen.value = false }
      }
      sim.run()
    },
    Pattern("item: cancelled between the look and the act") { sim, repaired in
      let (isCancelled, acted) = (Box(false), Box(false))
      let queue = DispatchQueue(label: "work")
      @Sendable func act() {
        if isCancelled.value { return }
        Simulation.yield()
        sim.expect(!isCancelled.value, "acts though it is cancelled")
        acted.value = true
      }
      queue.async(execute: act)
      DispatchQueue.global().async {
        repaired ? queue.sync { isCancelled.value = true } : (isCancelled.value = true)
      }
      sim.run()
    },
  ]
}
