// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("A work item")
struct WorkItemTests {
  private let queue = DispatchQueue(label: "items")

  @Test("W1: an item runs once for each submission")
  func oncePerSubmission() {
    let runs = Counter()
    let item = DispatchWorkItem { runs.add() }
    for _ in 0..<10 { queue.async(execute: item) }
    queue.sync {}
    #expect(runs.value == 10)
  }

  @Test("An item is so small that the C library frees it without a lock")
  func size() throws {
    // Where the C library has just the room of something larger that was freed, it gives that: so there are many.
    let items = (0..<1000).map { _ in DispatchWorkItem {} }
    let usableSize = try #require(dlsym(nil, "malloc_usable_size"))
    // unsafe: the C library's function of that name; the items live as long as this function.
    let size = unsafeBitCast(usableSize, to: (@convention(c) (UnsafeRawPointer) -> Int).self)
    let sizes = items.map { size(Unmanaged.passUnretained($0).toOpaque()) }
    #expect(sizes.min()! <= 120)
  }

  @Test("W1: an item that is cancelled before it starts does not run, however often it was submitted")
  func cancelBeforeStart() {
    let (gate, runs) = (Latch(), Counter())
    let item = DispatchWorkItem { runs.add() }
    queue.async { gate.wait() }
    for _ in 0..<3 { queue.async(execute: item) }
    item.cancel()
    #expect(item.isCancelled)
    gate.open()
    queue.sync {}
    queue.async(execute: item)
    queue.sync(execute: item)
    item.perform()
    #expect(runs.value == 0)
  }

  @Test("W1: a running item is not interrupted and can see that it was cancelled")
  func cancelWhileRunning() {
    let (isIn, gate, seen) = (Latch(), Latch(), Recorder<Bool>())
    let holder = Guarded<DispatchWorkItem?>(nil)
    let item = DispatchWorkItem {
      let me = holder.with { $0! }
      seen.note(me.isCancelled)
      isIn.open()
      gate.wait()
      seen.note(me.isCancelled)
    }
    holder.with { $0 = item }
    queue.async(execute: item)
    #expect(isIn.wait())
    item.cancel()
    gate.open()
    queue.sync {}
    holder.with { $0 = nil }
    #expect(seen.values == [false, true])
  }

  @Test("W1: cancelling after the run changes only what isCancelled says")
  func cancelAfterRun() {
    let item = DispatchWorkItem {}
    item.perform()
    #expect(!item.isCancelled)
    item.cancel()
    #expect(item.isCancelled)
    #expect(item.wait(timeout: .now() + 30) == .success)
  }

  @Test("W2: wait returns when the item has finished")
  func waitsForTheEnd() {
    let finished = Counter()
    for round in 1...200 {
      let item = DispatchWorkItem { finished.add() }
      queue.async(execute: item)
      item.wait()
      #expect(finished.value == round)
    }
  }

  @Test("W2: wait times out no earlier than the deadline, and succeeds later")
  func waitTimesOut() {
    let gate = Latch()
    let item = DispatchWorkItem { gate.wait() }
    queue.async(execute: item)
    let start = monotonicNanoseconds()
    #expect(item.wait(timeout: .now() + .milliseconds(30)) == .timedOut)
    #expect(monotonicNanoseconds() - start >= 30_000_000)
    #expect(item.wait(wallTimeout: .now() + .milliseconds(10)) == .timedOut)
    #expect(item.wait(timeout: .now()) == .timedOut)
    gate.open()
    #expect(item.wait(timeout: .now() + 30) == .success)
    #expect(item.wait(wallTimeout: .distantFuture) == .success)
  }

  @Test("W2: wait returns when a cancelled item has been dequeued")
  func waitForCancelled() {
    let gate = Latch()
    let item = DispatchWorkItem {}
    queue.async { gate.wait() }
    queue.async(execute: item)
    item.cancel()
    #expect(item.wait(timeout: .now()) == .timedOut)
    gate.open()
    #expect(item.wait(timeout: .now() + 30) == .success)
  }

  @Test("W2: notify submits a follow-up after the item")
  func notifies() {
    let (recorder, done) = (Recorder<String>(), Latch())
    let item = DispatchWorkItem { recorder.note("item") }
    item.notify(queue: DispatchQueue(label: "follow-up")) {
      recorder.note("follow-up")
      done.open()
    }
    #expect(recorder.count == 0)
    queue.async(execute: item)
    #expect(done.wait())
    #expect(recorder.values == ["item", "follow-up"])
  }

  @Test("W2: notify of an item that has finished submits at once")
  func notifiesFinished() {
    let item = DispatchWorkItem {}
    item.perform()
    let done = Latch(2)
    item.notify(queue: queue) { done.open() }
    item.notify(queue: queue, execute: DispatchWorkItem { done.open() })
    #expect(done.wait())
  }

  @Test("W2: every notification comes once, also for a cancelled item")
  func severalNotifications() {
    let (count, done) = (Counter(), Latch(5))
    let item = DispatchWorkItem {}
    for _ in 0..<5 {
      item.notify(queue: queue) {
        count.add()
        done.open()
      }
    }
    item.cancel()
    queue.async(execute: item)
    #expect(done.wait())
    queue.sync {}
    #expect(count.value == 5)
  }

