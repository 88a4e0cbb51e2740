// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Synchronization

private let handled = Atomic<Int>(0)
private let handledLater = Atomic<Int>(0)

extension Scenario {
  static let signals: [String: Body] = scenarios.merging(signalChildren) { body, _ in body }
    .merging(signalMasks) { body, _ in body }.mapValues { body in
      {
        // Nothing of what the starter of this process blocked or ignored.
        block(how: SIG_SETMASK)
        for number in [SIGUSR1, SIGUSR2, SIGCHLD, SIGTERM] { signal(number, SIG_DFL) }
        body()
      }
    }

  private static let scenarios: [String: Body] = [
    "signal-ignored-before": ignoredBefore, "signal-ignored-after": ignoredAfter, "signal-handlers": handlers,
    "signal-one-shot-handler": oneShotHandler, "signal-several": several, "signal-blocked": blocked,
    "signal-blocked-while-polling": blockedWhilePolling, "signal-threads": threads, "signal-own-threads": ownThreads,
    "signal-burst": burst,
    "signal-restored": restored, "signal-suspended": suspended, "signal-wait": waitForSignal,
  ]

  // MARK: Dispositions

  @Sendable private static func ignoredBefore() {
    signal(SIGUSR1, SIG_IGN)
    let watched = CountedSignal(SIGUSR1)
    paced(20, watched.sum) { sendToProcess(SIGUSR1) }
    report("count", watched.sum.value)
    report("restored", watched.cancel(SIGUSR1))
  }

  @Sendable private static func ignoredAfter() {
    let watched = CountedSignal(SIGUSR1)
    paced(20, watched.sum) { sendToProcess(SIGUSR1) }
    signal(SIGUSR1, SIG_IGN)
    settle { installed(SIGUSR1) == "handled" }
    paced(20, watched.sum) { sendToProcess(SIGUSR1) }
    var action = sigaction()
    action.__sigaction_handler.sa_handler = SIG_IGN
    sigaction(SIGUSR1, &action, nil)
    settle { installed(SIGUSR1) == "handled" }
    paced(20, watched.sum) { sendToProcess(SIGUSR1) }
    report("count", watched.sum.value)
    report("restored", watched.cancel(SIGUSR1))
  }

  @Sendable private static func handlers() {
    // relaxed: only counts.
    signal(SIGUSR1) { _ in handled.wrappingAdd(1, ordering: .relaxed) }
    let watched = CountedSignal(SIGUSR1)
    paced(20, watched.sum) { sendToProcess(SIGUSR1) }
    // relaxed: only counts.
    report("both", handled.load(ordering: .relaxed) == 20)

    var action = sigaction()
    // relaxed: only counts.
    action.__sigaction_handler.sa_handler = { _ in handledLater.wrappingAdd(1, ordering: .relaxed) }
    sigaction(SIGUSR1, &action, nil)
    // Otherwise the source's handler has stayed, and `sigaction` tells of the program's. A sanitizer's own tells which one is installed.
    if Kernel.isSanitized { settle { handler(of: SIGUSR1) != address(of: action) } }
    // relaxed: only counts.
    let start = (watched.sum.value, handledLater.load(ordering: .relaxed))
    paced(20, watched.sum) { sendToProcess(SIGUSR1) }
    report("sum", watched.sum.value - start.0)
    // relaxed: only counts.
    report("later", handledLater.load(ordering: .relaxed) - start.1)
    report("former", handled.load(ordering: .relaxed))

    report("restored", watched.cancel(SIGUSR1))
    // relaxed: only counts.
    let before = (watched.sum.value, handledLater.load(ordering: .relaxed))
    sendToProcess(SIGUSR1)
    require(eventually { handledLater.load(ordering: .relaxed) == before.1 + 1 }, "the handler is in place again")
    report("silent", watched.sum.value == before.0)
  }

  /// A handler for one signal is called once; then the disposition is the default, for the program.
  @Sendable private static func oneShotHandler() {
    var action = sigaction()
    // relaxed: only counts.
    action.__sigaction_handler.sa_handler = { _ in handled.wrappingAdd(1, ordering: .relaxed) }
    action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
    sigaction(SIGUSR1, &action, nil)
    let watched = CountedSignal(SIGUSR1)
    paced(20, watched.sum) { sendToProcess(SIGUSR1) }
    report("count", watched.sum.value)
    // relaxed: only counts.
    report("handled", handled.load(ordering: .relaxed))
    report("restored", watched.cancel(SIGUSR1))
  }

  @Sendable private static func restored() {
    report("before", installed(SIGUSR1))
    let first = CountedSignal(SIGUSR1)
    let second = CountedSignal(SIGUSR1)
    report("first", first.cancel(SIGUSR1))
    report("second", second.cancel(SIGUSR1))
    let again = CountedSignal(SIGUSR1)
    paced(20, again.sum) { sendToProcess(SIGUSR1) }
    report("again", again.sum.value)
  }

  // MARK: Sources

