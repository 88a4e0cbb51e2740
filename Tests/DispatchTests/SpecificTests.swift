// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("Queue-specific values")
struct SpecificTests {
  private let key = DispatchSpecificKey<String>()

  @Test("Q12: a queue gives back what was set for a key, and nil for what was not")
  func setAndGet() {
    let queue = DispatchQueue(label: "specific")
    let number = DispatchSpecificKey<Int>()
    #expect(queue.getSpecific(key: key) == nil)
    queue.setSpecific(key: key, value: "one")
    queue.setSpecific(key: number, value: 2)
    #expect(queue.getSpecific(key: key) == "one")
    #expect(queue.getSpecific(key: number) == 2)
    queue.setSpecific(key: key, value: "three")
    #expect(queue.getSpecific(key: key) == "three")
    queue.setSpecific(key: key, value: nil)
    #expect(queue.getSpecific(key: key) == nil)
    #expect(queue.getSpecific(key: number) == 2)
  }

  @Test("Q12: values of one key on different queues are independent")
  func perQueue() {
    let (first, second) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"))
    first.setSpecific(key: key, value: "first")
    #expect(second.getSpecific(key: key) == nil)
    second.setSpecific(key: key, value: "second")
    #expect(first.getSpecific(key: key) == "first")
  }

  @Test("Q12: inside an item the type looks up the current queue, sync and async")
  func currentQueue() {
    let queue = DispatchQueue(label: "specific")
    queue.setSpecific(key: key, value: "here")
    #expect(DispatchQueue.getSpecific(key: key) == nil)
    #expect(queue.sync { DispatchQueue.getSpecific(key: key) } == "here")
    #expect(queue.asyncAndWait { DispatchQueue.getSpecific(key: key) } == "here")
    let (seen, done) = (Recorder<String?>(), Latch())
    queue.async { [key] in
      seen.note(DispatchQueue.getSpecific(key: key))
      done.open()
    }
    #expect(done.wait())
    #expect(seen.values == ["here"])
    #expect(DispatchQueue.getSpecific(key: key) == nil)
  }

  @Test("Q12: the look-up goes up the target chain, and the nearest value wins")
  func targetChain() {
    let bottom = DispatchQueue(label: "bottom")
    let middle = DispatchQueue(label: "middle", attributes: .concurrent, target: bottom)
    let top = DispatchQueue(label: "top", target: middle)
    bottom.setSpecific(key: key, value: "bottom")
    #expect(top.sync { DispatchQueue.getSpecific(key: key) } == "bottom")
    middle.setSpecific(key: key, value: "middle")
    #expect(top.sync { DispatchQueue.getSpecific(key: key) } == "middle")
    top.setSpecific(key: key, value: "top")
    #expect(top.sync { DispatchQueue.getSpecific(key: key) } == "top")
    #expect(middle.sync { DispatchQueue.getSpecific(key: key) } == "middle")
    #expect(bottom.sync { DispatchQueue.getSpecific(key: key) } == "bottom")
  }

  @Test("Q12: the look-up on a queue itself does not go up the chain")
  func instanceLooksAtItself() {
    let bottom = DispatchQueue(label: "bottom")
    let top = DispatchQueue(label: "top", target: bottom)
    bottom.setSpecific(key: key, value: "bottom")
    #expect(top.getSpecific(key: key) == nil)
  }

  @Test("Q12: in nested syncs the innermost queue is the current one, and the outer one after it")
  func nestedSync() {
    let (outer, inner) = (DispatchQueue(label: "outer"), DispatchQueue(label: "inner"))
    outer.setSpecific(key: key, value: "outer")
    inner.setSpecific(key: key, value: "inner")
    outer.sync {
      #expect(inner.sync { DispatchQueue.getSpecific(key: key) } == "inner")
      #expect(DispatchQueue.getSpecific(key: key) == "outer")
    }
  }

  @Test("Q12: a replaced value is destroyed, and the last one dies with the queue")
  func destruction() {
    let key = DispatchSpecificKey<Tombstone>()
    let (first, second) = (Latch(), Latch())
    var queue: DispatchQueue? = DispatchQueue(label: "specific")
    queue?.setSpecific(key: key, value: Tombstone(first))
    queue?.setSpecific(key: key, value: Tombstone(second))
    #expect(first.wait())
    #expect(!second.isOpen)
    queue?.sync {}
    queue = nil
    #expect(second.wait())
  }

  @Test("Q12: global and main queues hold values too")
  func globalQueues() {
    let (global, main) = (DispatchSpecificKey<Int>(), DispatchSpecificKey<Int>())
    DispatchQueue.global(qos: .utility).setSpecific(key: global, value: 1)
    DispatchQueue.main.setSpecific(key: main, value: 2)
    #expect(DispatchQueue.global(qos: .utility).getSpecific(key: global) == 1)
    #expect(DispatchQueue.main.getSpecific(key: main) == 2)
    DispatchQueue.global(qos: .utility).setSpecific(key: global, value: nil)
    DispatchQueue.main.setSpecific(key: main, value: nil)
    #expect(DispatchQueue.global(qos: .utility).getSpecific(key: global) == nil)
  }

  @Test("Q12: values are set and read from many threads")
  func concurrentUse() {
    let queue = DispatchQueue(label: "specific", attributes: .concurrent)
    let keys = (0..<8).map { _ in DispatchSpecificKey<Int>() }
    let wrong = Counter()
    PlainThread.concurrently(4) { thread in
      for index in 0..<500 {
        let mine = keys[thread]
        queue.setSpecific(key: mine, value: index)
        if queue.getSpecific(key: mine) != index { wrong.add() }
        if queue.sync(execute: { DispatchQueue.getSpecific(key: mine) }) != index { wrong.add() }
      }
    }
    #expect(wrong.value == 0)
  }
}
