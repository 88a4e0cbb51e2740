// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

/// libdispatch traps when an active queue changes its target; here it may.
@Suite("Changing the target")
struct RetargetTests {
  private static let place = DispatchSpecificKey<String>()

  private func placed(_ name: String, _ attributes: DispatchQueue.Attributes = []) -> DispatchQueue {
    let queue = DispatchQueue(label: name, attributes: attributes)
    queue.setSpecific(key: Self.place, value: name)
    return queue
  }

  @Test("Q10: items run on the target that the queue had when they were enqueued")
  func retargetingIsFIFO() {
    let (first, second) = (placed("first"), placed("second"))
    let queue = DispatchQueue(label: "moving", target: first)
    let (seen, gate) = (Recorder<String?>(), Latch())
    queue.async {
      gate.wait()
      seen.note(DispatchQueue.getSpecific(key: Self.place))
    }
    queue.async { seen.note(DispatchQueue.getSpecific(key: Self.place)) }
    queue.setTarget(queue: second)
    for _ in 0..<2 { queue.async { seen.note(DispatchQueue.getSpecific(key: Self.place)) } }
    gate.open()
    queue.sync {}
    #expect(seen.values == ["first", "first", "second", "second"])
  }

  @Test("Q10: retargeting back and forth under load loses nothing and keeps order")
  func retargetingUnderLoad() {
    let targets = [placed("first"), placed("second"), placed("third", .concurrent)]
    let queue = DispatchQueue(label: "moving", target: targets[0])
    let log = Unprotected<[Int]>([])
    for index in 0..<3_000 {
      if index % 30 == 0 { queue.setTarget(queue: targets[index / 30 % targets.count]) }
      queue.async { log.value.append(index) }
    }
    #expect(queue.sync { log.value } == Array(0..<3_000))
  }

  @Test("Q10: the new target is kept, the old one is let go, the first at the latest with the queue")
  func retargetingRetainsAndReleases() {
    let key = DispatchSpecificKey<Tombstone>()
    let buried = (0..<3).map { _ in Latch() }
    var targets: [DispatchQueue?] = buried.map { latch in
      let target = DispatchQueue(label: "target")
      target.setSpecific(key: key, value: Tombstone(latch))
      return target
    }
    var queue: DispatchQueue? = DispatchQueue(label: "moving", target: targets[0])
    for index in 1..<3 {
      queue?.setTarget(queue: targets[index]!)
      targets[index - 1] = nil
      queue?.sync {}
    }
    targets[2] = nil
    #expect(buried[1].wait())
    #expect(!buried[2].isOpen)
    queue = nil
    #expect(buried[0].wait())
    #expect(buried[2].wait())
  }

  @Test("Q10: a suspended queue changes its target")
  func retargetingWhileSuspended() {
    let (first, second) = (placed("first"), placed("second"))
    let queue = DispatchQueue(label: "moving", target: first)
    let (seen, done) = (Recorder<String?>(), Latch())
    queue.suspend()
    queue.setTarget(queue: second)
    queue.async {
      seen.note(DispatchQueue.getSpecific(key: Self.place))
      done.open()
    }
    queue.resume()
    #expect(done.wait())
    #expect(seen.values == ["second"])
  }

  @Test("Q10, O3: inactive queues that change places keep each other no longer than they need each other")
  func inactiveQueuesChangePlaces() {
    let key = DispatchSpecificKey<Tombstone>()
    let buried = (0..<2).map { _ in Latch() }
    do {
      let below = DispatchQueue(label: "below", attributes: .initiallyInactive)
      let above = DispatchQueue(label: "above", attributes: .initiallyInactive, target: below)
      above.setSpecific(key: key, value: Tombstone(buried[0]))
      below.setSpecific(key: key, value: Tombstone(buried[1]))
      above.setTarget(queue: DispatchQueue.global())
      below.setTarget(queue: above)
      above.activate()
      below.activate()
      below.sync {}
      above.sync {}
    }
    #expect(buried[0].wait())
    #expect(buried[1].wait())
  }
}
