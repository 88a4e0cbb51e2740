// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let blocking: [String: Body] = [
    "usleep-ten": usleepTen, "serial-400": serial400, "budget": budget, "budget-global": budgetGlobal,
    "budget-sleepers": budgetSleepers, "budget-other-queue": budgetOtherQueue,
    "rendezvous-latch": { rendezvous(Rendezvous(Latch())) },
    "rendezvous-semaphore": { rendezvous(Rendezvous(DispatchSemaphore(value: 0))) },
    "rendezvous-group": { rendezvous(Rendezvous(DispatchGroup())) },
    "sync-chain": syncChain, "slot-behind-blocker": slotBehindBlocker,
    "contended-mutex": { contended(by: oneAtATime(Mutex())) },
    "contended-semaphore": { contended(by: oneAtATime(DispatchSemaphore(value: 1))) },
    "contended-queue": { contended(by: oneAtATime(DispatchQueue(label: "contended"))) },
  ]

  @Sendable private static func usleepTen() {
    let (starts, done) = (Recorder<Int>(), Latch(10))
    let (begin, lateness) = (monotonicNanoseconds(), Lateness())
    for _ in 0..<10 {
      DispatchQueue.global().async {
        starts.note(milliseconds(since: begin))
        usleep(1_000_000)
        done.open()
      }
    }
    require(done.wait(), "every job ended")
    report("lastStart", starts.values.max() ?? -1)
    report("total", milliseconds(since: begin))
    report("late", lateness.end())
  }

  /// While every processor is busy an item makes a queue runnable, and then waits for it where the engine cannot see.
  @Sendable private static func slotBehindBlocker() {
    for round in 0..<20 {
      let (bothRun, mayGoOn, done) = (Latch(2), Latch(), Latch())
      let queue = DispatchQueue(label: "behind")
      DispatchQueue.global().async {
        bothRun.open()
        while !mayGoOn.isOpen {}
      }
      let ended = Latch()
      DispatchQueue.global().async {
        bothRun.open()
        _ = bothRun.wait()
        queue.async { done.open() }
        mayGoOn.open()
        require(done.wait(), "round \(round): the queue ran")
        ended.open()
      }
      require(ended.wait(), "round \(round) ended")
    }
    report("rounds", 20)
  }

  private typealias Section = @Sendable (() -> Void) -> Void

  /// A lock that the engine knows nothing of.
  private final class Mutex: Sendable {
    // unsafe: given back with the object, which the sections hold.
    private nonisolated(unsafe) let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() { pthread_mutex_init(mutex, nil) }

    deinit {
      pthread_mutex_destroy(mutex)
      mutex.deallocate()
    }

    func withLock(_ body: () -> Void) {
      pthread_mutex_lock(mutex)
      body()
      pthread_mutex_unlock(mutex)
    }
  }

  private static func oneAtATime(_ mutex: Mutex) -> Section { { body in mutex.withLock(body) } }

  private static func oneAtATime(_ semaphore: DispatchSemaphore) -> Section {
    { body in
      semaphore.wait()
      body()
      semaphore.signal()
    }
  }

  private static func oneAtATime(_ queue: DispatchQueue) -> Section { { body in queue.sync(execute: body) } }

  /// A thousand items work in turns: how many threads that has taken.
  private static func contended(by section: @escaping Section) {
    let done = Latch(1000)
    for _ in 0..<1000 {
      DispatchQueue.global().async {
        section {
          let begin = monotonicNanoseconds()
          while monotonicNanoseconds() - begin < 200_000 {}
        }
        done.open()
      }
    }
    require(done.wait(), "every item has had its turn")
    report("workers", ProcessThreads.workers.count)
  }

  /// How 63 items wait for the 64th.
  private struct Rendezvous: Sendable {
    let wait: Body
    let release: Body

    init(_ latch: Latch) {
      wait = { latch.wait() }
      release = { latch.open() }
    }

    init(_ semaphore: DispatchSemaphore) {
      wait = { semaphore.wait() }
      release = { for _ in 0..<63 { semaphore.signal() } }
    }

    init(_ group: DispatchGroup) {
      group.enter()
      wait = { group.wait() }
      release = { group.leave() }
    }
  }

  private static func rendezvous(_ meeting: Rendezvous) {
    let done = Latch(64)
    let (begin, lateness) = (monotonicNanoseconds(), Lateness())
    for index in 0..<64 {
      DispatchQueue.global().async {
        if index < 63 { meeting.wait() } else { meeting.release() }
        done.open()
      }
    }
    require(done.wait(), "all met")
    report("total", milliseconds(since: begin))
    report("late", lateness.end())
  }

  @Sendable private static func serial400() {
    let (everyoneIsIn, done) = (Latch(400), Latch(400))
    let (begin, lateness) = (monotonicNanoseconds(), Lateness())
    let queues = (0..<400).map { DispatchQueue(label: "serial-\($0)") }
    for queue in queues {
      queue.async {
        everyoneIsIn.open()
        everyoneIsIn.wait()
        done.open()
      }
    }
    require(done.wait(), "all met")
    report("total", milliseconds(since: begin))
    report("late", lateness.end())
  }

  /// Passes on what is written as an error from now on. The latch opens with the first of it.
  static func watchErrors() -> Latch {
    let said = Latch()
    guard let ends = Kernel.closeOnExecPipe() else {
      complain("no pipe: \(errno)")
      return said
    }
    let errors = dup(STDERR_FILENO)
    dup2(ends.writeEnd, STDERR_FILENO)
    _ = PlainThread {
      var bytes = [UInt8](repeating: 0, count: 4_096)
      while true {
        let count = read(ends.readEnd, &bytes, bytes.count)
        if count <= 0 { return }
        _ = write(errors, bytes, count)
        said.open()
      }
    }
    return said
  }

  /// Twenty queues block with a budget of fewer threads, until that has been reported and nothing has changed for a while.
  @Sendable private static func budget() {
    let said = watchErrors()
    let (gate, isIn, done, most) = (Latch(), Counter(), Latch(21), Counter())
    let queues = (0..<20).map { DispatchQueue(label: "blocked-\($0)") }
    for queue in queues {
      queue.async {
        isIn.add()
        gate.wait()
        done.open()
      }
    }
    DispatchQueue.global(qos: .userInteractive).async { done.open() }
    require(said.wait(), "the budget is reported")
    require(eventually { isIn.value >= 8 }, "as many block as the budget has threads")
    let begin = monotonicNanoseconds()
    while milliseconds(since: begin) < 500 {
      most.add(max(0, ProcessThreads.workers.count - most.value))
      usleep(5_000)
    }
    report("blocked", isIn.value)
    report("workers", most.value)
    gate.open()
    require(done.wait(), "all went on after the gate opened")
  }

  /// Items of global queues block with a budget of fewer threads; what is reported about it is printed again.
  @Sendable private static func budgetGlobal() {
    var ends: [Int32] = [0, 0]
    require(pipe(&ends) == 0 && dup2(ends[1], STDERR_FILENO) >= 0, "a pipe for reports")
    let (gate, done) = (Latch(), Latch(20))
    for index in 0..<20 {
      DispatchQueue.global(qos: index % 2 == 0 ? .default : .utility).async {
        gate.wait()
        done.open()
      }
    }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    // Until the report comes; the caller of this program has patience.
    let count = read(ends[0], &bytes, bytes.count)
    report("said", String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).filter { $0 != "\n" })
    gate.open()
    require(done.wait(), "all went on after the gate opened")
  }

  /// More sleepers than threads make progress, budget by budget.
  @Sendable private static func budgetSleepers() {
    let done = Latch(100)
    let (begin, lateness) = (monotonicNanoseconds(), Lateness())
    let queues = (0..<100).map { DispatchQueue(label: "sleeper-\($0)") }
    for queue in queues {
      queue.async {
        usleep(20_000)
        done.open()
      }
    }
    require(done.wait(), "every sleeper ran")
    report("total", milliseconds(since: begin))
    report("late", lateness.end())
  }

  /// More items of a global queue than threads sleep until all threads are taken, and wait for items of more and of less urgent ones.
  @Sendable private static func budgetOtherQueue() {
    let done = Latch(100)
    for number in 0..<100 {
      DispatchQueue.global().async {
        usleep(100_000)
        let answer = DispatchSemaphore(value: 0)
        DispatchQueue.global(qos: number % 2 == 0 ? .userInteractive : .background).async { answer.signal() }
        answer.wait()
        done.open()
      }
    }
    require(done.wait(), "all items end")
  }

  /// Items that wait for one another through sync, each deeper than the last.
  @Sendable private static func syncChain() {
    let queues = (0..<40).map { DispatchQueue(label: "link-\($0)") }
    let (gate, done) = (Latch(), Latch(40))
    queues[0].async {
      gate.wait()
      done.open()
    }
    for index in 1..<40 {
      queues[index].async {
        queues[index - 1].sync {}
        done.open()
      }
    }
    let (begin, lateness) = (monotonicNanoseconds(), Lateness())
    DispatchQueue.global().async { gate.open() }
    require(done.wait(), "the chain came undone")
    report("total", milliseconds(since: begin))
    report("late", lateness.end())
  }
}
