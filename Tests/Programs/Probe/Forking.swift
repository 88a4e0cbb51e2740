// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral
import SlowRuntime

extension Scenario {
  static let forking: [String: Body] = [
    "fork": fork, "fork-while-busy": forkWhileBusy, "fork-while-locked": forkWhileLocked,
    "fork-from-item": forkFromItem, "fork-before-use": forkBeforeUse, "fork-like-a-daemon": forkLikeADaemon,
    "fork-while-engine-begins": forkWhileEngineBegins, "fork-beside-first-use": forkBesideFirstUse,
    "fork-with-handlers": forkWithHandlers,
    "fork-while-looking-up": forkWhileLookingUp, "fork-from-item-returns": forkFromItemReturns,
    "fork-with-sources": forkWithSources, "fork-with-timers": forkWithTimers, "fork-in-barrier": forkInBarrier,
  ]

  /// Everything that must work; nil, or what did not.
  private static func selfTest() -> String? {
    let seconds = 10.0
    let ran = Latch(100)
    for _ in 0..<100 { DispatchQueue.global().async { ran.open() } }
    guard ran.wait(seconds: seconds) else { return "global queue" }

    let (queue, sum) = (DispatchQueue(label: "serial"), Unprotected(0))
    for _ in 0..<100 { queue.async { sum.value += 1 } }
    guard queue.sync(execute: { sum.value }) == 100 else { return "serial queue" }
    guard DispatchQueue(label: "nested", target: queue).sync(execute: { true }) else { return "hierarchy" }
    queue.setTarget(queue: .global(qos: .utility))
    guard queue.sync(execute: { sum.value }) == 100 else { return "retargeted queue" }

    let (group, notified) = (DispatchGroup(), Latch())
    for _ in 0..<10 { DispatchQueue.global(qos: .utility).async(group: group) {} }
    group.notify(queue: queue) { notified.open() }
    guard group.wait(timeout: .now() + seconds) == .success, notified.wait(seconds: seconds) else { return "group" }

    let fired = Latch(2)
    queue.asyncAfter(deadline: .now() + .milliseconds(5)) { fired.open() }
    DispatchQueue.global().asyncAfter(wallDeadline: .now() + .milliseconds(5)) { fired.open() }
    guard fired.wait(seconds: seconds) else { return "timer" }

    let performed = Counter()
    DispatchQueue.concurrentPerform(iterations: 100) { _ in performed.add() }
    guard performed.value == 100 else { return "concurrentPerform" }

    let (everyoneIsIn, blocked) = (Latch(8), Latch(8))
    for _ in 0..<8 {
      DispatchQueue.global().async {
        everyoneIsIn.open()
        everyoneIsIn.wait(seconds: seconds)
        blocked.open()
      }
    }
    guard everyoneIsIn.wait(seconds: seconds), blocked.wait(seconds: seconds) else { return "compensation" }
    return nil
  }

  /// Forks a child that tests itself, and waits for its verdict.
  private static func runChild() -> Bool {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    let child = gc_fork()
    if child == 0 {
      let failure = selfTest()
      if let failure { complain("child: \(failure)") }
      _exit(failure == nil ? 0 : 1)
    }
    return status(of: child) == 0
  }

  /// How the child has ended, as `waitpid` says it; nil if it hangs, and is ended.
  static func status(of child: pid_t) -> Int32? {
    require(child > 0, "fork")
    var status: Int32 = -1
    let begin = monotonicNanoseconds()
    while waitpid(child, &status, WNOHANG) == 0 {
      if milliseconds(since: begin) > 25_000 {
        kill(child, SIGKILL)
        complain("the child hangs")
        return nil
      }
      usleep(500)
    }
    return status
  }

  private static func reportParent() {
    report("parentAfter", selfTest() ?? "works")
    report("slowLocks", Int(gc_test_slow_runtime_count()))
  }

  @Sendable private static func fork() {
    report("parentBefore", selfTest() ?? "works")
    report("child", runChild())
    reportParent()
    report("secondChild", runChild())
  }

  /// The child cancels its parent's source, and has one of its own, before or after.
  @Sendable private static func forkWithSources() {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    guard let ends = Kernel.closeOnExecPipe() else { return require(false, "descriptors") }
    let registered = Latch()
    let parents = DispatchSource.makeReadSource(fileDescriptor: ends.readEnd, queue: .global())
    parents.setRegistrationHandler { registered.open() }
    parents.activate()
    require(registered.wait(), "registered")
    for cancelsFirst in [true, false] {
      let child = gc_fork()
      if child == 0 {
        guard let own = Kernel.closeOnExecPipe() else { _exit(2) }
        if cancelsFirst { parents.cancel() }
        let (begun, heard, again) = (Latch(), Latch(), Latch(2))
        let source = DispatchSource.makeReadSource(fileDescriptor: own.readEnd, queue: .global())
        source.setRegistrationHandler { begun.open() }
        source.setEventHandler {
          var byte: UInt8 = 0
          if read(own.readEnd, &byte, 1) != 1 { return }
          heard.open()
          again.open()
        }
        source.activate()
        if !begun.wait() { _exit(3) }
        if !cancelsFirst { parents.cancel() }
        _ = write(own.writeEnd, "x", 1)
        if !heard.wait() { _exit(1) }
        // Another thread may have to wait for the second one.
        _ = write(own.writeEnd, "x", 1)
        _exit(again.wait() ? 0 : 4)
      }
      var status: Int32 = -1
      waitpid(child, &status, 0)
      report(cancelsFirst ? "before" : "after", Int(status))
    }
    parents.cancel()
  }

