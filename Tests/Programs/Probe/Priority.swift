// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

/// The lowest first: submitted in the order in which they must not run.
private let bands: [DispatchQoS] = [.background, .utility, .default, .userInitiated, .userInteractive]

/// Holds the one worker with `body` until all is submitted. When the machine was so busy that the pool brought in
/// another worker meanwhile, what it ran says nothing, so the attempt is made again.
private func attempt(_ body: (_ submitted: Latch) -> Bool) {
  for _ in 0..<10 where body(Latch()) { return }
  complain("no quiet attempt")
}

/// Names in the order in which their items started.
private struct Order {
  let names = Recorder<String>()
  let early = Counter()
  let submitted: Latch
  let done: Latch

  init(_ count: Int, _ submitted: Latch) {
    self.submitted = submitted
    done = Latch(count)
  }

  func item(_ name: String) -> @Sendable () -> Void {
    { [names, early, submitted, done] in
      if !submitted.isOpen { early.add() }
      names.note(name)
      done.open()
    }
  }

  /// False when an item started before all were submitted.
  func reportWhenDone() -> Bool {
    require(done.wait(), "every item ran: \(names.values)")
    guard early.value == 0 else { return false }
    report("order", names.values.joined(separator: ","))
    return true
  }
}

extension Scenario {
  static let priority: [String: Body] = [
    "bands": globalBands, "queue-bands": queueBands, "qos-origin": origin, "qos-flags": flags,
    "wait-raises": waitRaises, "sync-raises": syncRaises, "apply-qos": applyPropagates,
    "lend-barrier": lend { low, work in
      low.async {}
      low.sync(flags: .barrier, execute: work)
    },
    "lend-behind-barrier": lend { low, work in
      low.async {}
      low.async(flags: .barrier) {}
      low.sync(execute: work)
    },
    "lend-item": lend { low, work in
      low.async {}
      waitForItem(work) { low.async(execute: $0) }
    },
    "lend-limited": lend(DispatchQueue(label: "low", qos: .background, maximumConcurrency: 1)) { low, work in
      low.async {}
      low.sync(execute: work)
    },
    "lend-global": lend { _, work in waitForItem(work) { DispatchQueue.global(qos: .background).async(execute: $0) } },
    "lend-later": lend { low, work in
      waitForItem(work) { low.asyncAfter(deadline: .now() + .milliseconds(2), execute: $0) }
    },
    "lend-later-serial": lend(DispatchQueue(label: "low", qos: .background)) { low, work in
      waitForItem(work) { low.asyncAfter(deadline: .now() + .milliseconds(2), execute: $0) }
    },
    "lend-task-item": lendInTask(DispatchQueue(label: "low", qos: .background)) { low, item in
      low.async(execute: item)
      try await item.value()
    },
    "lend-task-timeout": lendInTask(DispatchQueue(label: "low", qos: .background)) { low, item in
      low.async(execute: item)
      _ = try await item.asyncWait(timeout: .distantFuture)
    },
    "lend-task-later": lendInTask(DispatchQueue(label: "low", qos: .background)) { low, item in
      low.asyncAfter(deadline: .now() + .milliseconds(100), execute: item)
      try await item.value()
    },
    "lend-task-barrier": lendInTask { low, item in
      low.async {}
      low.async(execute: item)
      try await low.barrier()
    },
    "lend-task-global": lendInTask { _, item in
      DispatchQueue.global(qos: .background).async(execute: item)
      try await item.value()
    },
    "lend-task-escalated": lendInTask(DispatchQueue(label: "low", qos: .background)) { low, item in
      low.async(execute: item)
      let task = Task.detached(priority: .background) { try await item.value() }
      try await Task.sleep(for: .milliseconds(50))
      try await task.value
    },
    "lend-async-and-wait": lend(DispatchQueue(label: "low", qos: .background)) { low, work in
      low.async {}
      low.asyncAndWait(execute: work)
    },
  ]

