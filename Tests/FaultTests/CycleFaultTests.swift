// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("A cycle of waits traps when it forms", .timeLimit(.minutes(30)))
struct CycleFaultTests {
  @Test("F4, F1, K4 GC0032: two queues that wait for each other, with labels, threads and both callers")
  func crosswise() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let (accounts, ledger) = (DispatchQueue(label: "accounts"), DispatchQueue(label: "ledger"))
      let both = Latch(2)
      accounts.async { syncFromAccounts(ledger, both) }
      ledger.async { syncFromLedger(accounts, both) }
      Latch().wait()
    }
    expectFault(
      result, "GC0032", mentions: "DispatchQueue.sync", "for queue \"accounts\", which thread ",
      "for queue \"ledger\", which thread ", "syncFromAccounts", "syncFromLedger", "(gc-default-", "async")
  }

  @Test("F4, Q9 GC0032: three threads in a ring")
  func ring() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let queues = (0..<3).map { DispatchQueue(label: "ring.\($0)") }
      let all = Latch(3)
      PlainThread.concurrently(3) { index in
        queues[index].sync { syncInRing(queues[(index + 1) % 3], all) }
      }
    }
    expectFault(result, "GC0032", mentions: "\"ring.0\"", "\"ring.1\"", "\"ring.2\"", "syncInRing")
  }

  @Test("F4, Q3 GC0032: a reader behind a barrier that waits for that reader")
  func nestedReader() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let cache = DispatchQueue(label: "cache", attributes: .concurrent)
      cache.async {
        cache.async(flags: .barrier) {}
        readAgain(cache)
      }
      Latch().wait()
    }
    expectFault(
      result, "GC0032", mentions: "a wait that cannot end",
      "for queue \"cache\", which the same thread is inside an item of",
      "readAgain")
  }

  @Test("F4, Q3 GC0032: barriers that wait for each other's readers")
  func barriers() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let north = DispatchQueue(label: "north", attributes: .concurrent)
      let south = DispatchQueue(label: "south", attributes: .concurrent)
      let both = Latch(2)
      north.async { barrierFromNorth(south, both) }
      south.sync { barrierFromSouth(north, both) }
    }
    expectFault(
      result, "GC0032", mentions: "a barrier DispatchQueue.sync", "\"north\"", "\"south\"", "is inside an item of",
      "barrierFromNorth", "barrierFromSouth")
  }

  @Test("F4 GC0032: readers that fill a limited queue, and all wait for room")
  func fullReaders() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let downloads = DispatchQueue(label: "downloads", maximumConcurrency: 2)
      let both = Latch(2)
      for _ in 0..<2 { downloads.async { syncInRing(downloads, both) } }
      Latch().wait()
    }
    expectFault(result, "GC0032", mentions: "\"downloads\"", "as are others", "syncInRing")
  }

  @Test("F4, G1 GC0032: a group whose item waits on the queue of the thread that waits for it")
  func groupOfOwnQueue() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let (uploads, group) = (DispatchQueue(label: "uploads"), DispatchGroup())
      uploads.async {
        uploads.async(group: group) {}
        waitForGroup(group)
      }
      Latch().wait()
    }
    expectFault(
      result, "GC0032", mentions: "DispatchGroup.wait", "waits on queue \"uploads\" for the same thread",
      "waitForGroup",
      "notify")
  }

  @Test("F4, G1 GC0032: a group whose item waits on a queue that targets the one of the thread that waits for it")
  func groupOfChildQueue() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let parser = DispatchQueue(label: "parser")
      let tokens = DispatchQueue(label: "tokens", target: parser)
      let group = DispatchGroup()
      parser.sync {
        tokens.async(group: group, execute: DispatchWorkItem {})
        waitForGroup(group)
      }
    }
    expectFault(
      result, "GC0032", mentions: "DispatchGroup.wait", "\"tokens\", whose items run as items of \"parser\"",
      "waitForGroup")
  }

  @Test("F4, G1 GC0032: a group whose item runs, and waits for the queue of the thread that waits for it")
  func groupThatSyncsBack() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let (model, group) = (DispatchQueue(label: "model"), DispatchGroup())
      model.sync {
        DispatchQueue.global().async(group: group) { syncBack(model) }
        waitForGroup(group)
      }
    }
    expectFault(
      result, "GC0032", mentions: "DispatchGroup.wait", "DispatchQueue.sync", "for queue \"model\"", "which thread ",
      " runs",
      "syncBack", "waitForGroup")
  }

  @Test("F4, W2 GC0032: a work item that waits on the queue of the thread that waits for it")
  func itemOnOwnQueue() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let (layout, item) = (DispatchQueue(label: "layout"), DispatchWorkItem {})
      layout.async {
        layout.async(execute: item)
        waitForItem(item)
      }
      Latch().wait()
    }
    expectFault(result, "GC0032", mentions: "DispatchWorkItem.wait", "\"layout\"", "waitForItem")
  }

  @Test("F4, W2, W3 GC0032: a work item that runs, and waits for the queue of the thread that waits for it")
  func itemThatSyncsBack() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let layout = DispatchQueue(label: "layout")
      let item = DispatchWorkItem { syncBack(layout) }
      layout.sync {
        DispatchQueue.global().async(execute: item)
        waitForItem(item)
      }
    }
    expectFault(result, "GC0032", mentions: "DispatchWorkItem.wait", "\"layout\"", "waitForItem", "syncBack")
  }

  @Test("F4, Q10 GC0032: a queue on its way through a target that a thread of the cycle holds")
  func nestedTargets() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let (store, index) = (DispatchQueue(label: "store"), DispatchQueue(label: "index"))
      let words = DispatchQueue(label: "words", target: index)
      let both = Latch(2)
      store.async { syncFromAccounts(words, both) }
      index.async {
        words.async {}
        syncFromLedger(store, both)
      }
      Latch().wait()
    }
    expectFault(
      result, "GC0032", mentions: "for queue \"words\", whose items run as items of \"index\", which thread ",
      "\"store\"",
      "syncFromAccounts", "syncFromLedger")
  }

  @Test("F4, Q10 GC0032: a thread that holds a queue, and waits for its target")
  func targetThatIsHeld() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let (store, index) = (DispatchQueue(label: "store"), DispatchQueue(label: "index"))
      let words = DispatchQueue(label: "words", target: index)
      let both = Latch(2)
      store.async { syncFromAccounts(words, both) }
      index.async { syncFromLedger(store, both) }
      Latch().wait()
    }
    expectFault(result, "GC0032", mentions: "queue \"index\", the target of \"words\"", "\"store\"", "syncFromAccounts")
  }

  @Test("F4, G4 GC0032: a once whose body waits for a queue on which the once is waited for")
  func once() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let (settings, once, both) = (DispatchQueue(label: "settings"), DispatchOnce(), Latch(2))
      DispatchQueue.global().async { once.run { syncFromAccounts(settings, both) } }
      settings.async {
        both.open()
        both.wait()
        once.run {}
      }
      Latch().wait()
    }
    expectFault(result, "GC0032", mentions: "DispatchOnce.run", "\"settings\"", "syncFromAccounts")
  }
}

@inline(never) private func syncFromAccounts(_ queue: DispatchQueue, _ both: Latch) {
  both.open()
  both.wait()
  queue.sync {}
}

@inline(never) private func syncFromLedger(_ queue: DispatchQueue, _ both: Latch) {
  both.open()
  both.wait()
  queue.sync {}
}

@inline(never) private func syncInRing(_ queue: DispatchQueue, _ all: Latch) {
  all.open()
  all.wait()
  queue.sync {}
}

@inline(never) private func barrierFromNorth(_ queue: DispatchQueue, _ both: Latch) {
  both.open()
  both.wait()
  queue.sync(flags: .barrier) {}
}

@inline(never) private func barrierFromSouth(_ queue: DispatchQueue, _ both: Latch) {
  both.open()
  both.wait()
  queue.sync(flags: .barrier) {}
}

@inline(never) private func readAgain(_ queue: DispatchQueue) { queue.sync {} }
@inline(never) private func syncBack(_ queue: DispatchQueue) { queue.sync {} }
@inline(never) private func waitForGroup(_ group: DispatchGroup) { group.wait() }
@inline(never) private func waitForItem(_ item: DispatchWorkItem) { item.wait() }
