// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let poolSettings: [String: Body] = [
    "threads-of-apply": threadsOfApply, "threads-of-spinners": threadsOfSpinners,
    "override-by-api": overrideByAPI, "affinity": affinity,
    "pinned-first-thread": pinnedFirstThread, "names": names, "hooks": hooks,
    "niceness": niceness, "thread-caches": threadCaches, "apply-huge": applyHuge,
  ]

  /// The threads that take part in one call.
  private static func threadsOfCall(iterations count: Int) -> Int {
    // An iteration's own. A lock would be waited for where its holder has no processor, and for a thread that waits another one comes.
    nonisolated(unsafe) let threads = UnsafeMutablePointer<Int32>.allocate(capacity: count)
    defer { threads.deallocate() }
    threads.initialize(repeating: Kernel.threadID, count: count)
    DispatchQueue.concurrentPerform(iterations: count) { index in
      threads[index] = Kernel.threadID
      spin(milliseconds: 0.1)
    }
    return Set(UnsafeBufferPointer(start: threads, count: count)).count
  }

  /// The most threads of a call. `awaited`: so many are expected, and calls are made until one has them, each long enough for all to come. No
  /// iteration waits for another thread.
  private static func reportThreadsOfApply(awaited: Int = 1) {
    var most = 0
    _ = eventually {
      most = max(most, threadsOfCall(iterations: 400 * awaited))
      return most >= awaited
    }
    report("threads", most)
  }

  @Sendable private static func threadsOfApply() { reportThreadsOfApply() }

  /// Items that never block are run by no more workers than the pool has. Of an item whose thread has lost the processor for half
  /// of its time the engine cannot know that.
  @Sendable private static func threadsOfSpinners() {
    let count = 100
    // An item's own. As in `threadsOfCall`, a lock would be waited for, and the items would block after all.
    nonisolated(unsafe) let threads = UnsafeMutablePointer<Int32>.allocate(capacity: count)
    threads.initialize(repeating: 0, count: count)
    let (preempted, ended) = (Counter(), Counter())
    for index in 0..<count {
      DispatchQueue.global().async {
        let (used, begin) = (threadNanoseconds(), monotonicNanoseconds())
        threads[index] = Kernel.threadID
        spin(milliseconds: 1)
        if 2 * (threadNanoseconds() - used) < monotonicNanoseconds() - begin { preempted.add() }
        ended.add()
      }
    }
    require(eventually { ended.value == count }, "every item ran")
    report("threads", Set(UnsafeBufferPointer(start: threads, count: count)).count)
    report("preempted", preempted.value)
    threads.deallocate()
  }

  @Sendable private static func overrideByAPI() {
    GrandCentralRuntime.processorOverride = 1
    reportThreadsOfApply()
  }

  @Sendable private static func affinity() {
    guard Kernel.useOneProcessor() else { skip("the affinity mask cannot be set") }
    reportThreadsOfApply()
  }

  /// The engine starts on a thread that is pinned to one processor; what do the workers think?
  @Sendable private static func pinnedFirstThread() {
    let processors = Kernel.usableProcessors
    report("processors", processors)
    let usable = Guarded<Set<Int>>([])
    PlainThread {
      guard Kernel.useOneProcessor() else { skip("the affinity mask cannot be set") }
      reportThreadsOfApply(awaited: processors)
      let done = Latch(100)
      for _ in 0..<100 {
        DispatchQueue.global().async {
          let count = Kernel.usableProcessors
          usable.with { _ = $0.insert(count) }
          done.open()
        }
      }
      require(done.wait(), "the items ran")
    }.join()
    report("usable", usable.with { $0.sorted().map(String.init).joined(separator: ",") })
  }

  @Sendable private static func names() {
    let names = Recorder<String>()
    for qos: DispatchQoS.QoSClass in [.background, .utility, .default, .userInitiated, .userInteractive] {
      let done = Latch()
      DispatchQueue.global(qos: qos).async {
        names.note(ProcessThreads.record(of: Kernel.threadID)?.name ?? "")
        done.open()
      }
      require(done.wait(), "the item ran")
    }
    report("names", names.values.joined(separator: ","))
    report("main", ProcessThreads.record(of: getpid())?.name ?? "")
  }

  /// Every worker runs the start hook first and the exit hook last.
  @Sendable private static func hooks() {
    let (starts, exits, items) = (Guarded<Set<Int32>>([]), Guarded<Set<Int32>>([]), Guarded<Set<Int32>>([]))
    GrandCentralRuntime.setWorkerHooks(
      start: {
        let thread = Kernel.threadID
        starts.with { _ = $0.insert(thread) }
      },
      exit: {
        let thread = Kernel.threadID
        exits.with { _ = $0.insert(thread) }
      })
    let (everyoneIsIn, done) = (Latch(16), Latch(16))
    for _ in 0..<16 {
      DispatchQueue.global().async {
        let thread = Kernel.threadID
        items.with { _ = $0.insert(thread) }
        everyoneIsIn.open()
        everyoneIsIn.wait()
        done.open()
      }
    }
    require(done.wait(), "all met")
    report("unannounced", items.with { $0 }.subtracting(starts.with { $0 }).count)
    report("starts", starts.with { $0.count })
    report("retired", eventually { exits.with { $0.count } > 0 })
    report("strangers", exits.with { $0 }.subtracting(starts.with { $0 }).count)
    let balanced = eventually { starts.with { $0.count } - exits.with { $0.count } == GrandCentralRuntime.workerCount }
    report("balanced", balanced)
  }

  /// A thread that an item of low QoS starts is as nice as the main thread.
  @Sendable private static func niceness() {
    let (seen, done) = (Recorder<Int32>(), Latch())
    DispatchQueue.global(qos: .background).async {
      PlainThread { seen.note(getpriority(__priority_which_t(0), 0)) }.join()
      done.open()
    }
    require(done.wait(), "the item ran")
    report("main", getpriority(__priority_which_t(0), 0))
    report("started", seen.values[0])
  }

  /// Threads that come, submit and go leave nothing of theirs behind.
  @Sendable private static func threadCaches() {
    if Kernel.isSanitized { skip("the sanitizer keeps memory") }
    let queue = DispatchQueue(label: "serial")
    @Sendable func wave(_ count: Int) {
      for _ in 0..<(count / 8) {
        PlainThread.concurrently(8) { _ in for _ in 0..<64 { queue.async {} } }
        queue.sync {}
      }
    }
    wave(800)
    let before = residentKilobytes()
    wave(4_000)
    report("grownKilobytes", residentKilobytes() - before)
  }

  /// A count that 32 bits would cut down to five.
  @Sendable private static func applyHuge() {
    let calls = Counter()
    DispatchQueue.concurrentPerform(iterations: (1 << 33) + 5) { _ in
      if calls.add() == 100_000 {
        report("calls", 100_000)
        exit(0)
      }
    }
  }
}
