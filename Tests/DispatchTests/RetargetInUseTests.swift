// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Testing

@testable import GrandCentral

@Suite("Changing targets of queues that are in use")
struct RetargetInUseTests {
  @Test(
    "Q8, Q10: whatever moves where, items exclude each other on every queue of their chain, and none is lost",
    arguments: ["retarget-in-use", "retarget-in-use-without-main"])
  func everythingMoves(scenario: String) {
    let result = Probe.run(scenario)
    #expect(result.ended, "\(result)")
    #expect(result["faults"] == "none", "\(result)")
    #expect(result.number("settled") == 1, "\(result)")
  }

  @Test("Q8, Q10: sync gives back just the queues that it holds when the chain changes while it waits")
  func targetsComeAndGo() {
    let result = Probe.run("retarget-above-sync")
    #expect(result.ended, "\(result)")
    #expect(result.number("settled") == 1, "\(result)")
    #expect(result.number("sum") == 1, "\(result)")
  }

  @Test("Q8, Q15: sync follows a target that has moved to the main queue, and one that has left it")
  func toMainAndBack() {
    let result = Probe.run("retarget-to-main")
    #expect(result.ended, "\(result)")
    #expect(result.number("before") == 0, "\(result)")
    for key in ["moved", "movedReader", "movedBarrier", "movedAndWait", "back", "backReader"] {
      #expect(result.number(key) == 1, "\(key) in \(result)")
    }
  }

  @Test("Q10: a target that only its queue keeps goes with the next change, not before")
  func passingTargets() {
    let result = Probe.run("retarget-to-passing")
    #expect(result.ended, "\(result)")
    #expect(result.number("ran") == 1, "\(result)")
  }

  @Test("Q11: queues below a queue without a QoS follow the QoS of its new target")
  func qosFollows() {
    let target = DispatchQueue(label: "target", target: .global(qos: .utility))
    let child = DispatchQueue(label: "child", target: DispatchQueue(label: "between", target: target))
    #expect(runningQoS(child) == .utility)
    target.setTarget(queue: .global(qos: .userInitiated))
    target.sync {}
    #expect(runningQoS(child) == .userInitiated)
    target.setTarget(queue: nil)
    target.sync {}
    #expect(runningQoS(child) == .unspecified)
  }

  /// The class at which an item runs that was submitted without a class, by a thread without one.
  private func runningQoS(_ queue: DispatchQueue) -> DispatchQoS.QoSClass {
    let (seen, done) = (Guarded<UInt32>(.max), Latch())
    PlainThread {
      queue.async {
        seen.with { $0 = gc_thread_self().pointee.qos }
        done.open()
      }
    }.join()
    done.wait()
    return QoSWord(rawValue: UInt16(truncatingIfNeeded: seen.with { $0 })).qos.qosClass
  }

  @Test("Q10: an idle queue changes its target at once, and is as quick afterwards as a new one")
  func leavesNoTrace() {
    let queue = DispatchQueue(label: "moving", target: DispatchQueue(label: "target"))
    queue.setTarget(queue: .global(qos: .utility))
    let fresh = DispatchQueue(label: "fresh", target: .global(qos: .utility))
    #expect(queue.state.load() == fresh.state.load())
    queue.sync {}
    #expect(queue.state.load() == fresh.state.load())
  }

  @Test("Q8, Q10: a chain of 100,000 queues is made, used by sync, and released")
  func veryLongChain() async {
    await #expect(processExitsWith: .exitCode(0)) {
      PlainThread {
        var top = DispatchQueue(label: "level")
        for _ in 1..<100_000 { top = DispatchQueue(label: "level", target: top) }
        var count = 0
        top.sync { count += 1 }
        top.sync { count += 1 }
        if count != 2 { fatalError() }
        // The first of these gives the queue a number that tools know it by.
        top.suspend()
        top.resume()
        top = DispatchQueue(label: "level", attributes: .initiallyInactive, target: top)
        top.activate()
        let buried = Latch()
        let key = DispatchSpecificKey<Tombstone>()
        top.setSpecific(key: key, value: Tombstone(buried))
        top = .global()
        if !buried.isOpen { fatalError() }
      }.join()
    }
  }

  @Test("HeldTargets gives back what it was given, last first, whatever the number")
  func heldTargets() {
    for count in [0, 1, 2, 6, 7, 12, 13, 40] {
      var held = HeldTargets()
      let queues = (0..<count).map { DispatchQueue(label: String($0)) }
      let lanes = queues.map { $0.reference }
      for lane in lanes { held.push(lane) }
      for lane in lanes.reversed() { #expect(held.pop() == lane) }
      #expect(held.pop() == nil)
      #expect(held.pop() == nil)
      withExtendedLifetime(queues) {}
    }
  }
}