  private static func waitForItem(_ work: @escaping @Sendable () -> Void, _ submit: (DispatchWorkItem) -> Void) {
    let item = DispatchWorkItem(block: work)
    submit(item)
    item.wait()
  }

  /// As `lend`, where a task of high priority waits, on the runtime's own pool, and the load is as urgent as the task.
  private static func lendInTask(
    _ make: @autoclosure @escaping @Sendable () -> DispatchQueue = DispatchQueue(
      label: "low", qos: .background, attributes: .concurrent),
    _ wait: @escaping @Sendable (DispatchQueue, DispatchWorkItem) async throws -> Void
  ) -> Body {
    lend(make(), load: .userInitiated) { low, work in
      let (item, waited) = (DispatchWorkItem(block: work), Latch())
      Task.detached(priority: .high) {
        try await wait(low, item)
        waited.open()
      }
      waited.wait()
    }
  }

  /// While items of the QoS `load` submit themselves again and again, the main thread waits for work on a queue of background QoS. Reports
  /// whether the wait ended before they did.
  private static func lend(
    _ make: @autoclosure @escaping @Sendable () -> DispatchQueue = DispatchQueue(
      label: "low", qos: .background, attributes: .concurrent),
    load: DispatchQoS.QoSClass = .default,
    _ wait: @escaping @Sendable (DispatchQueue, @escaping @Sendable () -> Void) -> Void
  ) -> Body {
    {
      let (low, links, waited, isOver) = (make(), Counter(), Latch(), Latch(2))
      let end = monotonicNanoseconds() + 10_000_000_000
      @Sendable func link() {
        links.add()
        if waited.isOpen || monotonicNanoseconds() > end { return isOver.open() }
        DispatchQueue.global(qos: load).async(execute: link)
      }
      for _ in 0..<2 { DispatchQueue.global(qos: load).async(execute: link) }
      require(eventually { links.value > 1000 }, "the load runs")
      let runs = Counter()
      wait(low) { runs.add() }
      report("in-time", monotonicNanoseconds() < end ? 1 : 0)
      report("runs", runs.value)
      waited.open()
      require(isOver.wait(), "the load ends")
    }
  }

  @Sendable private static func globalBands() {
    attempt { submitted in
      let (order, early, done) = (StartOrder(items: 500), Counter(), Latch(500))
      DispatchQueue.global(qos: .userInteractive).async {
        for (rank, qos) in bands.enumerated() {
          for index in 0..<100 {
            DispatchQueue.global(qos: qos.qosClass).async {
              if !submitted.isOpen { early.add() }
              order.started((bands.count - 1 - rank) * 100 + index)
              done.open()
            }
          }
        }
        submitted.open()
      }
      require(done.wait(), "every item ran")
      guard early.value == 0 else { return false }
      report("started", order.count)
      report("overtaken", order.worst)
      report("threads", order.threads)
      return true
    }
  }

  @Sendable private static func queueBands() {
    attempt { submitted in
      let (early, done, threads) = (Counter(), Latch(500), Guarded<Set<Int32>>([]))
      // Counted by queues, not by items: a thread that the kernel stops keeps the queue that it drains, with all its items.
      let none = Array(repeating: Array(repeating: 0, count: 10), count: bands.count)
      let state = Guarded<(started: [[Int]], worst: Int)>((none, 0))
      let queues = bands.map { qos in (0..<10).map { DispatchQueue(label: "\(qos.qosClass)-\($0)", qos: qos) } }
      DispatchQueue.global(qos: .userInteractive).async {
        for rank in bands.indices {
          for index in 0..<100 {
            queues[rank][index % 10].async {
              if !submitted.isOpen { early.add() }
              let thread = Kernel.threadID
              threads.with { _ = $0.insert(thread) }
              state.with {
                let missing = $0.started[(rank + 1)...].joined().count { $0 < 10 }
                $0.worst = max($0.worst, missing)
                $0.started[rank][index % 10] += 1
              }
              done.open()
            }
          }
        }
        submitted.open()
      }
      require(done.wait(), "every item ran")
      guard early.value == 0 else { return false }
      report("overtaken", state.with { $0.worst })
      report("threads", threads.with { $0.count })
      return true
    }
  }