  @Test("W3: perform runs the item here and now")
  func performs() {
    let threads = Recorder<Int32>()
    let item = DispatchWorkItem { threads.note(Kernel.threadID) }
    item.perform()
    item.perform()
    #expect(threads.values == [Kernel.threadID, Kernel.threadID])
    item.wait()
  }

  @Test("W3: the barrier flag of an item counts on a concurrent queue")
  func barrierFlag() {
    let concurrent = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let (readers, met, done) = (Occupancy(), Counter(), Latch())
    for index in 0..<500 {
      if index % 5 == 4 {
        concurrent.async(execute: DispatchWorkItem(flags: .barrier) { if readers.inside != 0 { met.add() } })
      } else {
        concurrent.async {
          readers.enter()
          // Long enough to be met.
          for _ in 0..<2_000 { _ = readers.inside }
          readers.leave()
        }
      }
    }
    concurrent.async(execute: DispatchWorkItem(flags: .barrier) { done.open() })
    #expect(done.wait())
    #expect(met.value == 0)
  }

  @Test(
    "W3: items run with every flag and QoS",
    arguments: [
      DispatchWorkItemFlags.barrier, .detached, .assignCurrentContext, .noQoS, .inheritQoS, .enforceQoS,
      [.barrier, .enforceQoS], [.detached, .assignCurrentContext],
    ])
  func everyFlag(flags: DispatchWorkItemFlags) {
    let done = Latch(3)
    queue.async(execute: DispatchWorkItem(qos: .utility, flags: flags) { done.open() })
    DispatchQueue.global().async(execute: DispatchWorkItem(flags: flags) { done.open() })
    queue.async(qos: .userInitiated, flags: flags) { done.open() }
    #expect(done.wait())
  }

  @Test("W3: flags are a set of options")
  func flagsAreOptions() {
    let flags: DispatchWorkItemFlags = [.barrier, .noQoS]
    #expect(flags.contains(.barrier) && flags.contains(.noQoS) && !flags.contains(.detached))
    #expect(DispatchWorkItemFlags(rawValue: flags.rawValue) == flags)
  }

  @Test("W1: an item's closure is released with the item and its submissions")
  func releasesTheClosure() {
    let buried = Latch()
    do {
      let tombstone = Tombstone(buried)
      let item = DispatchWorkItem { tombstone.visit() }
      queue.async(execute: item)
      queue.sync {}
      #expect(!buried.isOpen)
      item.wait()
    }
    #expect(buried.wait())
  }

  @Test("W2: what was to follow an item that never runs is run when the item is dropped, and released")
  func notifyOfNothing() {
    final class Token: Sendable {}
    let runs = Counter()
    weak var closure: Token?
    weak var item: Token?
    do {
      let token = Token()
      closure = token
      let never = DispatchWorkItem {}
      never.notify(queue: queue) { [token] in
        withExtendedLifetime(token) {}
        runs.add()
      }
      let other = Token()
      item = other
      never.notify(queue: queue, execute: DispatchWorkItem { withExtendedLifetime(other) {} })
    }
    queue.sync {}
    #expect(runs.value == 1)
    #expect(closure == nil)
    #expect(item == nil)
  }

  @Test("W1 W2: cancelling removes every timer of the item")
  func manyTimers() {
    // On a loaded machine the item may have run before it was cancelled.
    var wasInTime = false
    for _ in 0..<10 where !wasInTime {
      let runs = Counter()
      let item = DispatchWorkItem { runs.add() }
      let soon = DispatchTime.now() + .milliseconds(30)
      for step in 0..<8 { queue.asyncAfter(deadline: soon + .microseconds(step), execute: item) }
      item.cancel()
      wasInTime = DispatchTime.now() < soon
      let after = Latch()
      queue.asyncAfter(deadline: soon + .milliseconds(20)) { after.open() }
      after.wait()
      if wasInTime { #expect(runs.value == 0) }
    }
    #expect(wasInTime)
  }

  @Test("W2, C5: an item that waits for itself for a while goes on afterwards")
  func waitsForItselfForAWhile() {
    let item = Guarded<DispatchWorkItem?>(nil)
    let results = Recorder<DispatchTimeoutResult>()
    item.with {
      $0 = DispatchWorkItem {
        let itself = item.with { $0! }
        results.note(itself.wait(timeout: .now() + .milliseconds(1)))
        results.note(itself.wait(wallTimeout: .now()))
      }
    }
    queue.sync(execute: item.with { $0! })
    #expect(results.values == [.timedOut, .timedOut])
    #expect(item.with { $0!.wait(timeout: .now()) } == .success)
    item.with { $0 = nil }
  }

  @Test("W2: many threads may wait for different items at once")
  func manyWaiters() {
    PlainThread.concurrently(6) { _ in
      for _ in 0..<200 {
        let item = DispatchWorkItem {}
        DispatchQueue.global().async(execute: item)
        item.wait()
      }
    }
  }
}
