// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting

// Queues upon queues, work items, and timers that are set again.
extension OrderProgram {
  static let nested = [
    OrderProgram("an item comes to a queue upon a queue while it has its turn") { sim in
      let (bottom, seen) = (DispatchQueue(label: "bottom"), Letters(""))
      let top = DispatchQueue(label: "top", target: bottom)
      let lock = DispatchSemaphore(value: 0)
      top.async {
        lock.signal()
        seen.value += "a"
      }
      item {
        lock.wait()
        bottom.async { seen.value += "c" }
        top.async { seen.value += "b" }
      }
      sim.run()
      return seen.value
    },
    OrderProgram("an item comes to a queue upon a queue beside a sync there") { sim in
      let (bottom, seen) = (DispatchQueue(label: "bottom"), Letters(""))
      let top = DispatchQueue(label: "top", target: bottom)
      item { top.sync { seen.value += "a" } }
      item {
        bottom.async { seen.value += "c" }
        top.async { seen.value += "b" }
      }
      sim.run()
      return seen.value
    },
    OrderProgram("two queues upon one") { sim in
      let (bottom, seen) = (DispatchQueue(label: "bottom"), Letters(""))
      let (left, right) = (DispatchQueue(label: "left", target: bottom), DispatchQueue(label: "right", target: bottom))
      item { for letter in ["a", "b"] { left.async { seen.value += letter } } }
      item { right.async { seen.value += "c" } }
      sim.run()
      return seen.value
    },
  ]

  static let deeper = [
    OrderProgram("a sync ends on a queue upon a queue that holds an item, and another one asks for the lower one") {
      sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      let lower = DispatchQueue(label: "lower")
      let upper = DispatchQueue(label: "upper", target: lower)
      item { lower.sync { queue.async { seen.value += "a" } } }
      item {
        upper.async { queue.async { seen.value += "b" } }
        queue.async { seen.value += "c" }
      }
      item { upper.sync { queue.async { seen.value += "d" } } }
      sim.run()
      return seen.value
    },
    OrderProgram("three queues, one upon the other") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      let bottom = DispatchQueue(label: "bottom")
      let middle = DispatchQueue(label: "middle", target: bottom)
      let top = DispatchQueue(label: "top", target: middle)
      item { top.sync { queue.async { seen.value += "t" } } }
      item { middle.async { queue.async { seen.value += "m" } } }
      item { bottom.sync { queue.async { seen.value += "b" } } }
      sim.run()
      return seen.value
    },
    OrderProgram("readers upon a serial queue, and a barrier") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      let bottom = DispatchQueue(label: "bottom")
      let readers = DispatchQueue(label: "readers", attributes: .concurrent, target: bottom)
      item { readers.sync { queue.async { seen.value += "r" } } }
      item { readers.sync(flags: .barrier) { queue.async { seen.value += "w" } } }
      item { bottom.async { queue.async { seen.value += "b" } } }
      sim.run()
      return seen.value
    },
    OrderProgram("a serial queue upon a concurrent one, and a barrier there") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      let bottom = DispatchQueue(label: "bottom", attributes: .concurrent)
      let top = DispatchQueue(label: "top", target: bottom)
      item { top.sync { queue.async { seen.value += "t" } } }
      item { bottom.sync(flags: .barrier) { queue.async { seen.value += "w" } } }
      item { top.async { queue.async { seen.value += "a" } } }
      sim.run()
      return seen.value
    },
    OrderProgram("a queue upon the main queue") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      let top = DispatchQueue(label: "top", target: .main)
      item { top.async { queue.async { seen.value += "t" } } }
      item { DispatchQueue.main.async { queue.async { seen.value += "m" } } }
      item { top.sync { queue.async { seen.value += "s" } } }
      sim.run()
      return seen.value
    },
  ]

  static let items = [
    OrderProgram("a work item ends, and is waited for", needs: (.changes, .looks)) { sim in
      let (work, hasEnded) = (DispatchWorkItem {}, Box(false))
      DispatchQueue.global().async(execute: work)
      item { hasEnded.value = work.wait(timeout: .now()) == .success }
      sim.run()
      return "\(hasEnded.value)"
    },
    OrderProgram("a work item is cancelled, and begins", needs: (.changes, .looks)) { sim in
      let seen = Letters("")
      let work = DispatchWorkItem { seen.value += "a" }
      DispatchQueue.global().async(execute: work)
      item { work.cancel() }
      sim.run()
      return seen.value
    },
    OrderProgram("a work item is cancelled while it looks whether it is") { sim in
      let seen = Letters("")
      let found = Box<DispatchWorkItem?>(nil)
      let work = DispatchWorkItem { for _ in 0..<2 { seen.value += found.value!.isCancelled ? "c" : "r" } }
      found.value = work
      DispatchQueue.global().async(execute: work)
      item { work.cancel() }
      sim.run()
      found.value = nil
      return seen.value
    },
    OrderProgram("two ask a work item to notify", needs: (.changes, .changes)) { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      let work = DispatchWorkItem {}
      for letter in ["a", "b"] { item { work.notify(queue: queue) { seen.value += letter } } }
      sim.run()
      work.perform()
      sim.run()
      return seen.value
    },
    OrderProgram("a work item ends, notifies, and others ask for the queue") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      let work = DispatchWorkItem {}
      DispatchQueue.global().async(execute: work)
      item {
        queue.async { seen.value += "a" }
        work.notify(queue: queue) { seen.value += "n" }
        queue.async { seen.value += "b" }
      }
      sim.run()
      return seen.value
    },
  ]

  static let timersAgain = [
    OrderProgram("a repeating timer, and its cancellation by an item of its queue") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Box(0))
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.schedule(deadline: .now() + later, repeating: later)
      timer.setEventHandler { seen.value += 1 }
      timer.resume()
      DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(2)) { queue.sync { timer.cancel() } }
      sim.run()
      return "\(seen.value)"
    },
    OrderProgram("a timer that is set is set again, to another one's instant") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.setEventHandler { seen.value += "t" }
      timer.schedule(deadline: .now() + .seconds(9))
      timer.activate()
      sim.advance(by: .zero)
      item { timer.schedule(deadline: .now() + later) }
      item { queue.asyncAfter(deadline: .now() + later) { seen.value += "a" } }
      sim.run()
      return seen.value
    },
  ]
}

