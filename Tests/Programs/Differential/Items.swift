// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch

/// A serial queue that waits until it is let go.
private func heldQueue(_ label: String = "held") -> (DispatchQueue, Latch) {
  let (queue, gate) = (DispatchQueue(label: label), Latch())
  queue.async { gate.wait() }
  return (queue, gate)
}

let itemScenarios: [(String, () -> Void)] = [
  (
    "item performed",
    {
      let log = Log()
      let item = DispatchWorkItem { log.add("ran") }
      say("before", item.isCancelled)
      item.perform()
      say("after", item.wait(timeout: .now()))
      log.show()
    }
  ),
  (
    "item submitted three times",
    {
      let (queue, log) = (DispatchQueue(label: "q"), Log())
      let item = DispatchWorkItem { log.add("ran") }
      for _ in 0..<3 { queue.async(execute: item) }
      queue.sync {}
      log.show()
    }
  ),
  (
    "item cancelled before it starts",
    {
      let ((queue, gate), log) = (heldQueue(), Log())
      let item = DispatchWorkItem { log.add("ran") }
      item.notify(queue: queue) { log.add("notified") }
      queue.async(execute: item)
      item.cancel()
      say("cancelled", item.isCancelled)
      gate.open()
      item.wait()
      queue.sync {}
      log.show()
    }
  ),
  (
    "item cancelled while it runs",
    {
      let (queue, log, started, gate) = (DispatchQueue(label: "q"), Log(), Latch(), Latch())
      var item: DispatchWorkItem!
      item = DispatchWorkItem {
        log.add("\(item.isCancelled)")
        started.open()
        gate.wait()
        log.add("\(item.isCancelled)")
      }
      queue.async(execute: item)
      started.wait()
      item.cancel()
      gate.open()
      queue.async(execute: item)
      queue.sync {}
      log.show()
    }
  ),
  (
    "item cancelled after it has run",
    {
      let log = Log()
      let item = DispatchWorkItem { log.add("ran") }
      DispatchQueue(label: "q").sync(execute: item)
      item.cancel()
      item.perform()
      say("cancelled", item.isCancelled)
      log.show()
    }
  ),
  (
    "item cancelled and never submitted",
    {
      let item = DispatchWorkItem {}
      item.cancel()
      say("cancelled", item.isCancelled, item.wait(timeout: .now() + .milliseconds(5)))
    }
  ),
  (
    "item cancelled while it waits for its deadline",
    {
      let (queue, log) = (DispatchQueue(label: "q"), Log())
      let item = DispatchWorkItem { log.add("ran") }
      item.notify(queue: queue) { log.add("notified") }
      // It cannot run before it is cancelled, however late that is.
      queue.suspend()
      queue.asyncAfter(deadline: .now() + .milliseconds(30), execute: item)
      item.cancel()
      queue.resume()
      say("finished", item.wait(timeout: .now() + .seconds(5)))
      queue.sync {}
      log.show("calls:")
    }
  ),
  (
    "item after a deadline",
    {
      let (queue, log) = (DispatchQueue(label: "q"), Log())
      let item = DispatchWorkItem { log.add("ran") }
      queue.asyncAfter(deadline: .now() + .milliseconds(5), execute: item)
      item.wait()
      let wall = DispatchWorkItem { log.add("ran, wall") }
      queue.asyncAfter(wallDeadline: .now() + .milliseconds(5), execute: wall)
      wall.wait()
      log.show()
    }
  ),
  (
    "item notifies in order",
    {
      let (queue, log) = (DispatchQueue(label: "q"), Log())
      let item = DispatchWorkItem { log.add("ran") }
      for number in 0..<5 { item.notify(queue: queue) { log.add(number) } }
      item.notify(queue: queue, execute: DispatchWorkItem { log.add("item") })
      item.perform()
      queue.sync {}
      item.notify(queue: queue) { log.add("late") }
      queue.sync {}
      log.show()
    }
  ),
  (
    "item notifies once",
    {
      let (queue, log) = (DispatchQueue(label: "q"), Log())
      let item = DispatchWorkItem { log.add("ran") }
      item.notify(queue: queue) { log.add("notified") }
      item.perform()
      queue.sync {}
      item.perform()
      queue.sync {}
      log.show()
    }
  ),
  (
    "item notification that is cancelled",
    {
      let (queue, log) = (DispatchQueue(label: "q"), Log())
      let item = DispatchWorkItem { log.add("ran") }
      let next = DispatchWorkItem { log.add("next") }
      item.notify(queue: queue, execute: next)
      next.cancel()
      item.perform()
      next.wait()
      log.show()
    }
  ),
  (
    "item waits with a timeout",
    {
      let (queue, gate) = heldQueue()
      let items = (0..<4).map { _ in DispatchWorkItem {} }
      items.forEach(queue.async(execute:))
      say("early", items[0].wait(timeout: .now() + .milliseconds(10)))
      say("early", items[1].wait(wallTimeout: .now() + .milliseconds(10)))
      gate.open()
      say("late", items[2].wait(timeout: .distantFuture), items[3].wait(wallTimeout: .distantFuture))
    }
  ),
  (
    "item as a barrier",
    {
      let queue = DispatchQueue(label: "q", attributes: .concurrent)
      let (log, gate, started) = (Log(), Latch(), DispatchSemaphore(value: 0))
      for _ in 0..<2 {
        queue.async {
          started.signal()
          gate.wait()
          log.add("reader")
        }
      }
      started.wait()
      started.wait()
      queue.async(execute: DispatchWorkItem(flags: .barrier) { log.add("barrier") })
      queue.async { log.add("after") }
      gate.open()
      queue.sync(flags: .barrier) {}
      log.show()
    }
  ),
  (
    "items with every flag run",
    {
      let (queue, log) = (DispatchQueue(label: "q", qos: .utility), Log())
      let flags: [DispatchWorkItemFlags] = [
        [], .barrier, .detached, .assignCurrentContext, .noQoS, .inheritQoS, .enforceQoS, [.enforceQoS, .barrier],
      ]
      for (index, flag) in flags.enumerated() {
        queue.async(execute: DispatchWorkItem(qos: .userInitiated, flags: flag) { log.add(index) })
        queue.async(flags: flag) { log.add("\(index)a") }
        // Dispatch's overlay traps on other flags.
        if flag.subtracting(.barrier).isEmpty { queue.sync(flags: flag) {} }
      }
      queue.sync {}
      log.show()
    }
  ),
  (
    "item in another item",
    {
      let (queue, log) = (DispatchQueue(label: "q"), Log())
      let inner = DispatchWorkItem { log.add("inner") }
      let outer = DispatchWorkItem {
        log.add("outer")
        inner.perform()
        queue.async(execute: inner)
      }
      queue.async(execute: outer)
      outer.wait()
      queue.sync {}
      log.show()
    }
  ),
  (
    "item released without running",
    {
      final class Thing { deinit { print("released") } }
      let queue = DispatchQueue(label: "q")
      do {
        let thing = Thing()
        var item: DispatchWorkItem? = DispatchWorkItem { withExtendedLifetime(thing) {} }
        item?.notify(queue: queue) { print("notified") }
        item = nil
      }
      queue.sync {}
      pause(20, on: queue)
    }
  ),
]

