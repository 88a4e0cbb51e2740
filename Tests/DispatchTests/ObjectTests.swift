// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("The life of an object")
struct ObjectTests {
  private static let key = DispatchSpecificKey<Tombstone>()

  /// A queue whose end can be waited for: the value for `key` dies with it.
  private func mortalQueue(_ attributes: DispatchQueue.Attributes = []) -> (queue: DispatchQueue, buried: Latch) {
    let buried = Latch()
    let queue = DispatchQueue(label: "mortal", attributes: attributes)
    queue.setSpecific(key: Self.key, value: Tombstone(buried))
    return (queue, buried)
  }

  @Test("O1: a queue that nobody refers to is freed")
  func idleQueueIsFreed() {
    var mortal: (queue: DispatchQueue, buried: Latch)? = mortalQueue()
    mortal?.queue.sync {}
    let buried = mortal!.buried
    #expect(!buried.isOpen)
    mortal = nil
    #expect(buried.wait())
  }

  @Test("O1: the global queues and the main queue are the same objects each time")
  func globalsAreUnique() {
    #expect(DispatchQueue.main === DispatchQueue.main)
    #expect(DispatchQueue.global() === DispatchQueue.global())
    #expect(DispatchQueue.global(qos: .utility) === DispatchQueue.global(qos: .utility))
  }

  @Test("O3: a queue let go with work pending runs that work first, in order", arguments: [false, true])
  func pendingWorkKeepsTheQueueAlive(concurrent: Bool) {
    let (gate, recorder) = (Latch(), Recorder<Int>())
    var mortal: (queue: DispatchQueue, buried: Latch)? = mortalQueue(concurrent ? .concurrent : [])
    let buried = mortal!.buried
    mortal?.queue.async(flags: .barrier) { gate.wait() }
    for index in 0..<100 { mortal?.queue.async(flags: .barrier) { recorder.note(index) } }
    mortal = nil
    #expect(!buried.isOpen)
    gate.open()
    #expect(buried.wait())
    #expect(recorder.values == Array(0..<100))
  }

  @Test("O3: a delayed item keeps its queue alive")
  func delayedItemKeepsTheQueueAlive() {
    let ran = Latch()
    var mortal: (queue: DispatchQueue, buried: Latch)? = mortalQueue()
    let buried = mortal!.buried
    mortal?.queue.asyncAfter(deadline: .now() + .milliseconds(30)) { ran.open() }
    mortal = nil
    #expect(ran.wait())
    #expect(buried.wait())
  }

  @Test("O3: a pending group notification keeps the group alive")
  func pendingNotificationKeepsTheGroupAlive() {
    let (gate, notified) = (Latch(), Latch())
    let queue = DispatchQueue(label: "work")
    var group: DispatchGroup? = DispatchGroup()
    queue.async(group: group!) { gate.wait() }
    group?.notify(queue: queue) { notified.open() }
    group = nil
    gate.open()
    #expect(notified.wait())
  }

  @Test("O3: a target queue lives as long as a queue that targets it")
  func targetIsKeptAlive() {
    let ran = Latch()
    var target: (queue: DispatchQueue, buried: Latch)? = mortalQueue()
    let buried = target!.buried
    var queue: DispatchQueue? = DispatchQueue(label: "client", target: target!.queue)
    target = nil
    queue?.async { ran.open() }
    #expect(ran.wait())
    #expect(!buried.isOpen)
    queue = nil
    #expect(buried.wait())
  }

  @Test("O1: a thousand queues come and go with their work")
  func manyQueuesComeAndGo() {
    let done = Latch(1_000)
    for _ in 0..<1_000 {
      let tombstone = Tombstone(done)
      DispatchQueue(label: "brief").async { tombstone.visit() }
    }
    #expect(done.wait())
  }
}
