// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

/// Items that spin, that submit themselves again, or that block, and other work beside them, which does not wait for them.
///
/// When a promise is broken the items are told to end, so that other tests find a pool that works. How long the other work waits
/// is measured by Scripts/fairness; here patience is a failure guard.
@Suite("Work waits behind no other work", .serialized)
struct ProgressTests {
  /// More than the pool starts at once, whatever the machine has.
  private static let convoy = Kernel.usableProcessors + 6

  /// Items of a queue each that spin until `free` is raised; returns when each processor has one. The latch opens when all have
  /// ended.
  private func spin(_ count: Int, until free: Counter) -> Latch {
    let (busy, ended) = (Latch(min(count, Kernel.usableProcessors)), Latch(count))
    for index in 0..<count {
      DispatchQueue(label: "spins-\(index)").async {
        busy.open()
        while free.value == 0 {}
        ended.open()
      }
    }
    #expect(busy.wait(), "each processor has an item")
    return ended
  }

  @Test("E9: a serial queue's item runs while items of more queues than there are processors spin until it has run")
  func serialQueues() {
    let (free, ran) = (Counter(), Latch())
    let ended = spin(Self.convoy, until: free)
    DispatchQueue(label: "sets free").async {
      free.add()
      ran.open()
    }
    #expect(ran.wait(), "the queue's item ran")
    free.add()
    #expect(ended.wait(), "all items ended")
  }

  @Test(
    "E9: the last of many items runs while the others, of the same queue, spin until it has run",
    arguments: ["global", "concurrent"])
  func oneQueue(kind: String) {
    let queue = kind == "global" ? DispatchQueue.global() : DispatchQueue(label: "spins", attributes: .concurrent)
    let (free, ran, ended) = (Counter(), Latch(), Latch(Self.convoy))
    for _ in 0..<Self.convoy {
      queue.async {
        while free.value == 0 {}
        ended.open()
      }
    }
    queue.async {
      free.add()
      ran.open()
    }
    #expect(ran.wait(), "the last item ran")
    free.add()
    #expect(ended.wait(), "all items ended")
  }

  @Test("E9: a timer fires while items of more queues than there are processors spin until it has fired")
  func timer() {
    let (free, fired) = (Counter(), Latch())
    let ended = spin(Self.convoy, until: free)
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "timer"))
    timer.setEventHandler {
      free.add()
      fired.open()
    }
    timer.schedule(deadline: .now() + .milliseconds(10))
    timer.activate()
    #expect(fired.wait(), "the timer fired")
    free.add()
    #expect(ended.wait(), "all items ended")
    timer.cancel()
  }

  @Test("E9: a read source tells of bytes while items of more queues than there are processors spin until it has")
  func readSource() throws {
    let ends = try #require(Kernel.closeOnExecPipe())
    let (free, registered, told, cancelled) = (Counter(), Latch(), Latch(), Latch())
    let source = DispatchSource.makeReadSource(fileDescriptor: ends.readEnd, queue: DispatchQueue(label: "source"))
    source.setRegistrationHandler { registered.open() }
    source.setEventHandler {
      free.add()
      told.open()
    }
    source.setCancelHandler {
      close(ends.readEnd)
      cancelled.open()
    }
    source.activate()
    #expect(registered.wait())
    let ended = spin(Self.convoy, until: free)
    #expect(write(ends.writeEnd, "x", 1) == 1)
    #expect(told.wait(), "the handler ran")
    free.add()
    #expect(ended.wait(), "all items ended")
    source.cancel()
    #expect(cancelled.wait())
    close(ends.writeEnd)
  }

  /// Items that submit themselves again, to a global queue that is never empty, until `stop` is raised; the latch opens when
  /// all have ended.
  private func occupyGlobalQueue(until stop: Counter) -> Latch {
    let (count, ended) = (16 * Kernel.usableProcessors, Latch(16 * Kernel.usableProcessors))
    @Sendable func again() {
      let begin = monotonicNanoseconds()
      while monotonicNanoseconds() < begin + 50_000 {}
      guard stop.value == 0 else { return ended.open() }
      DispatchQueue.global().async { again() }
    }
    for _ in 0..<count { DispatchQueue.global().async { again() } }
    return ended
  }

  @Test("E9: an item that fans out to eight queues and waits for them goes on, though the global queue is never empty")
  func fanOut() {
    let (stop, done) = (Counter(), Latch())
    let ended = occupyGlobalQueue(until: stop)
    let queues = (0..<8).map { DispatchQueue(label: "fan-\($0)") }
    DispatchQueue.global().async {
      for _ in 0..<20 where stop.value == 0 {
        let group = DispatchGroup()
        for queue in queues { queue.async(group: group) {} }
        group.wait()
      }
      done.open()
    }
    #expect(done.wait(), "the item's twenty rounds ended")
    stop.add()
    #expect(ended.wait(), "the other items ended")
    #expect(done.wait())
  }

  @Test(
    "E9: queues that an item has given work start when it blocks, though the global queue is never empty",
    arguments: ["semaphore", "latch"])
  func fillAndBlock(kind: String) {
    let (stop, semaphore, latch, unblocked) = (Counter(), DispatchSemaphore(value: 0), Latch(), Latch())
    let ended = occupyGlobalQueue(until: stop)
    let started = Latch(8)
    DispatchQueue.global().async {
      for index in 0..<8 { DispatchQueue(label: "filled-\(index)").async { started.open() } }
      if kind == "semaphore" { semaphore.wait() } else { latch.wait() }
      unblocked.open()
    }
    #expect(started.wait(), "all eight queues have started")
    stop.add()
    semaphore.signal()
    latch.open()
    #expect(unblocked.wait())
    #expect(ended.wait(), "the other items ended")
  }

  @Test(
    "E9, Q8: a queue that submits to itself for ever lets its targets run, and what else stands on them",
    arguments: 1...4)
  func neverDry(depth: Int) {
    var chain = [DispatchQueue(label: "top")]
    for level in 0..<depth { chain.append(DispatchQueue(label: "level-\(level)", target: chain[level])) }
    let (stop, begun, ended, busy) = (Counter(), Latch(), Latch(), chain.removeLast())
    @Sendable func again() {
      begun.open()
      if stop.value > 0 { return ended.open() }
      busy.async { again() }
    }
    busy.async { again() }
    #expect(begun.wait())
    for queue in chain {
      let ran = Latch(2)
      DispatchQueue(label: "beside", target: queue).async { ran.open() }
      queue.async { ran.open() }
      #expect(ran.wait(), "\(queue.label) and a queue beside the busy one")
    }
    stop.add()
    #expect(ended.wait())
  }

  @Test("E9: a concurrent queue with many items lets its target run before it has sent them all on")
  func sendsOn() {
    let (target, gate, sent, seen, done) = (DispatchQueue(label: "target"), Latch(), Counter(), Counter(), Latch())
    let queue = DispatchQueue(label: "full", attributes: .concurrent, target: target)
    queue.async(flags: .barrier) { gate.wait() }
    let count = 400_000
    for _ in 0..<count { queue.async { sent.add() } }
    queue.async(flags: .barrier) { done.open() }
    target.async {
      // Behind those that the queue has sent on until now.
      target.async { seen.add(sent.value) }
    }
    gate.open()
    #expect(done.wait())
    #expect(sent.value == count && seen.value < count, "\(seen.value) of \(sent.value) came before")
  }
}