let groupScenarios: [(String, () -> Void)] = [
  (
    "group used again",
    {
      let (group, queue, log) = (DispatchGroup(), DispatchQueue(label: "q"), Log())
      for round in 0..<3 {
        queue.async(group: group) { log.add("a\(round)") }
        group.enter()
        queue.async {
          log.add("b\(round)")
          group.leave()
        }
        // No library promises whether a waiter or a notification comes first.
        let notified = DispatchSemaphore(value: 0)
        group.notify(queue: queue) {
          log.add("n\(round)")
          notified.signal()
        }
        group.wait()
        notified.wait()
      }
      log.show()
    }
  ),
  (
    "group that is empty",
    {
      let (group, queue, log) = (DispatchGroup(), DispatchQueue(label: "q"), Log())
      group.wait()
      say("empty", group.wait(timeout: .now()), group.wait(wallTimeout: .now()))
      group.notify(queue: queue) { log.add("at once") }
      queue.sync {}
      log.show()
    }
  ),
  (
    "group notifies in order",
    {
      let (group, queue, log) = (DispatchGroup(), DispatchQueue(label: "q"), Log())
      group.enter()
      for number in 0..<4 { group.notify(queue: queue) { log.add(number) } }
      group.notify(queue: queue, work: DispatchWorkItem { log.add("item") })
      let cancelled = DispatchWorkItem { log.add("cancelled") }
      group.notify(queue: queue, work: cancelled)
      cancelled.cancel()
      queue.sync {}
      log.show("before:")
      group.leave()
      queue.sync {}
      log.show("after:")
    }
  ),
  (
    "group waits with a timeout",
    {
      let group = DispatchGroup()
      group.enter()
      say("early", group.wait(timeout: .now()), group.wait(timeout: .now() + .milliseconds(10)))
      say("wall", group.wait(wallTimeout: .now() + .milliseconds(10)))
      group.leave()
      say("late", group.wait(timeout: .distantFuture), group.wait(wallTimeout: .distantFuture))
    }
  ),
  (
    "group with a cancelled item",
    {
      let (group, queue, log) = (DispatchGroup(), DispatchQueue(label: "q"), Log())
      let item = DispatchWorkItem { log.add("ran") }
      item.cancel()
      queue.async(group: group, execute: item)
      // No library promises whether a waiter or a notification comes first.
      let notified = DispatchSemaphore(value: 0)
      group.notify(queue: queue) {
        log.add("notified")
        notified.signal()
      }
      group.wait()
      notified.wait()
      log.show()
    }
  ),
  (
    "group grows while it is waited for",
    {
      let (group, queue, log) = (DispatchGroup(), DispatchQueue(label: "q"), Log())
      queue.async(group: group) {
        for number in 0..<3 { queue.async(group: group) { log.add(number) } }
      }
      group.wait()
      log.show()
    }
  ),
  (
    "semaphore counts",
    {
      let semaphore = DispatchSemaphore(value: 2)
      semaphore.wait()
      say("one left", semaphore.wait(timeout: .now()), "none", semaphore.wait(timeout: .now()))
      say("none", semaphore.wait(timeout: .now() + .milliseconds(5)), semaphore.wait(wallTimeout: .now()))
      say("signal wakes", semaphore.signal(), semaphore.signal())
      semaphore.wait()
      say("left", semaphore.wait(timeout: .distantFuture))
      semaphore.signal()
      semaphore.signal()
    }
  ),
]
