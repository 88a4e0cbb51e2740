// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting

/// A program with few operations, whose outcome shows in which order they came.
struct OrderProgram: Sendable {
  let name: String
  /// How many interruptions show all outcomes in the search without equivalence.
  let preemptions: Int
  /// Without this pair among the dependent ones the program has outcomes that are not found.
  let needs: Dependence.Pair?
  /// Says what has come out.
  let run: @Sendable (Simulation) -> String

  init(
    _ name: String, preemptions: Int = 2, needs: Dependence.Pair? = nil,
    _ run: @escaping @Sendable (Simulation) -> String
  ) {
    self.name = name
    self.preemptions = preemptions
    self.needs = needs
    self.run = run
  }

  static let all = queues + nested + semaphores + groups + timers + finer + memory
  /// Other strategies have no point before each of their operations, or show all orders with more interruptions alone.
  static let finer = deeper + items + timersAgain + instants + sources + suspensions + onces
}

let later = DispatchTimeInterval.seconds(1)

func item(_ work: @escaping @Sendable () -> Void) { DispatchQueue.global().async(execute: work) }

/// Letters in the order in which they have come; added by items of one queue.
typealias Letters = Box<String>

extension OrderProgram {
  static let queues = [
    OrderProgram("two ask for one queue", needs: (.asks, .asks)) { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      for letter in ["a", "b"] { item { queue.sync { seen.value += letter } } }
      sim.run()
      return seen.value
    },
    OrderProgram("three ask for one queue") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      for letter in ["a", "b", "c"] { item { queue.sync { seen.value += letter } } }
      sim.run()
      return seen.value
    },
    OrderProgram("two submit to one queue, one twice") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      item {
        queue.async { seen.value += "a" }
        queue.async { seen.value += "b" }
      }
      item { queue.async { seen.value += "c" } }
      sim.run()
      return seen.value
    },
    OrderProgram("two queues, in either order") { sim in
      let queues = (0..<2).map { DispatchQueue(label: "queue \($0)") }
      let seen = [Letters(""), Letters("")]
      item { for index in [0, 1] { queues[index].sync { seen[index].value += "a" } } }
      item { for index in [1, 0] { queues[index].sync { seen[index].value += "b" } } }
      sim.run()
      return seen[0].value + " " + seen[1].value
    },
    OrderProgram("a queue inside of another one, beside a third thread") { sim in
      let queues = (0..<2).map { DispatchQueue(label: "queue \($0)") }
      let seen = [Letters(""), Letters("")]
      for letter in ["a", "b"] {
        item {
          queues[0].sync {
            seen[0].value += letter
            queues[1].sync { seen[1].value += letter }
          }
        }
      }
      item { queues[1].sync { seen[1].value += "c" } }
      sim.run()
      return seen[0].value + " " + seen[1].value
    },
    OrderProgram("a read, a read again, and a barrier") { sim in
      let queue = DispatchQueue(label: "values", attributes: .concurrent)
      let (value, seen) = (Box(0), Box([-1, -1]))
      item { queue.sync(flags: .barrier) { value.value = 1 } }
      item {
        let first = queue.sync { value.value }
        seen.value = [first, queue.sync { value.value }]
      }
      sim.run()
      return "\(seen.value)"
    },
    OrderProgram("two readers, and a barrier that is submitted") { sim in
      let queue = DispatchQueue(label: "values", attributes: .concurrent)
      let (value, first, second) = (Box(0), Box(-1), Box(-1))
      item { queue.async(flags: .barrier) { value.value = 1 } }
      item { first.value = queue.sync { value.value } }
      item { second.value = queue.sync { value.value } }
      sim.run()
      return "\(first.value) \(second.value)"
    },
    OrderProgram("queues with one target") { sim in
      let target = DispatchQueue(label: "target")
      let queues = (0..<2).map { DispatchQueue(label: "queue \($0)", target: target) }
      let seen = Letters("")
      item { queues[0].async { seen.value += "a" } }
      item { queues[1].sync { seen.value += "b" } }
      sim.run()
      return seen.value
    },
    OrderProgram("an item hands on to a second queue, on which another one waits") { sim in
      let (first, second, seen) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"), Letters(""))
      first.async {
        second.async { seen.value += "a" }
        second.sync { seen.value += "b" }
      }
      item { second.sync { seen.value += "c" } }
      sim.run()
      return seen.value
    },
    OrderProgram("an item is submitted behind one that runs, and its submitter goes on") { sim in
      let (first, second, seen) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"), Letters(""))
      let hasBegun = DispatchSemaphore(value: 0)
      first.async { hasBegun.signal() }
      hasBegun.wait()
      first.async { second.sync { seen.value += "a" } }
      second.sync { seen.value += "b" }
      sim.run()
      return seen.value
    },
    OrderProgram("the main queue") { sim in
      let seen = Letters("")
      for letter in ["a", "b"] { item { DispatchQueue.main.async { seen.value += letter } } }
      sim.run()
      return seen.value
    },
  ]

  static let semaphores = [
    OrderProgram("a signal, and a wait that does not wait", needs: (.signals, .awaitsSignal)) { sim in
      let (semaphore, got) = (DispatchSemaphore(value: 0), Box(false))
      item { semaphore.signal() }
      item { got.value = semaphore.wait(timeout: .now()) == .success }
      sim.run()
      return "\(got.value)"
    },
    OrderProgram("two waits for one signal", needs: (.awaitsSignal, .awaitsSignal)) { sim in
      let (semaphore, got) = (DispatchSemaphore(value: 0), [Box(false), Box(false)])
      semaphore.signal()
      for index in 0..<2 { item { got[index].value = semaphore.wait(timeout: .now()) == .success } }
      sim.run()
      return "\(got[0].value) \(got[1].value)"
    },
    OrderProgram("two signals, of which one wakes", needs: (.signals, .signals)) { sim in
      let (semaphore, woken) = (DispatchSemaphore(value: 0), [Box(-1), Box(-1)])
      item { semaphore.wait() }
      sim.advance(by: .zero)
      for index in 0..<2 { item { woken[index].value = semaphore.signal() } }
      sim.run()
      return "\(woken[0].value) \(woken[1].value)"
    },
    OrderProgram("a wait whose deadline comes with the signal") { sim in
      let (semaphore, got) = (DispatchSemaphore(value: 0), Box(false))
      item { got.value = semaphore.wait(timeout: .now() + later) == .success }
      DispatchQueue.global().asyncAfter(deadline: .now() + later) { semaphore.signal() }
      sim.run()
      return "\(got.value)"
    },
    OrderProgram("two waits for as many signals, and which one is first") { sim in
      let (semaphore, queue, seen) = (DispatchSemaphore(value: 0), DispatchQueue(label: "queue"), Letters(""))
      for letter in ["a", "b"] {
        item {
          semaphore.wait()
          queue.sync { seen.value += letter }
        }
      }
      semaphore.signal()
      semaphore.signal()
      sim.run()
      return seen.value
    },
  ]

  static let groups = [
    OrderProgram("a group is entered while another member leaves", needs: (.enters, .leaves)) { sim in
      let (group, queue, seen) = (DispatchGroup(), DispatchQueue(label: "queue"), Letters(""))
      group.enter()
      group.notify(queue: queue) { seen.value += "n" }
      item {
        group.enter()
        queue.async { seen.value += "a" }
        group.leave()
      }
      item { group.leave() }
      sim.run()
      return seen.value
    },
    OrderProgram("a group is entered, and waited for", needs: (.enters, .awaitsGroup)) { sim in
      let (group, isEmpty) = (DispatchGroup(), Box(false))
      item { group.enter() }
      item { isEmpty.value = group.wait(timeout: .now()) == .success }
      sim.advance(by: .zero)
      group.leave()
      sim.run()
      return "\(isEmpty.value)"
    },
    OrderProgram("a group is left, and waited for", needs: (.leaves, .awaitsGroup)) { sim in
      let (group, isEmpty) = (DispatchGroup(), Box(false))
      group.enter()
      item { group.leave() }
      item { isEmpty.value = group.wait(timeout: .now()) == .success }
      sim.run()
      return "\(isEmpty.value)"
    },
    OrderProgram("a group is entered, and is to notify", needs: (.enters, .notifies)) { sim in
      let (group, queue, seen) = (DispatchGroup(), DispatchQueue(label: "queue"), Letters(""))
      item {
        group.enter()
        queue.async { seen.value += "a" }
        group.leave()
      }
      item { group.notify(queue: queue) { seen.value += "n" } }
      sim.run()
      return seen.value
    },
    OrderProgram("a group is to notify while its member leaves", needs: (.leaves, .notifies)) { sim in
      let (group, queue, seen) = (DispatchGroup(), DispatchQueue(label: "queue"), Letters(""))
      group.enter()
      item { group.notify(queue: queue) { seen.value += "n" } }
      item {
        group.leave()
        queue.async { seen.value += "a" }
      }
      sim.run()
      return seen.value
    },
    OrderProgram("a group is to notify twice", needs: (.notifies, .notifies)) { sim in
      let (group, queue, seen) = (DispatchGroup(), DispatchQueue(label: "queue"), Letters(""))
      group.enter()
      for letter in ["m", "n"] { item { group.notify(queue: queue) { seen.value += letter } } }
      sim.advance(by: .zero)
      group.leave()
      sim.run()
      return seen.value
    },
    OrderProgram("two members leave, and go on", preemptions: 3, needs: (.leaves, .leaves)) { sim in
      let (group, queue, seen) = (DispatchGroup(), DispatchQueue(label: "queue"), Letters(""))
      for _ in 0..<2 { group.enter() }
      group.notify(queue: queue) { seen.value += "n" }
      for letter in ["a", "b"] {
        item {
          group.leave()
          queue.async { seen.value += letter }
        }
      }
      sim.run()
      return seen.value
    },
    OrderProgram("a group is waited for") { sim in
      let (group, queue, seen) = (DispatchGroup(), DispatchQueue(label: "queue"), Letters(""))
      for letter in ["a", "b"] { queue.async(group: group) { seen.value += letter } }
      item { queue.async { seen.value += "c" } }
      group.wait()
      let then = queue.sync { seen.value.count }
      sim.run()
      return seen.value + " \(then == 3 ? "three" : "two")"
    },
  ]

  static let memory = [
    OrderProgram("two add without a lock, and yield in between", needs: (.touches, .touches)) { sim in
      let sum = Box(0)
      for _ in 0..<2 {
        item {
          let seen = sum.value
          Simulation.yield()
          sum.value = seen + 1
        }
      }
      sim.run()
      return "\(sum.value)"
    }
  ]

  static let timers = [
    OrderProgram("two timers of one instant", needs: (.setsTimer, .setsTimer)) { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      for letter in ["a", "b"] { item { queue.asyncAfter(deadline: .now() + later) { seen.value += letter } } }
      sim.run()
      return seen.value
    },
    OrderProgram("a timer of one item, and an item that comes then") { sim in
      let (queue, seen) = (DispatchQueue(label: "queue"), Letters(""))
      DispatchQueue.global().asyncAfter(deadline: .now() + later) { queue.sync { seen.value += "a" } }
      DispatchQueue.global().asyncAfter(deadline: .now() + later) { queue.sync { seen.value += "b" } }
      item { queue.async { seen.value += "c" } }
      sim.run()
      return seen.value
    },
  ]
}
