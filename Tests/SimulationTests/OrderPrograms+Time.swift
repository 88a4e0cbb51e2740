// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting

// What comes at one instant: the ends of waits by their deadlines, and timers. And what a source does beside what is done to it.
extension OrderProgram {
  static let instants = [
    OrderProgram("a wait ends by its deadline at a timer's instant") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      let never = DispatchSemaphore(value: 0)
      item {
        _ = never.wait(timeout: .now() + later)
        queue.async { seen.value += "w" }
      }
      queue.asyncAfter(deadline: .now() + later) { seen.value += "a" }
      sim.run()
      return seen.value
    },
    OrderProgram("the body waits until a timer's instant") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      queue.asyncAfter(deadline: .now() + later) { seen.value += "a" }
      let group = DispatchGroup()
      group.enter()
      _ = group.wait(timeout: .now() + later)
      queue.async { seen.value += "w" }
      sim.run()
      group.leave()
      return seen.value
    },
    OrderProgram("two timers of one instant: an item of the first one comes to the second one's queue") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      DispatchQueue.global().asyncAfter(deadline: .now() + later) { queue.async { seen.value += "p" } }
      queue.asyncAfter(deadline: .now() + later) { seen.value += "a" }
      sim.run()
      return seen.value
    },
    OrderProgram("a timer is set to the past, at another one's instant", needs: (.setsTimer, .firesTimers)) { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      let (never, start) = (DispatchSemaphore(value: 0), DispatchTime.now())
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.setEventHandler { seen.value += "t" }
      timer.activate()
      queue.asyncAfter(deadline: start + later) { seen.value += "a" }
      item {
        _ = never.wait(timeout: start + later)
        timer.schedule(deadline: start + .milliseconds(500))
      }
      sim.run()
      timer.cancel()
      return seen.value
    },
    OrderProgram("a barrier is cancelled at its instant, before a reader", needs: (.stopsTimer, .firesTimers)) { sim in
      let (queue, seen, never) = (DispatchQueue(label: "queue"), Letters(""), DispatchSemaphore(value: 0))
      let readers = DispatchQueue(label: "readers", attributes: .concurrent)
      let work = DispatchWorkItem(flags: .barrier) {}
      readers.async { _ = never.wait(timeout: .now() + .seconds(4)) }
      readers.asyncAfter(deadline: .now() + later, execute: work)
      readers.asyncAfter(deadline: .now() + .seconds(2)) { queue.async { seen.value += "r" } }
      queue.asyncAfter(deadline: .now() + .seconds(3)) { seen.value += "y" }
      item {
        _ = never.wait(timeout: .now() + later)
        work.cancel()
      }
      sim.run()
      return seen.value
    },
    OrderProgram("a repeating timer on a global queue, and its cancellation at its instant") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      let timer = DispatchSource.makeTimerSource(queue: .global())
      timer.setEventHandler { queue.sync { seen.value += "t" } }
      timer.schedule(deadline: .now() + later, repeating: later)
      timer.activate()
      DispatchQueue.global().asyncAfter(deadline: .now() + later) {
        timer.cancel()
        queue.sync { seen.value += "b" }
      }
      sim.run()
      return seen.value
    },
  ]

  static let suspensions = [
    OrderProgram("a source is suspended beside its data") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      let source = DispatchSource.makeUserDataAddSource(queue: queue)
      source.setEventHandler { seen.value += "d" }
      source.activate()
      item { source.add(data: 1) }
      item { source.suspend() }
      sim.run()
      let before = seen.value
      source.setEventHandler(handler: nil)
      source.resume()
      source.cancel()
      return before
    },
    OrderProgram("a suspended source is resumed beside its data") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      let source = DispatchSource.makeUserDataAddSource(queue: queue)
      source.setEventHandler { [unowned source] in seen.value += "\(source.data)" }
      source.activate()
      source.suspend()
      item {
        source.add(data: 1)
        queue.async { seen.value += "a" }
      }
      item { source.resume() }
      sim.run()
      source.cancel()
      return seen.value
    },
    OrderProgram("a source gets another target beside its data") { sim in
      let (first, second) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"))
      let (key, seen) = (DispatchSpecificKey<Bool>(), Letters(""))
      second.setSpecific(key: key, value: true)
      let source = DispatchSource.makeUserDataAddSource(queue: first)
      source.setEventHandler { seen.value += DispatchQueue.getSpecific(key: key) == true ? "2" : "1" }
      source.activate()
      item { source.add(data: 1) }
      item { source.setTarget(queue: second) }
      sim.run()
      source.cancel()
      return seen.value
    },
    OrderProgram("a source's data are looked at from outside") { sim in
      let source = DispatchSource.makeUserDataAddSource(queue: DispatchQueue(label: "queue"))
      source.setEventHandler {}
      source.activate()
      // The worker that has delivered looks as well.
      source.add(data: 1)
      sim.run()
      let found = Box<UInt>(0)
      item { source.add(data: 3) }
      item { found.value = source.data }
      sim.run()
      source.cancel()
      return "\(found.value)"
    },
  ]
}
