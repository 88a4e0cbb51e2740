// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerKit

@testable import GrandCentral

// Contract.E5: the process forks while another thread is in the middle of something. The run goes on as the parent or as the child;
// in the child that other thread stands still for ever. All that the child submits starts, and nothing that the parent has
// submitted does. The searches name their preemptions: what a fork depends on, the reduction does not know.
//
// Of its parent's objects the child uses a queue that no thread holds at the time: a lane that a thread of the parent holds is
// held for ever. Types are used before the fork, since the Swift runtime's locks are not held across it (`Fork`).

/// The process's life as one run tells it.
private final class Family: @unchecked Sendable {  // fibres take turns
  private let run: ScenarioRun
  private var isChild = false
  private let idle = DispatchQueue(label: "idle")

  init(_ run: ScenarioRun) { self.run = run }

  /// The body of the parent's items.
  func parents() { run.check(!isChild, "an item of the parent's has run in the child") }

  func fork(child: () -> Void) {
    if !ck_machine_fork() { return }
    isChild = true
    child()
  }

  /// A child whose only thread is its worker as well.
  func useAlone() {
    standInForPool()
    let count = Counter(), queue = DispatchQueue(label: "child's")
    for queue in [queue, idle, .global(), .global(qos: .utility)] { queue.async { count.value += 1 } }
    work()
    run.check(count.value == 4, "\(count.value) of the child's 4 items have run")
    useTargetAndValue(queue)
    queue.sync { count.value += 1 }
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { count.value += 1 }
    ck_machine_compute(2_000_000)
    fireTimers()
    work()
    run.check(count.value == 6, "the child's timer has not fired")
  }

  /// A child with an engine.
  func useEngine() {
    let latch = Latch(5), queue = DispatchQueue(label: "child's")
    for queue in [queue, idle, .global(), .global(qos: .utility)] { queue.async { latch.open() } }
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { latch.open() }
    latch.wait()
    useTargetAndValue(queue)
    queue.sync {}
  }

  private func useTargetAndValue(_ queue: DispatchQueue) {
    let key = DispatchSpecificKey<Int>()
    queue.setTarget(queue: idle)
    queue.setSpecific(key: key, value: 7)
    run.check(queue.getSpecific(key: key) == 7, "the value is not the one that was set")
  }

  /// The types of all that is used later.
  func useTypes() {
    useAlone()
    DispatchQueue(label: "parent's", target: idle).sync {}
    DispatchQueue.global().async(group: DispatchGroup()) {}
    work()
  }
}

func forks() -> [Scenario] { aloneForks() + nodeForks() + engineForks() }

private func fireTimers() { _ = engine.pointee.timers.fireDue(in: engine.pointee) }

// MARK: Beside a thread, no pool

private func aloneForks() -> [Scenario] {
  func beside(_ name: String, preemptions: Int = 1, _ other: @escaping (Family) -> () -> Void) -> Scenario {
    Scenario("E5: a fork beside " + name, of: "Fork", preemptions: preemptions, unusual: 0) { run in
      ck_machine_set_processors(1)
      _ = Backoff.maySpin
      standInForPool()
      let family = Family(run)
      family.useTypes()
      let body = other(family)
      run.thread(body)
      run.thread { family.fork { family.useAlone() } }
    }
  }
  return [
    beside("an item that is submitted to a queue") { family in
      let queue = DispatchQueue(label: "parent's")
      return { queue.async { family.parents() } }
    },
    beside("an item that is submitted to a global queue") { family in
      { DispatchQueue.global().async { family.parents() } }
    },
    beside("sync") { _ in
      let queue = DispatchQueue(label: "parent's", target: DispatchQueue(label: "target"))
      return { queue.sync {} }
    },
    beside("a worker that runs an item") { family in
      let queue = DispatchQueue(label: "parent's")
      queue.async { family.parents() }
      return { work() }
    },
    beside("a group's last leave, which notifies") { family in
      let group = DispatchGroup()
      group.enter()
      group.notify(queue: .global()) { family.parents() }
      return { group.leave() }
    },
    beside("a timer that is set") { family in
      { DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(1)) { family.parents() } }
    },
    beside("a timer that fires") { family in
      DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(1)) { family.parents() }
      ck_machine_compute(100_000)
      return { fireTimers() }
    },
    beside("a descriptor that is watched") { _ in
      let pipe = makePipe(), source = DispatchSource.makeReadSource(fileDescriptor: pipe.reading)
      source.setEventHandler {}
      return { source.activate() }
    },
    beside("a thread in the poll") { _ in
      let pipe = makePipe(), source = DispatchSource.makeReadSource(fileDescriptor: pipe.reading)
      source.activate()
      work()
      _ = gc_write(pipe.writing, "x", 1)
      return { poll() }
    },
    beside("a queue that gets another target") { _ in
      let queue = DispatchQueue(label: "parent's", attributes: .initiallyInactive)
      let target = DispatchQueue(label: "target")
      return { queue.setTarget(queue: target) }
    },
    beside("a value that is set on a queue") { _ in
      let queue = DispatchQueue(label: "parent's"), key = DispatchSpecificKey<Int>()
      return { queue.setSpecific(key: key, value: 7) }
    },
  ]
}