  @Sendable private static func several() {
    let sources = (0..<3).map { _ in CountedSignal(SIGUSR1) }
    let other = CountedSignal(SIGUSR2)
    paced(20, sources[0].sum) { sendToProcess(SIGUSR1) }
    require(eventually { sources.allSatisfy { $0.sum.value >= 20 } }, "each source gets each signal")
    _ = sources[0].cancel(SIGUSR1)
    _ = sources[1].cancel(SIGUSR1)
    paced(20, sources[2].sum) { sendToProcess(SIGUSR1) }
    report("other", other.sum.value)
    paced(20, other.sum) { sendToProcess(SIGUSR2) }
    report("counts", "\(sources[0].sum.value),\(sources[1].sum.value),\(sources[2].sum.value),\(other.sum.value)")
  }

  @Sendable private static func suspended() {
    // The newest source is told first: what `pace` has counted, `held` has got.
    let pace = CountedSignal(SIGUSR1)
    let held = CountedSignal(SIGUSR1)
    held.source.suspend()
    paced(20, pace.sum) { sendToProcess(SIGUSR1) }
    report("during", held.calls.value)
    held.source.resume()
    require(eventually { held.calls.value > 0 }, "the event comes")
    paced(1, pace.sum) { sendToProcess(SIGUSR1) }
    require(eventually { held.sum.value >= 21 }, "the next one comes")
    report("sum", held.sum.value)
    report("calls", held.calls.value)
  }

  @Sendable private static func burst() {
    let (usual, queued) = (CountedSignal(SIGUSR1), CountedSignal(34 + 3))
    for _ in 0..<1000 {
      sendToProcess(SIGUSR1)
      sendToProcess(34 + 3)
    }
    require(eventually { queued.sum.value >= 1000 && usual.sum.value >= 1 }, "the signals arrive")
    report("usual", usual.sum.value)
    report("queued", queued.sum.value)
  }

  // MARK: Threads

  /// Every thread of the program blocks the signal, from the start.
  @Sendable private static func blocked() {
    block(SIGUSR1)
    let watched = CountedSignal(SIGUSR1)
    paced(20, watched.sum) { sendToProcess(SIGUSR1) }
    // Workers that run all the time look for events in between.
    let stop = Latch()
    for _ in 0..<16 {
      DispatchQueue.global().async { while !stop.isOpen {} }
    }
    paced(20, watched.sum) { sendToProcess(SIGUSR1) }
    stop.open()
    report("count", watched.sum.value)
    report("stillBlocked", mask("SigBlk") & 1 << UInt64(SIGUSR1 - 1) != 0)
  }

  /// A thread waits for events already when the signal is first watched.
  @Sendable private static func blockedWhilePolling() {
    block(SIGUSR1, SIGUSR2)
    let first = CountedSignal(SIGUSR2)
    paced(1, first.sum) { sendToProcess(SIGUSR2) }
    let second = CountedSignal(SIGUSR1)
    paced(20, second.sum) { sendToProcess(SIGUSR1) }
    report("count", second.sum.value)
  }

  /// Signals to a thread that has a mask of its own, to one that runs, and to one that blocks in the kernel.
  @Sendable private static func threads() {
    let watched = CountedSignal(SIGUSR1)
    let (stop, ready, ids) = (Latch(), Latch(2), Recorder<UInt>())
    let running = PlainThread {
      block(SIGUSR2)
      ids.note(UInt(pthread_self()))
      ready.open()
      while !stop.isOpen { sched_yield() }
    }
    let sleeping = PlainThread {
      ids.note(UInt(pthread_self()))
      ready.open()
      stop.wait()
    }
    require(ready.wait(), "the threads run")
    block(SIGUSR1)
    for id in ids.values { paced(20, watched.sum) { pthread_kill(pthread_t(id), SIGUSR1) } }
    stop.open()
    running.join()
    sleeping.join()
    report("count", watched.sum.value)
  }

  /// Items send the signal to their own threads, which then are idle, and end.
  @Sendable private static func ownThreads() {
    let watched = CountedSignal(SIGUSR1)
    let met = Latch(4)
    for _ in 0..<4 {
      DispatchQueue.global().async {
        met.open()
        met.wait()
        pthread_kill(pthread_self(), SIGUSR1)
      }
    }
    _ = eventually { watched.sum.value == 4 }
    report("count", watched.sum.value)
  }

  /// The program blocks a signal in all threads and waits for it: no pool thread may let it in.
  @Sendable private static func waitForSignal() {
    block(SIGUSR1)
    for _ in 0..<64 { DispatchQueue.global().async { usleep(1000) } }
    let watched = CountedSignal(SIGUSR2)
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGUSR1)
    var taken = 0
    for _ in 0..<100 {
      sendToProcess(SIGUSR1)
      var number: Int32 = 0
      if sigwait(&set, &number) == 0, number == SIGUSR1 { taken += 1 }
      DispatchQueue.global().async {}
    }
    report("taken", taken)
    paced(20, watched.sum) { sendToProcess(SIGUSR2) }
    report("count", watched.sum.value)
  }
}
