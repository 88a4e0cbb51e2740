// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerKit

@testable import GrandCentral

// The main queue, drained by the scenario's main thread or by one that stands in for it. Lanes whose chain ends there need no
// worker: so whole queues are searched, from the submitter to the item's end.

/// A counter of the kernel's: whether it polls readable. Reading empties it.
private func isSignalled(_ descriptor: Int32) -> Bool {
  var count: UInt64 = 0
  return withUnsafeMutableBytes(of: &count) { gc_read(descriptor, $0.baseAddress, $0.count) } == 8
}

/// Static variables are made at first use: that would order the threads.
private func touchStatics() {
  _ = GlobalQueues.main
  _ = MainLoop.parker.hasToken
  MainLoop.drain()
}

/// What is left is run when all threads have ended.
private func drainRest() { for _ in 0..<4 { MainLoop.drain() } }

private func mainLane() -> DispatchQueue { DispatchQueue(label: "lane", target: .main) }

func mainQueue() -> [Scenario] {
  chains() + [
    protocolScenario("an item comes while the descriptor is made: it polls readable", of: "MainLoop", unusual: 0) {
      run in
      touchStatics()
      var descriptor: Int32 = -1
      let job = Job(invoke: { _ in }, band: .normal)
      run.thread { GlobalQueues.main.enqueue(job) }
      run.thread { descriptor = MainLoop.descriptor }
      run.finally { run.check(isSignalled(descriptor), "an item is there, and nobody is told") }
    },
    protocolScenario(
      "an item comes while the loop drains: it runs, or the descriptor polls readable", of: "MainLoop", unusual: 0
    ) { run in
      touchStatics()
      let descriptor = MainLoop.descriptor, data = Plain(), ran = Counter()
      run.thread {
        data.value = 1
        DispatchQueue.main.async {
          run.check(data.value == 1, "the submitter has not published")
          ran.value += 1
        }
      }
      run.thread { MainLoop.drain() }
      run.finally {
        if ran.value == 0 {
          run.check(isSignalled(descriptor), "an item is there, and nobody is told")
          MainLoop.drain()
        }
        run.check(ran.value == 1, "the item ran \(ran.value) times")
      }
    },
  ]
}

/// Lanes on the main queue.
private func chains() -> [Scenario] {
  [
    protocolScenario("a lane's item runs once, and sees what its submitter wrote", of: "Lane", unusual: 0) { run in
      touchStatics()
      let queue = mainLane(), data = Plain(), ran = Counter()
      run.thread {
        data.value = 1
        queue.async {
          run.check(data.value == 1, "the submitter has not published")
          ran.value += 1
        }
      }
      run.thread { MainLoop.drain() }
      run.finally { checkRanOnce(ran, run) }
    },
    protocolScenario("a caller waits for the main thread to run its item", of: "Lane", unusual: 0, isSmall: false) {
      run in
      touchStatics()
      let queue = mainLane(), data = Plain(), ran = Counter()
      run.thread {
        data.value = 1
        queue.sync {
          data.value += 1
          ran.value = 1
        }
        run.check(data.value == 2, "the item has not published")
      }
      run.thread {
        while ran.value == 0 {
          MainLoop.drain()
          gc_pause()
        }
      }
    },
    protocolScenario("an item comes beside a suspension", of: "Lane", unusual: 0, isSmall: false) { run in
      touchStatics()
      let queue = mainLane(), ran = Counter()
      run.thread { queue.async { ran.value += 1 } }
      run.thread {
        queue.suspend()
        queue.resume()
      }
      run.thread { MainLoop.drain() }
      run.finally { checkRanOnce(ran, run) }
    },
    protocolScenario(
      "an item suspends its lane: the items behind it see what came before the resume", of: "Lane", unusual: 0,
      isSmall: false
    ) { run in
      touchStatics()
      let queue = mainLane(), isSuspended = DispatchSemaphore(value: 0), data = Plain(), ran = Counter()
      queue.async {
        queue.suspend()
        isSuspended.signal()
      }
      queue.async {
        run.check(data.value == 1, "the resume has not published")
        ran.value += 1
      }
      run.thread { MainLoop.drain() }
      run.thread {
        while !isSuspended.tryWait() { gc_pause() }
        data.value = 1
        queue.resume()
      }
      run.finally { checkRanOnce(ran, run) }
    },
    protocolScenario("an item comes beside a change of target", of: "Lane+Target", unusual: 0, isSmall: false) {
      run in
      touchStatics()
      let queue = mainLane(), other = mainLane(), ran = Counter()
      run.thread { queue.async { ran.value += 1 } }
      run.thread { queue.setTarget(queue: other) }
      run.thread { MainLoop.drain() }
      run.finally {
        drainRest()
        run.check(ran.value == 1, "the item ran \(ran.value) times")
        run.check(queue.targetWord.lane == other.reference, "the target is the old one")
      }
    },
    protocolScenario("an item comes beside the activation of its lane", of: "Lane", unusual: 0) { run in
      touchStatics()
      let ran = Counter()
      let queue = DispatchQueue(label: "lane", attributes: .initiallyInactive, target: .main)
      run.thread { queue.async { ran.value += 1 } }
      run.thread { queue.activate() }
      run.finally { checkRanOnce(ran, run) }
    },
    protocolScenario("a group's last leave beside a notification", of: "DispatchGroup", unusual: 0) { run in
      touchStatics()
      let group = DispatchGroup(), data = Plain(), ran = Counter()
      group.enter()
      run.thread {
        data.value = 1
        group.leave()
      }
      run.thread {
        group.notify(queue: .main) {
          run.check(data.value == 1, "the leave has not published")
          ran.value += 1
        }
      }
      run.finally {
        drainRest()
        run.check(ran.value == 1, "the notification ran \(ran.value) times")
      }
    },
    protocolScenario("an item's end beside a notification", of: "DispatchWorkItem", unusual: 0) { run in
      touchStatics()
      let data = Plain(), ran = Counter(), item = DispatchWorkItem { data.value = 1 }
      run.thread { item.perform() }
      run.thread {
        item.notify(queue: .main) {
          run.check(data.value == 1, "the item has not published")
          ran.value += 1
        }
      }
      run.finally {
        drainRest()
        run.check(ran.value == 1, "the notification ran \(ran.value) times")
      }
    },
  ]
}

/// At the end: what is left runs, and the item has run once.
private func checkRanOnce(_ ran: Counter, _ run: ScenarioRun) {
  drainRest()
  run.check(ran.value == 1, "the item ran \(ran.value) times")
}
