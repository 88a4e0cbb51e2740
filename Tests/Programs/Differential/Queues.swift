// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch

private struct Failure: Error {}

private func attempt(_ body: () throws -> Void) -> String {
  do {
    try body()
    return "ok"
  } catch { return "\(type(of: error))" }
}

let queueScenarios: [(String, () -> Void)] = [
  (
    "queue labels",
    {
      say("main", DispatchQueue.main.label)
      for qos: DispatchQoS.QoSClass in [
        .background, .utility, .default, .userInitiated, .userInteractive, .unspecified,
      ] {
        say("\(qos)", DispatchQueue.global(qos: qos).label)
      }
      for priority: DispatchQueue.GlobalQueuePriority in [.high, .default, .low, .background] {
        say("\(priority)", DispatchQueue.global(priority: priority).label)
      }
      for label in ["", "com.example.queue", "schöne Warteschlange", String(repeating: "x", count: 200)] {
        say("label", DispatchQueue(label: label).label == label, DispatchQueue(label: label).label.count)
      }
    }
  ),
  (
    "queue quality of service",
    {
      let classes: [DispatchQoS] = [.background, .utility, .default, .userInitiated, .userInteractive, .unspecified]
      for qos in classes {
        let queue = DispatchQueue(label: "q", qos: qos)
        say("made with", qos.qosClass, "has", queue.qos.qosClass, queue.qos.relativePriority)
        say("global", DispatchQueue.global(qos: qos.qosClass).qos.qosClass)
      }
      let lower = DispatchQueue(label: "q", qos: DispatchQoS(qosClass: .utility, relativePriority: -5))
      say("lower", lower.qos.qosClass, lower.qos.relativePriority, lower.qos == .utility)
      let target = DispatchQueue(label: "q", qos: .utility)
      say("with a target", DispatchQueue(label: "q", target: target).qos.qosClass)
      say("and its own", DispatchQueue(label: "q", qos: .userInitiated, target: target).qos.qosClass)
      say("main", DispatchQueue.main.qos.qosClass)
    }
  ),
  (
    "queue runs in order",
    {
      let (queue, log) = (DispatchQueue(label: "q"), Log())
      for number in 0..<10 { queue.async { log.add(number) } }
      say("sync gives", queue.sync { log.count })
      queue.async { queue.async { log.add("nested") } }
      queue.sync {}
      queue.sync {}
      log.show()
    }
  ),
  (
    "queue sync gives values and errors",
    {
      let queue = DispatchQueue(label: "q", attributes: .concurrent)
      say("value", queue.sync { 7 }, queue.sync(flags: .barrier) { "x" })
      say("error", attempt { try queue.sync { throw Failure() } })
      say("error", attempt { try queue.sync(flags: .barrier) { throw Failure() } })
      say("nested", DispatchQueue(label: "a").sync { queue.sync { DispatchQueue.global().sync { 3 } } })
    }
  ),
  (
    "queue suspended",
    {
      let (queue, log) = (DispatchQueue(label: "q"), Log())
      queue.suspend()
      queue.suspend()
      queue.async { log.add("ran") }
      queue.resume()
      pause(10, on: .global())
      log.show("still suspended:")
      queue.resume()
      queue.sync {}
      log.show("resumed:")
    }
  ),
  (
    "queue inactive",
    {
      let log = Log()
      let target = DispatchQueue(label: "target")
      let queue = DispatchQueue(label: "q", attributes: [.initiallyInactive])
      for number in 0..<3 { queue.async { log.add(number) } }
      pause(10, on: .global())
      log.show("inactive:")
      queue.setTarget(queue: target)
      queue.async { dispatchPrecondition(condition: .onQueue(target)) }
      queue.activate()
      queue.activate()
      queue.sync {}
      log.show("active:")
    }
  ),
  (
    "queue barriers",
    {
      let (queue, log) = (DispatchQueue(label: "q", attributes: .concurrent), Log())
      for round in 0..<3 {
        for _ in 0..<3 { queue.async { log.add("r\(round)") } }
        queue.async(flags: .barrier) { log.add("B\(round)") }
      }
      queue.sync { log.add("sync") }
      log.show()
    }
  ),
  (
    "queues of one target take turns",
    {
      let target = DispatchQueue(label: "target")
      let queues = (0..<4).map { DispatchQueue(label: "q\($0)", attributes: .concurrent, target: target) }
      let (inside, most, group) = (Count(), Log(), DispatchGroup())
      var running = 0
      for number in 0..<400 {
        queues[number % 4].async(group: group) {
          running += 1
          if running != 1 { most.add("together") }
          inside.add()
          running -= 1
        }
      }
      group.wait()
      say("ran", inside.value)
      most.show()
    }
  ),
  (
    "queue target changed before it is active",
    {
      let (first, second) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"))
      let queue = DispatchQueue(label: "q", attributes: .initiallyInactive, target: first)
      let key = DispatchSpecificKey<String>()
      first.setSpecific(key: key, value: "first")
      second.setSpecific(key: key, value: "second")
      queue.async { say("on", DispatchQueue.getSpecific(key: key) ?? "none") }
      queue.setTarget(queue: second)
      queue.async { say("on", DispatchQueue.getSpecific(key: key) ?? "none") }
      say("of the queue", queue.getSpecific(key: key) ?? "none")
      queue.activate()
      queue.sync { say("on", DispatchQueue.getSpecific(key: key) ?? "none") }
      queue.sync { dispatchPrecondition(condition: .notOnQueue(first)) }
    }
  ),
  (
    "preconditions that hold",
    {
      let target = DispatchQueue(label: "target")
      let (queue, readers) = (
        DispatchQueue(label: "q", target: target), DispatchQueue(label: "r", attributes: .concurrent)
      )
      queue.sync {
        dispatchPrecondition(condition: .onQueue(queue))
        dispatchPrecondition(condition: .onQueue(target))
        dispatchPrecondition(condition: .onQueueAsBarrier(queue))
        dispatchPrecondition(condition: .notOnQueue(readers))
        readers.sync {
          dispatchPrecondition(condition: .onQueue(readers))
          dispatchPrecondition(condition: .onQueue(queue))
        }
        readers.sync(flags: .barrier) { dispatchPrecondition(condition: .onQueueAsBarrier(readers)) }
      }
      readers.async {
        dispatchPrecondition(condition: .onQueue(readers))
        dispatchPrecondition(condition: .notOnQueue(queue))
        dispatchPrecondition(condition: .notOnQueue(.main))
      }
      readers.async(flags: .barrier) { dispatchPrecondition(condition: .onQueueAsBarrier(readers)) }
      readers.sync(flags: .barrier) {}
      dispatchPrecondition(condition: .notOnQueue(queue))
      dispatchPrecondition(condition: .onQueue(.main))
      DispatchQueue.global().async(execute: DispatchWorkItem { dispatchPrecondition(condition: .notOnQueue(.main)) })
    }
  ),
  (
    "concurrent iterations",
    {
      for count in [0, 1, 7, 1000] {
        let log = Log()
        DispatchQueue.concurrentPerform(iterations: count) { log.add($0) }
        say("\(count)", log.count, Set(log.all).count)
      }
      let nested = Count()
      DispatchQueue.concurrentPerform(iterations: 8) { _ in
        DispatchQueue.concurrentPerform(iterations: 8) { _ in nested.add() }
      }
      say("nested", nested.value)
    }
  ),
  (
    "queue released with work pending",
    {
      let (done, log) = (Latch(), Log())
      do {
        let queue = DispatchQueue(label: "q")
        for number in 0..<5 { queue.async { log.add(number) } }
        queue.async { done.open() }
      }
      done.wait()
      log.show()
    }
  ),
]