// MARK: Memory

/// Nodes go from one thread to another by the depot; a batch may be in nobody's hands when the process forks.
private func nodeForks() -> [Scenario] {
  [
    Scenario("E5: a fork while nodes go from thread to thread", of: "Magazine", preemptions: 1, unusual: 0) { run in
      ck_machine_set_processors(1)
      _ = Backoff.maySpin
      let family = Family(run)
      _ = engine
      let batches = 3 * NodeBatch.capacity
      let nodes = (0..<batches).map { _ in Magazine.take() }
      for node in nodes { Magazine.give(node) }
      run.thread { for _ in 0..<2 * NodeBatch.capacity { _ = Magazine.take() } }
      run.thread {
        family.fork {
          let mine = (0..<batches).map { _ in Magazine.take() }
          run.check(Set(mine).count == mine.count, "the child gets a node twice")
        }
      }
    }
  ]
}

// MARK: Beside the whole engine

private func engineForks() -> [Scenario] {
  func beside(_ name: String, _ other: @escaping (Family) -> Void) -> Scenario {
    Scenario("E5: a fork of the whole engine beside " + name, of: "Fork", unusual: 1, isSmall: false, steps: 200_000) {
      run in
      let family = Family(run), warm = Latch()
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { warm.open() }
      warm.wait()
      run.thread { other(family) }
      run.thread { family.fork { family.useEngine() } }
    }
  }
  return [
    beside("items that are submitted") { family in
      let queue = DispatchQueue(label: "parent's")
      for _ in 0..<2 {
        queue.async { family.parents() }
        DispatchQueue.global().async { family.parents() }
      }
    },
    beside("sync and a queue that is busy") { family in
      let queue = DispatchQueue(label: "parent's")
      queue.async { family.parents() }
      queue.sync { family.parents() }
    },
    beside("a group that is waited for") { family in
      let group = DispatchGroup()
      DispatchQueue.global().async(group: group) { family.parents() }
      group.notify(queue: .global()) { family.parents() }
      group.wait()
    },
    beside("workers that fall asleep, and a timer") { family in
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(2)) { family.parents() }
      ck_machine_compute(30_000)
      DispatchQueue.global().async { family.parents() }
    },
    beside("a parallel loop") { family in
      DispatchQueue.concurrentPerform(iterations: 2) { _ in
        ck_machine_compute(1_500_000)
        family.parents()
      }
    },
    Scenario("E5: an item forks", of: "Fork", unusual: 1, isSmall: false, steps: 200_000) { run in
      run.finally {
        let family = Family(run), latch = Latch(2), queue = DispatchQueue(label: "parent's")
        queue.async {
          family.fork {
            family.useEngine()
            // The item returns: what waits on its queue is the parent's, and what comes now is the child's.
            let mine = Latch()
            queue.async { mine.open() }
            _ = ProgramThread { mine.wait() }
          }
          latch.open()
        }
        queue.async {
          family.parents()
          latch.open()
        }
        latch.wait()
      }
    },
  ]
}
