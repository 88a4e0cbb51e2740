// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CheckerKit

@testable import GrandCentral

// A third thread that takes part in no hand-over and learns of it all the same, by a hint or a look: what two threads order among
// themselves by a lock or a token, it must get from the word alone. Mutants that survived are the reason for these scenarios.

func bystanders() -> [Scenario] {
  [
    protocolScenario(
      "one waits, another one only looks: both see what the leaver has written", of: "DispatchGroup", unusual: 0
    ) { run in
      let group = DispatchGroup(), data = Plain()
      group.enter()
      run.thread {
        data.value = 1
        group.leave()
      }
      run.thread {
        group.wait()
        run.check(data.value == 1, "the leave has not published to the waiter")
      }
      run.thread { if group.tryWait() { run.check(data.value == 1, "the leave has not published to a look") } }
    },
    protocolScenario(
      "a dequeuer knows the tail from another one, at a segment's end", of: "FIFOQueue", unusual: 0, isSmall: false
    ) { run in
      let queue = queue(at: 61)
      var found: [Int] = []
      run.thread { for number in 1...2 { queue.value.enqueue(Node(number).raw) } }
      for _ in 0..<2 { run.thread { if let number = take(queue) { found.append(number) } } }
      run.finally {
        while let number = take(queue) { found.append(number) }
        run.check(found.sorted() == [1, 2], "the queue held \(found)")
      }
    },
    protocolScenario(
      "a once has run: a third caller sees what the body has done, by its first look", of: "DispatchOnce", unusual: 0,
      isSmall: false
    ) {
      run in
      let once = DispatchOnce(), data = Plain()
      for _ in 0..<2 { run.thread { once.run { data.value = 1 } } }
      run.thread { if once.hasRun { run.check(data.value == 1, "the body's writes are not seen") } }
    },
    protocolScenario("a permit goes round three threads", of: "DispatchSemaphore", unusual: 0, isSmall: false) { run in
      let permit = DispatchSemaphore(value: 1), data = Plain()
      for _ in 0..<3 {
        run.thread {
          if permit.tryWait() {
            data.value += 1
            permit.signal()
          }
        }
      }
    },
    protocolScenario("an emptied segment is used again by an enqueuer", of: "FIFOQueue", unusual: 0) { run in
      // The head at a segment's last place, the tail at the next one's.
      let queue = queue(at: 62, filled: 63)
      var first: Int?
      run.thread { first = take(queue) }
      run.thread { for number in 1...2 { queue.value.enqueue(Node(number).raw) } }
      run.finally {
        run.check(first == 100, "the first was \(String(describing: first))")
        for number in 101..<163 { run.check(take(queue) == number, "\(number) was lost") }
        for number in 1...2 { run.check(take(queue) == number, "\(number) was lost") }
      }
    },
    protocolScenario("a decliner sees what the update before has written", of: "AtomicState", unusual: 0) { run in
      let state = Box(AtomicState(LaneState(rawValue: 0))), data = Plain()
      run.thread {
        data.value = 1
        state.value.update { $0.suspend() }
      }
      run.thread {
        let passed: Bool? = state.value.attempt { $0.isHalted ? nil : true }
        if passed == nil { run.check(data.value == 1, "declined, and the update has not published") }
      }
    },
    protocolScenario("a load sees what the update before has written", of: "AtomicState", unusual: 0) { run in
      let state = Box(AtomicState(LaneState(rawValue: 0))), data = Plain()
      run.thread {
        data.value = 1
        state.value.update { $0.suspend() }
      }
      run.thread { if state.value.load().isHalted { run.check(data.value == 1, "the update has not published") } }
    },
    protocolScenario("an attempt that works publishes", of: "AtomicState", unusual: 0) { run in
      let state = Box(AtomicState(LaneState(rawValue: 0))), data = Plain()
      run.thread {
        data.value = 1
        _ = state.value.attempt { lane -> Bool? in
          lane.suspend()
          return true
        }
      }
      run.thread { if state.value.load().isHalted { run.check(data.value == 1, "the attempt has not published") } }
    },
    protocolScenario("an exchange takes over what the one before has written", of: "AtomicState", unusual: 0) { run in
      let idle = LaneState(rawValue: 0), halted = LaneState(rawValue: LaneState.suspended)
      let state = Box(AtomicState(idle)), data = Plain()
      run.thread {
        data.value = 1
        _ = state.value.exchange(idle, for: halted)
      }
      run.thread { if state.value.exchange(halted, for: idle) { run.check(data.value == 1, "not seen") } }
    },
  ]
}