let specificScenarios: [(String, () -> Void)] = [
  (
    "specific values up the targets",
    {
      let (name, depth) = (DispatchSpecificKey<String>(), DispatchSpecificKey<Int>())
      let root = DispatchQueue(label: "root")
      let middle = DispatchQueue(label: "middle", target: root)
      let leaf = DispatchQueue(label: "leaf", target: middle)
      root.setSpecific(key: name, value: "root")
      root.setSpecific(key: depth, value: 1)
      middle.setSpecific(key: depth, value: 2)
      func show(_ title: String) {
        say(title, DispatchQueue.getSpecific(key: name) ?? "none", DispatchQueue.getSpecific(key: depth) ?? 0)
      }
      show("outside")
      leaf.sync { show("leaf") }
      middle.sync { show("middle") }
      root.sync { show("root") }
      leaf.async { show("leaf, async") }
      leaf.sync {}
      leaf.sync { DispatchQueue(label: "other").sync { show("other in leaf") } }
      say("of leaf", leaf.getSpecific(key: name) ?? "none", leaf.getSpecific(key: depth) ?? 0)
      say("of middle", middle.getSpecific(key: name) ?? "none", middle.getSpecific(key: depth) ?? 0)
      middle.setSpecific(key: depth, value: nil)
      leaf.sync { show("taken away") }
      root.setSpecific(key: name, value: "new")
      leaf.sync { show("replaced") }
    }
  ),
  (
    "specific values of the main and the global queues",
    {
      let key = DispatchSpecificKey<Int>()
      DispatchQueue.main.setSpecific(key: key, value: 1)
      say("main", DispatchQueue.getSpecific(key: key) ?? 0, DispatchQueue.main.getSpecific(key: key) ?? 0)
      DispatchQueue(label: "q").sync { say("in another", DispatchQueue.getSpecific(key: key) ?? 0) }
      DispatchQueue.global().sync { say("in a global", DispatchQueue.getSpecific(key: key) ?? 0) }
    }
  ),
  (
    "specific value released",
    {
      final class Thing {
        let name: String
        let released: Latch
        init(_ name: String, _ released: Latch) { (self.name, self.released) = (name, released) }
        deinit {
          print("released", name)
          released.open()
        }
      }
      let (first, second) = (Latch(), Latch())
      let key = DispatchSpecificKey<Thing>()
      let queue = DispatchQueue(label: "q")
      queue.setSpecific(key: key, value: Thing("first", first))
      queue.setSpecific(key: key, value: Thing("second", second))
      first.wait()
      queue.setSpecific(key: key, value: nil)
      second.wait()
      say("none", queue.getSpecific(key: key) == nil)
    }
  ),
]
