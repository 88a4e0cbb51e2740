// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

/// All threads that the kernel grants are workers: the monitor is refused one.
extension Scenario {
  static let vacancies: [String: Body] = ["short-of-a-monitor": shortOfMonitor]

  /// `GC_KIND` says what is left to the monitor. There are two places.
  @Sendable private static func shortOfMonitor() {
    guard let kind = getenv("GC_KIND").flatMap({ vacant[String(cString: $0)] }) else { return complain("GC_KIND") }
    kind()
    // LeakSanitizer would want a thread of its own at the exit.
    _exit(0)
  }

  private static let vacant: [String: @Sendable () -> Void] = [
    "events": {
      haveWorkers(2)
      keepBusy { usleep(20_000) }
      requireEvents()
    },
    "events-beside-spinning": {
      haveWorkers(2)
      keepBusy { spin(milliseconds: 20) }
      requireEvents()
    },
    "slot": {
      haveWorkers(2)
      keepBusy { usleep(2_000) }
      requireLanes()
    },
    "apply": {
      haveWorkers(2)
      requireMeeting()
    },
    "apply-beside-busy-workers": {
      haveWorkers(2)
      keepBusy { usleep(2_000) }
      requireMeeting()
    },
    "long-items": {
      haveWorkers(1)
      requireTimerBetweenLongItems()
    },
    "alone": { requireNoHelp() },
    "withheld": { requireLastOfFour() },
    "sleepers": {
      haveWorkers(4)
      requireOthersWork { pause() }
    },
    "sleepers-beside-spinning": {
      haveWorkers(4)
      requireOthersWork { while true { spin(milliseconds: 1_000) } }
    },
  ]

  /// Items that submit themselves again keep all workers.
  private static func keepBusy(_ work: @escaping @Sendable () -> Void) {
    let begun = Latch(8)
    @Sendable func again() {
      begun.open()
      work()
      DispatchQueue.global().async { again() }
    }
    for _ in 0..<4 { DispatchQueue.global().async { again() } }
    require(begun.wait(), "the items run")
  }

  /// The kernel grants so many workers, and no other thread. They have nothing to do, and there are two places.
  private static func haveWorkers(_ count: Int) {
    limitThreads(rlim_t(count + 1), most: rlim_t(count + 1))
    // While each worker has a place, the monitor is not asked for.
    GrandCentralRuntime.processorOverride = count
    let (begun, gate, ended) = (Latch(count), DispatchSemaphore(value: 0), DispatchGroup())
    for _ in 0..<count {
      DispatchQueue.global().async(group: ended) {
        begun.open()
        gate.wait()
      }
    }
    require(begun.wait(), "all workers run")
    for _ in 0..<count { gate.signal() }
    ended.wait()
    GrandCentralRuntime.processorOverride = 2
  }

  private static func requireEvents() {
    guard let pipe = Kernel.closeOnExecPipe() else { return complain("no pipe") }
    let (ticks, bytes, later) = (Latch(10), Latch(10), Latch())
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "timer"))
    timer.setEventHandler { ticks.open() }
    timer.schedule(deadline: .now(), repeating: .milliseconds(10))
    timer.activate()
    let source = DispatchSource.makeReadSource(fileDescriptor: pipe.readEnd, queue: DispatchQueue(label: "reader"))
    source.setEventHandler {
      var byte: UInt8 = 0
      if read(pipe.readEnd, &byte, 1) == 1 { bytes.open() }
    }
    source.activate()
    require(write(pipe.writeEnd, "0123456789", 10) == 10, "the pipe takes ten bytes")
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(5)) { later.open() }
    require(ticks.wait(), "the timer fires")
    require(bytes.wait(), "the descriptor is read")
    require(later.wait(), "the item begins")
    timer.cancel()
    source.cancel()
  }

  /// An item waits, unseen, for queues that it has made runnable.
  private static func requireLanes() {
    let ended = Latch()
    DispatchQueue.global().async {
      let lanes = Latch(3)
      for index in 0..<3 { DispatchQueue(label: "lane-\(index)").async { lanes.open() } }
      require(lanes.wait(), "the queues' items run")
      ended.open()
    }
    require(ended.wait(), "the item ends")
  }

  /// Pieces of a call wait for each other, unseen.
  private static func requireMeeting() {
    let met = Latch(2)
    DispatchQueue.concurrentPerform(iterations: 2) { _ in
      met.open()
      require(met.wait(), "the pieces meet")
    }
  }

  /// The items of all places never end: a worker beside them does what is pending.
  private static func requireOthersWork(_ stays: @escaping @Sendable () -> Void) {
    let begun = Latch(2)
    for _ in 0..<2 {
      DispatchQueue.global().async {
        begun.open()
        stays()
      }
    }
    require(begun.wait(), "the items run")
    for _ in 0..<20 {
      // An item that finds a worker still awake proves nothing.
      usleep(2_000)
      let ran = Latch()
      DispatchQueue.global().async { ran.open() }
      require(ran.wait(), "others begin")
    }
  }

  /// Three items of a global queue wait, unseen, for a fourth one. There is a fourth worker: the last thread of the budget, which ordered
  /// work is withheld from.
  private static func requireLastOfFour() {
    limitThreads(5, most: 5)
    GrandCentralRuntime.threadBudget = 4
    GrandCentralRuntime.processorOverride = 4
    let (gate, free) = (Latch(), Latch(4))
    @Sendable func begin(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
      let begun = Latch()
      queue.async {
        begun.open()
        body()
      }
      require(begun.wait(), "the item begins")
    }
    // The last worker is started for a serial queue.
    for queue in [DispatchQueue.global(), .global(), .global(), DispatchQueue(label: "fourth")] {
      begin(on: queue) {
        gate.wait()
        free.open()
      }
    }
    gate.open()
    require(free.wait(), "there are four workers")
    let (met, ended) = (Latch(4), Latch(4))
    @Sendable func meet() {
      met.open()
      met.wait()
      ended.open()
    }
    for _ in 0..<3 { begin(on: .global()) { meet() } }
    DispatchQueue.global().async { meet() }
    require(ended.wait(), "the fourth item begins")
  }

  /// The kernel is asked for nothing while items last longer than a shortage is remembered for.
  private static func requireTimerBetweenLongItems() {
    GrandCentralRuntime.processorOverride = 1
    let (begun, found, fired) = (Counter(), Counter(), Latch())
    for _ in 0..<4 {
      DispatchQueue.global().async {
        begun.add()
        usleep(11_000_000)
      }
    }
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "timer"))
    timer.setEventHandler {
      for _ in 0..<begun.value { found.add() }
      fired.open()
    }
    timer.schedule(deadline: .now() + .milliseconds(100))
    timer.activate()
    require(fired.wait(), "the timer fires")
    require(found.value <= 2, "the timer fires once the first item has ended")
    timer.cancel()
  }

  /// No thread can be had at all: the caller of `concurrentPerform` does the work.
  private static func requireNoHelp() {
    limitThreads(1, most: 1)
    for length: UInt32 in [0, 1_000, 20_000] {
      let done = Counter()
      DispatchQueue.concurrentPerform(iterations: 8) { _ in
        usleep(length)
        done.add()
      }
      require(done.value == 8, "the caller does it all")
    }
  }
}