  @Sendable private static func origin() {
    attempt { submitted in
      let order = Order(4, submitted)
      let own = DispatchQueue(label: "own", qos: .utility)
      let target = DispatchQueue(label: "target", target: .global(qos: .background))
      let plain = DispatchQueue(label: "inherits")
      let items = (
        order.item("target"), order.item("own"), order.item("plain"), order.item("inherited")
      )
      DispatchQueue.global(qos: .userInitiated).async {
        target.async(execute: items.0)
        own.async(execute: items.1)
        DispatchQueue.global().async(execute: items.2)
        plain.async(execute: items.3)
        submitted.open()
      }
      return order.reportWhenDone()
    }
  }

  @Sendable private static func flags() {
    attempt { submitted in
      let order = Order(3, submitted)
      let background = DispatchQueue(label: "background", qos: .background)
      let (first, second) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"))
      let items = (order.item("detached"), order.item("inherited"), order.item("enforced"))
      DispatchQueue.global(qos: .userInitiated).async {
        first.async(flags: .detached, execute: items.0)
        second.async(execute: items.1)
        background.async(qos: .userInteractive, flags: .enforceQoS, execute: items.2)
        submitted.open()
      }
      return order.reportWhenDone()
    }
  }

  /// `block` waits, at user-initiated QoS, for `urgent` on a background queue, while items of default QoS are pending.
  private static func raise(_ block: @escaping @Sendable (DispatchQueue, @escaping @Sendable () -> Void) -> Void) {
    attempt { submitted in
      let queue = DispatchQueue(label: "low", qos: .background)
      let (before, early, done) = (Counter(-1), Counter(), Latch(101))
      let started = StartOrder(items: 101)
      DispatchQueue.global(qos: .userInitiated).async {
        for index in 1...100 {
          DispatchQueue.global().async {
            if !submitted.isOpen { early.add() }
            started.started(index)
            done.open()
          }
        }
        submitted.open()
        block(queue) {
          before.add(1 + started.count)
          started.started(0)
          done.open()
        }
      }
      require(done.wait(), "every item ran")
      guard early.value == 0, before.value < started.threads else { return false }
      report("before", before.value)
      report("threads", started.threads)
      return true
    }
  }

  @Sendable private static func waitRaises() {
    raise { queue, urgent in
      let item = DispatchWorkItem(block: urgent)
      queue.async(execute: item)
      item.wait()
    }
  }

  @Sendable private static func syncRaises() {
    raise { queue, urgent in
      queue.async(execute: urgent)
      queue.sync {}
    }
  }

  /// The second worker finds many items of default QoS, and must help with the iterations before it takes them up.
  @Sendable private static func applyPropagates() {
    let (started, startedBefore, helped, done) = (Counter(), Counter(-1), Counter(), Latch())
    // What had started when the caller came to its first iteration, and to its second: by then it has had help submitted itself, as the
    // first one was long.
    let begins = Recorder<Int>()
    DispatchQueue.global(qos: .userInitiated).async {
      for _ in 0..<100 {
        DispatchQueue.global().async {
          started.add()
          spin(milliseconds: 2)
        }
      }
      let caller = Kernel.threadID
      DispatchQueue.concurrentPerform(iterations: 200) { _ in
        if Kernel.threadID == caller {
          if begins.count < 2 { begins.note(started.value) }
          // However long the machine lets the other worker wait.
          if begins.count == 2 { _ = eventually { helped.value > 0 } }
        } else if helped.add() == 1 {
          startedBefore.add(1 + started.value)
        }
        spin(milliseconds: 1)
      }
      done.open()
    }
    require(done.wait(), "every iteration ran")
    report("startedBefore", startedBefore.value)
    report("helped", helped.value)
    report("first", helped.value > 0 && startedBefore.value - (begins.values.last ?? 0) < 50)
    exit(0)
  }
}