extension OrderProgram {
  static let sources = [
    OrderProgram("data are merged into a source twice", needs: (.changes, .changes)) { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      let source = DispatchSource.makeUserDataAddSource(queue: queue)
      source.setEventHandler { seen.value += "\(source.data)" }
      source.activate()
      for data: UInt in [1, 2] { item { source.add(data: data) } }
      sim.run()
      source.setEventHandler(handler: nil)
      return seen.value
    },
    OrderProgram("a source is cancelled beside its data") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      let source = DispatchSource.makeUserDataAddSource(queue: queue)
      source.setEventHandler { seen.value += source.isCancelled ? "c" : "d" }
      source.activate()
      item { source.add(data: 1) }
      item { source.cancel() }
      sim.run()
      source.setEventHandler(handler: nil)
      return seen.value
    },
  ]
}

extension OrderProgram {
  static let onces = [
    OrderProgram("two run one once") { sim in
      let (once, seen) = (DispatchOnce(), Letters(""))
      for letter in ["a", "b"] { item { once.run { seen.value += letter } } }
      sim.run()
      return seen.value
    },
    OrderProgram("three run one once, and then ask for a queue") { sim in
      let (once, queue) = (DispatchOnce(), DispatchQueue(label: "queue"))
      let (first, seen) = (Letters(""), Letters(""))
      for letter in ["a", "b", "c"] {
        item {
          once.run { first.value = letter }
          queue.sync { seen.value += letter }
        }
      }
      sim.run()
      return first.value + seen.value
    },
    OrderProgram("the body of a once asks for a queue") { sim in
      let (once, queue, seen) = (DispatchOnce(), DispatchQueue(label: "queue"), Letters(""))
      item { once.run { queue.sync { seen.value += "a" } } }
      item {
        queue.sync { seen.value += "b" }
        once.run { seen.value += "c" }
      }
      sim.run()
      return seen.value
    },
  ]
}
