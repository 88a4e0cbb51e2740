// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let mainQueue: [String: Body] = [
    "main-drains": drains, "main-sync": syncs, "main-serial": serial, "main-current": current,
    "main-loop": foreignLoop, "main-loop-nested": nestedLoop, "main-suspend": suspends,
    "main-loop-endless": endlessLoop,
    "main-sync-on-main": syncOnMain, "main-again": again, "main-again-in-drain": againInDrain,
    "main-sync-caller": syncCaller, "main-fork-beside-item": forkBesideItem, "main-loop-fork": forkLoop,
  ]

  private static func finish() { DispatchQueue.main.async { exit(0) } }

  @Sendable private static func drains() {
    let done = DispatchGroup()
    done.enter()
    DispatchQueue.global().async {
      DispatchQueue.main.async {
        report("async", isMainThread)
        done.leave()
      }
    }
    done.enter()
    DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(10)) {
      report("after", isMainThread)
      done.leave()
    }
    done.notify(queue: .main) {
      report("group", isMainThread)
      exit(0)
    }
    dispatchMain()
  }

  @Sendable private static func syncs() {
    let targeting = DispatchQueue(label: "targeting", target: .main)
    DispatchQueue.global().async {
      report("sync", DispatchQueue.main.sync { isMainThread })
      report("asyncAndWait", DispatchQueue.main.asyncAndWait { isMainThread })
      report("targetingSync", targeting.sync { isMainThread })
      report("targetingAsyncAndWait", targeting.asyncAndWait { isMainThread })
      targeting.async {
        report("targetingAsync", isMainThread)
        finish()
      }
    }
    dispatchMain()
  }

  /// The queues of a caller that waits for the main thread are those of the item as well.
  @Sendable private static func syncCaller() {
    let (queue, other) = (DispatchQueue(label: "queue"), DispatchQueue(label: "other"))
    queue.async {
      DispatchQueue.main.sync {
        dispatchPrecondition(condition: .onQueue(queue))
        dispatchPrecondition(condition: .onQueueAsBarrier(queue))
        dispatchPrecondition(condition: .onQueue(.main))
        dispatchPrecondition(condition: .notOnQueue(other))
        report("inItem", isMainThread)
      }
      DispatchQueue.main.async {
        dispatchPrecondition(condition: .notOnQueue(queue))
        exit(0)
      }
    }
    dispatchMain()
  }

  @Sendable private static func serial() {
    let (occupancy, onMain) = (Occupancy(), Counter())
    let log = Unprotected<[(submitter: Int, index: Int)]>([])
    let submitters = DispatchGroup()
    for submitter in 0..<3 {
      DispatchQueue(label: "submitter-\(submitter)").async(group: submitters) {
        for index in 0..<1_000 {
          DispatchQueue.main.async {
            occupancy.enter()
            log.value.append((submitter, index))
            if isMainThread { onMain.add() }
            occupancy.leave()
          }
        }
      }
    }
    submitters.notify(queue: .main) {
      let ordered = (0..<3).allSatisfy { submitter in
        log.value.filter { $0.submitter == submitter }.map(\.index) == Array(0..<1_000)
      }
      report("items", onMain.value)
      report("peak", occupancy.peak)
      report("ordered", ordered)
      exit(0)
    }
    dispatchMain()
  }

  @Sendable private static func current() {
    report("current", DispatchQueue.current === DispatchQueue.main)
    dispatchPrecondition(condition: .onQueue(.main))
    DispatchQueue.main.async {
      report("inItem", DispatchQueue.current === DispatchQueue.main)
      dispatchPrecondition(condition: .onQueue(.main))
      exit(0)
    }
    dispatchMain()
  }

  /// Whether the main queue's descriptor polls readable within `milliseconds`.
  private static func isReadable(_ milliseconds: Int32) -> Bool {
    var entry = pollfd(fd: DispatchMainLoop.fileDescriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, milliseconds) == 1 && entry.revents & Int16(POLLIN) != 0
  }

  @Sendable private static func foreignLoop() {
    require(DispatchMainLoop.fileDescriptor >= 0, "a descriptor")
    DispatchMainLoop.drain()
    report("idleAtFirst", !isReadable(0))
    let (ran, onMain) = (Counter(), Counter())
    DispatchQueue.global().async {
      for index in 0..<100 {
        let item: @Sendable () -> Void = {
          if isMainThread { onMain.add() }
          ran.add()
        }
        switch index % 3 {
        case 0: DispatchQueue.main.sync(execute: item)
        case 1: DispatchQueue.main.async(execute: item)
        default: DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(1), execute: item)
        }
      }
    }
    let start = monotonicNanoseconds()
    while ran.value < 100, milliseconds(since: start) < Int(Patience.seconds * 1_000) {
      if isReadable(1_000) { DispatchMainLoop.drain() }
    }
    report("items", ran.value)
    report("onMain", onMain.value)
    // A submitter may announce an item when it has run already.
    let isIdle = eventually {
      DispatchMainLoop.drain()
      return !isReadable(0)
    }
    report("idleAtLast", isIdle)
  }

  @Sendable private static func nestedLoop() {
    let order = Recorder<Int>()
    _ = DispatchMainLoop.fileDescriptor
    DispatchQueue.main.async {
      order.note(0)
      DispatchQueue.main.async { order.note(2) }
    }
    DispatchQueue.main.async { order.note(1) }
    for _ in 0..<10 where isReadable(order.count < 3 ? 1_000 : 0) { DispatchMainLoop.drain() }
    report("order", order.values.map(String.init).joined(separator: ","))
  }

  /// An item that submits itself again whenever it runs: a turn of the loop runs it once.
  @Sendable private static func endlessLoop() {
    let runs = Counter()
    @Sendable func step() {
      runs.add()
      DispatchQueue.main.async { step() }
    }
    // Ends what would go on for ever.
    DispatchQueue.global().asyncAfter(deadline: .now() + Patience.seconds) { exit(1) }
    _ = DispatchMainLoop.fileDescriptor
    step()
    var turns: [Int] = []
    for _ in 0..<5 {
      require(isReadable(1_000), "the descriptor tells of the item")
      let before = runs.value
      DispatchMainLoop.drain()
      turns.append(runs.value - before)
    }
    report("turns", turns.map(String.init).joined(separator: ","))
    // More items than the drainer runs in one turn; each adds another one.
    for _ in 0..<200 { DispatchQueue.main.async { step() } }
    let before = runs.value
    DispatchMainLoop.drain()
    report("many", runs.value - before)
    exit(0)
  }

  @Sendable private static func suspends() {
    // An item that is held back never runs.
    alarm(20)
    DispatchQueue.main.suspend()
    DispatchQueue.main.async {
      report("ran", 1)
      for _ in 0..<2 { DispatchQueue.main.resume() }
      exit(0)
    }
    dispatchMain()
  }

  @Sendable private static func syncOnMain() {
    DispatchQueue.main.async { DispatchQueue.main.sync { report("ran", 1) } }
    dispatchMain()
  }

  @Sendable private static func again() {
    DispatchQueue.main.async { dispatchMain() }
    dispatchMain()
  }

  /// The same in a loop of the program's own, in an item of a queue that targets the main queue.
  @Sendable private static func againInDrain() {
    let targeting = DispatchQueue(label: "targeting", target: .main)
    targeting.async { dispatchMain() }
    DispatchMainLoop.drain()
  }

  /// A worker forks while the main thread is in an item, with another one behind it.
  @Sendable private static func forkBesideItem() {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    let (isInItem, isForked) = (Latch(), Latch())
    let (isChild, ranInChild) = (Unprotected(false), Unprotected(false))
    DispatchQueue.main.async {
      isInItem.open()
      isForked.wait()
    }
    DispatchQueue.main.async {
      if isChild.value {
        ranInChild.value = true
      } else {
        report("parent", isMainThread)
        exit(0)
      }
    }
    DispatchQueue.global().async {
      isInItem.wait()
      let child = gc_fork()
      if child == 0 {
        isChild.value = true
        DispatchQueue.main.async { _exit(ranInChild.value || !isMainThread ? 1 : 7) }
        dispatchMain()
      }
      report("child", ((status(of: child) ?? 0) >> 8) & 0xff)
      isForked.open()
    }
    dispatchMain()
  }

  /// The child's loop has a turn between the parent's item and the parent's look at its descriptor.
  @Sendable private static func forkLoop() {
    guard let toChild = Kernel.closeOnExecPipe(), let toParent = Kernel.closeOnExecPipe() else {
      return require(false, "descriptors")
    }
    var byte: UInt8 = 0
    let ran = Counter()
    require(DispatchMainLoop.fileDescriptor >= 0, "a descriptor")
    let child = gc_fork()
    if child == 0 {
      guard read(toChild.readEnd, &byte, 1) == 1, !isReadable(0) else { _exit(1) }
      DispatchQueue.main.async { ran.add() }
      guard isReadable(0) else { _exit(2) }
      DispatchMainLoop.drain()
      guard ran.value == 1, !isReadable(0) else { _exit(3) }
      _ = write(toParent.writeEnd, &byte, 1)
      _exit(0)
    }
    require(child > 0, "fork")
    DispatchQueue.main.async { ran.add() }
    _ = write(toChild.writeEnd, &byte, 1)
    close(toParent.writeEnd)
    _ = read(toParent.readEnd, &byte, 1)
    report("told", isReadable(0))
    DispatchMainLoop.drain()
    report("ran", ran.value)
    report("idle", !isReadable(0))
    report("child", Int(status(of: child) ?? -1))
  }
}