  /// The child cancels timers of its parent's, and some of them come with a new time; its own go on to fire.
  @Sendable private static func forkWithTimers() {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    let registered = Latch(128)
    let parents = (0..<128).map { number in
      let timer = DispatchSource.makeTimerSource(queue: .global())
      timer.setRegistrationHandler { registered.open() }
      timer.schedule(deadline: .now() + .microseconds(50_000 + number * 4_200))
      timer.activate()
      return timer
    }
    require(registered.wait(), "registered")
    let child = gc_fork()
    if child == 0 {
      let (again, ticks) = (Latch(), Latch(40))
      for (number, timer) in parents.enumerated() {
        if number == 100 {
          timer.setEventHandler { again.open() }
          timer.schedule(deadline: .now() + .milliseconds(30))
        } else {
          timer.cancel()
        }
      }
      let own = DispatchSource.makeTimerSource(queue: .global())
      own.schedule(deadline: .now(), repeating: .milliseconds(15))
      own.setEventHandler { ticks.open() }
      own.activate()
      _exit(again.wait() ? ticks.wait() ? 0 : 1 : 2)
    }
    var status: Int32 = -1
    waitpid(child, &status, 0)
    report("child", Int(status))
    for timer in parents { timer.cancel() }
  }

  /// The parent has asked which thread it is on, and has no engine yet.
  @Sendable private static func forkBeforeUse() {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    dispatchPrecondition(condition: .onQueue(.main))
    DispatchQueue.main.async {}
    let child = gc_fork()
    if child == 0 {
      DispatchQueue.main.async {
        let failure = selfTest()
        if let failure { complain("child: \(failure)") }
        _exit(failure == nil ? 0 : 1)
      }
      dispatchMain()
    }
    var status: Int32 = -1
    require(waitpid(child, &status, 0) == child, "waitpid")
    report("child", status == 0)
  }

  /// What was submitted to the main queue before the program became a daemon runs in the daemon.
  @Sendable private static func forkLikeADaemon() {
    DispatchQueue.main.async { _exit(7) }
    let child = gc_fork()
    if child == 0 {
      alarm(20)
      dispatchMain()
    }
    var status: Int32 = -1
    require(waitpid(child, &status, 0) == child, "waitpid")
    report("child", Int(status >> 8))
  }

  /// Another thread begins to use the library after the fork's handlers have been called, and before the process is copied.
  @Sendable private static func forkWhileEngineBegins() {
    gc_test_before_copy {
      // It gets as far as it can, to a lock that the fork holds. Before that an unoptimised thread asks the runtime for types; the process
      // is not copied meanwhile.
      let thread = BlockedThread { DispatchQueue.global().async {} }
      require(thread.isAsleep(), "the other thread waits for the fork")
    }
    report("child", runChild())
    reportParent()
  }

  /// As above, at any moment of the fork.
  @Sendable private static func forkBesideFirstUse() {
    if Kernel.isUnoptimised { skip("an unoptimised child asks for types while the other thread does") }
    let thread = PlainThread {
      // The fork takes a moment until it copies.
      for _ in 0..<UInt32.random(in: 0..<20_000) { gc_pause() }
      DispatchQueue.global().async {}
    }
    report("child", runChild())
    thread.join()
    reportParent()
  }

  /// The program has handlers that use the library around a fork, and has registered them before it used the library.
  @Sendable private static func forkWithHandlers() {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    let isRegistered = pthread_atfork(
      { Scenario.useInHandler() }, { Scenario.useInHandler() }, { Scenario.useInHandler() })
    require(isRegistered == 0, "pthread_atfork")
    reportParent()
    report("child", runChild())
  }

  private static func useInHandler() {
    guard let failure = selfTest() else { return }
    complain("handler: \(failure)")
    _exit(1)
  }

