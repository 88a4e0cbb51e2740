// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import gcd

@Suite("What the kernel says of threads")
struct KernelReadingTests {
  @Test("the state stands behind a name that may have anything in it")
  func state() {
    #expect(KernelReading.state(ofStat: "12 (a) R (b)) S 1 2 3") == "S")
    #expect(KernelReading.state(ofStat: "12 (sleep) T 1") == "T")
    #expect(KernelReading.state(ofStat: "") == nil && KernelReading.state(ofStat: "12 (x)") == nil)
  }

  @Test("the number that a thread has for itself, in a container")
  func ownNumbers() {
    let inside = KernelReading.ownNumber(ofStatus: "Name:\th\nNSpid:\t12553\t17\t3\nNSsid:\t1\n")
    #expect(inside.number == 3 && inside.isForeign)
    let same = KernelReading.ownNumber(ofStatus: "Name:\th\nNSpid:\t12553\n")
    #expect(same.number == 12_553 && !same.isForeign && !KernelReading.ownNumber(ofStatus: "").isForeign)
    let own = getpid()
    if KernelReading.ownNumber(ofStatus: KernelReading.text("/proc/self/status")).number == own {
      #expect(KernelReading.numbers(own, KernelReading.threads(own)) == nil)
    }
  }

  @Test("an address that no file has leaves no descriptor open")
  func wrongAddress() {
    for _ in 0..<200 { #expect(KernelReading.word(getpid(), at: .max) == nil) }
    let open = (0..<1024).count { KernelReading.file(getpid(), $0).hasSuffix("/mem") }
    // Other tests may read memory at this moment.
    #expect(open < 100)
  }

  @Test("the line of a system call")
  func call() {
    let call = SystemCall(line: "0 0x5 0x7ffc 0x10 0x0 0x0 0x0 0x7ffd 0x7fdd")
    #expect(call == SystemCall(number: 0, arguments: [5, 0x7ffc, 16, 0, 0, 0]))
    #expect(SystemCall(line: "running") == nil && SystemCall(line: "-1 0x1 0x2") == nil && SystemCall(line: "") == nil)
  }

  @Test("a lock's memory names its owner, if that is one of the threads")
  func lock() {
    let tids: Set<Int32> = [41, 42]
    #expect(KernelReading.lock(operation: 0, expected: 2, words: [2, 1, 42, 1], tids: tids)?.owner == 42)
    #expect(KernelReading.lock(operation: 0, expected: 2, words: [2, 1, 43, 1], tids: tids) == nil)
    #expect(KernelReading.lock(operation: 0, expected: 1, words: [1, 1, 42, 1], tids: tids) == nil)
    #expect(KernelReading.lock(operation: 6, expected: 0, words: [0x8000_0029, 0, 0, 0], tids: tids)?.owner == 41)
    #expect(KernelReading.lock(operation: 9, expected: 2, words: [2, 1, 42, 1], tids: tids) == nil)
  }

  @Test("a thread that waits for the end of another one")
  func ends() {
    #expect(KernelReading.ending(operation: 9, expected: 42, words: [42, 1, 0, 1], tids: [41, 42]) == 42)
    // It has ended since; the word is something else's; another call.
    #expect(KernelReading.ending(operation: 9, expected: 42, words: [0, 1, 0, 1], tids: [41, 42]) == nil)
    #expect(KernelReading.ending(operation: 9, expected: 43, words: [43, 1, 0, 1], tids: [41, 42]) == nil)
    #expect(KernelReading.ending(operation: 0, expected: 42, words: [42, 1, 0, 1], tids: [41, 42]) == nil)
  }

  @Test("the time since a thread last ran, by the clock of the processor that it ran on")
  func clock() {
    let stat = "7 (a b) S " + (4...38).map(String.init).joined(separator: " ") + " 1 40 41"
    #expect(SleepClock.processor(ofStat: stat) == 1)
    #expect(SleepClock.processor(ofStat: "7 (x) S 1 2") == nil && SleepClock.processor(ofStat: "") == nil)
    let clock = SleepClock { $0 == 1 ? 30_000.5 : nil }
    #expect(clock.age(ofSched: "x\nse.exec_start   :    29000.500000\n", stat: stat) == 1_000_000_000)
    #expect(clock.age(ofSched: "se.exec_start : 31000.5", stat: stat) == 0)
    #expect(clock.age(ofSched: "nothing", stat: stat) == nil)
    #expect(SleepClock { _ in nil }.age(ofSched: "se.exec_start : 1.0", stat: stat) == nil)
  }

  @Test("when a thread was started")
  func starts() {
    let stat = "7 (a b) S " + (4...38).map(String.init).joined(separator: " ")
    #expect(KernelReading.start(ofStat: stat, ticks: 100) == 220_000_000)
    #expect(KernelReading.start(ofStat: "7 (x) S 1 2", ticks: 100) == nil)
    #expect(KernelReading.start(ofStat: "", ticks: 100) == nil)
  }

  @Test("a worker in its first item is active since its start, and one that looks after them waits for no lock")
  func firstItem() throws {
    let process = ToolProcess([], shell: "exec \"${0%/*}/traced\" first-item")
    defer {
      kill(process.identifier, SIGKILL)
      _ = process.wait()
    }
    let snapshot = try #require(
      untilFound {
        let snapshot = try? Snapshot(process: process.identifier)
        guard let worker = snapshot?.workers.first, worker.state == .active, worker.age > second / 20 else {
          return nil
        }
        return snapshot
      } as Snapshot?)
    let text = SnapshotText(snapshot, style: Style(), symbol: { _ in nil }).text
    #expect(!text.contains("0.00 ms"), "\(text)")
    var monitor = active(9, KernelThread(state: "S", call: SystemCall(number: 202)), role: .monitor)
    monitor.age = 0
    let other = SnapshotText(sample([monitor]), style: Style(), symbol: { _ in nil }).text
    #expect(other.contains("active    -  looks after the workers from time to time\n"), "\(other)")
  }