  /// Forks while workers are in the middle of everything, but for the first use of a type: the Swift runtime holds no
  /// locks across a fork, see `Fork` in the engine.
  @Sendable private static func forkWhileBusy() {
    require(selfTest() == nil, "the engine works")
    let (stop, warm) = (Latch(), Latch(100_000))
    let queues = (0..<4).map { DispatchQueue(label: "busy-\($0)") }
    @Sendable func churn(_ index: Int) {
      if stop.isOpen { return }
      warm.open()
      DispatchQueue.global().async {}
      queues[index % 4].async { churn(index &+ 1) }
      if index % 64 == 0 { DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(100)) {} }
    }
    for index in 0..<4 { queues[index].async { churn(index) } }
    require(warm.wait(), "the churn runs")
    var children = 0
    for _ in 0..<10 where runChild() { children += 1 }
    stop.open()
    report("children", children)
    reportParent()
    exit(0)
  }

  /// Forks while other threads hold one or the other of the locks that the process has once.
  @Sendable private static func forkWhileLocked() {
    require(selfTest() == nil, "the engine works")
    let (stop, hooksRun, targetsRun) = (Latch(), Latch(), Latch())
    let hooks = PlainThread {
      while !stop.isOpen {
        GrandCentralRuntime.setWorkerHooks(start: {}, exit: {})
        hooksRun.open()
      }
    }
    let targets = PlainThread {
      let targets = (0..<2).map { DispatchQueue(label: "target-\($0)") }
      while !stop.isOpen {
        let queue = DispatchQueue(label: "moving", attributes: .initiallyInactive)
        for target in targets { queue.setTarget(queue: target) }
        queue.activate()
        targetsRun.open()
      }
    }
    require(hooksRun.wait() && targetsRun.wait(), "the threads run")
    var children = 0
    for _ in 0..<20 where runChild() { children += 1 }
    stop.open()
    hooks.join()
    targets.join()
    report("children", children)
    reportParent()
  }

  /// Forks while other threads read and change the values of queues that the child uses as well.
  @Sendable private static func forkWhileLookingUp() {
    require(selfTest() == nil, "the engine works")
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    let (stop, looking) = (Latch(), Latch(2))
    let key = DispatchSpecificKey<Int>()
    DispatchQueue.main.setSpecific(key: key, value: 1)
    let threads = (0..<2).map { number in
      PlainThread {
        while !stop.isOpen {
          for _ in 0..<100 {
            if number == 0 { DispatchQueue.main.setSpecific(key: key, value: 1) }
            _ = DispatchQueue.main.getSpecific(key: key)
          }
          looking.open()
        }
      }
    }
    require(looking.wait(), "the threads run")
    var children = 0
    for _ in 0..<100 {
      let child = gc_fork()
      if child == 0 {
        alarm(20)
        DispatchQueue.main.setSpecific(key: DispatchSpecificKey<Int>(), value: 2)
        _exit(DispatchQueue.main.getSpecific(key: key) == 1 ? 0 : 1)
      }
      var status: Int32 = -1
      waitpid(child, &status, 0)
      if status == 0 { children += 1 }
    }
    stop.open()
    for thread in threads { thread.join() }
    report("children", children)
  }

  @Sendable private static func forkFromItem() {
    require(selfTest() == nil, "the engine works")
    let (verdict, done) = (Counter(), Latch())
    DispatchQueue(label: "forking").async {
      if runChild() { verdict.add() }
      done.open()
    }
    require(done.wait(), "the item ended")
    report("child", verdict.value)
    reportParent()
  }
  /// The item that forks returns in the child too, with an item of the parent's behind it.
  @Sendable private static func forkFromItemReturns() {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    require(selfTest() == nil, "the engine works")
    let (queue, begin, done, status) = (DispatchQueue(label: "forking"), Latch(), Latch(), Unprotected<Int32>(-1))
    let (isChild, ranInChild) = (Unprotected(false), Unprotected(false))
    queue.async {
      begin.wait()
      let child = gc_fork()
      if child == 0 {
        isChild.value = true
        return queue.async { _exit(ranInChild.value ? 1 : 0) }
      }
      require(child > 0 && waitpid(child, &status.value, 0) == child, "fork")
      done.open()
    }
    queue.async { if isChild.value { ranInChild.value = true } }
    begin.open()
    require(done.wait(), "the item ended")
    report("child", Int(status.value))
    reportParent()
  }

  /// The child is inside of the barrier that has forked, as its parent is.
  @Sendable private static func forkInBarrier() {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    let narrow = DispatchQueue(label: "narrow")
    let broad = DispatchQueue(label: "broad", attributes: .concurrent, target: narrow)
    func signalOfChild(_ body: () -> Void) -> Int {
      let child = broad.sync(flags: .barrier) {
        let child = gc_fork()
        if child == 0 {
          alarm(20)
          body()
          _exit(0)
        }
        return child
      }
      return Int((status(of: child) ?? -1) & 0x7f)
    }
    report("alone", signalOfChild { dispatchPrecondition(condition: .onQueueAsBarrier(broad)) })
    report("broad", signalOfChild { broad.sync {} })
    report("narrow", signalOfChild { narrow.sync {} })
    let child = broad.sync(flags: .barrier) { gc_fork() }
    if child == 0 {
      alarm(20)
      broad.sync { narrow.async {} }
      _exit(narrow.sync { 0 })
    }
    report("afterwards", Int(status(of: child) ?? -1))
  }
}