  @Test("a thread that sleeps has slept as long as it has")
  func sleeps() throws {
    let before = RegionClock.now().uptime
    let sleeper = ToolProcess([], shell: "exec sleep 100")
    var age: UInt64 = 0
    let limit = before + 60 * second
    while age < second, RegionClock.now().uptime < limit {
      let thread = KernelReading.thread(
        sleeper.identifier, sleeper.identifier, among: [sleeper.identifier], clock: SleepClock())
      // A kernel that does not tell cannot be tested.
      guard let thread, thread.isRunning || thread.age != nil else { break }
      if thread.words.hasPrefix("sleeps for a time") { age = thread.age ?? 0 }
      usleep(10_000)
    }
    #expect(age <= RegionClock.now().uptime - before)
    kill(sleeper.identifier, SIGKILL)
    #expect(sleeper.wait().code == -SIGKILL)
  }

  @Test("a thread of this process that waits for a mutex, and the thread that holds it")
  func mutex() throws {
    let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    pthread_mutex_init(lock, nil)
    defer { lock.deallocate() }
    pthread_mutex_lock(lock)
    // Swift does not import it. unsafe: this is its type.
    let own = unsafeBitCast(dlsym(nil, "gettid"), to: (@convention(c) () -> pid_t).self)()
    let before = Set(KernelReading.threads(getpid()))
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { raw in
        // unsafe: the mutex outlives the thread, which is joined.
        let lock = raw!.assumingMemoryBound(to: pthread_mutex_t.self)
        pthread_mutex_lock(lock)
        pthread_mutex_unlock(lock)
        return nil
      }, lock)
    // The new thread is the one that waits for us.
    var found: KernelThread?
    let limit = RegionClock.now().uptime + 60_000_000_000
    while found == nil, RegionClock.now().uptime < limit {
      let tids = Set(KernelReading.threads(getpid()))
      found = tids.subtracting(before).lazy
        .compactMap { KernelReading.thread(getpid(), $0, among: tids, clock: SleepClock()) }
        .first { $0.lockOwner == own }
      sched_yield()
    }
    #expect(found?.lock == .mutex && found?.words == "waits for a mutex of the program's own")
    pthread_mutex_unlock(lock)
    pthread_join(thread, nil)
  }
}
