// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

/// A queue's activation in a low band is overtaken by one in a high band, and left over while the low band starves.
///
/// The starving takes place in a workloop: there is always an urgent item behind the one that runs, so it never comes to
/// less urgent ones. Each activation on its way keeps its queue alive, so they are counted by the references to it.
@Suite("Activations that were overtaken")
struct OvertakenTests {
  private static let rounds = 20_000

  /// Calls `round` in an urgent item of `loop`, and again in the next one, behind what the call has submitted, until it
  /// returns false.
  private func repeatUrgently(on loop: DispatchWorkloop, _ round: @escaping @Sendable (Int) -> Bool) {
    let done = Latch()
    @Sendable func item(_ number: Int) {
      guard round(number) else { return done.open() }
      loop.async(qos: .userInteractive) { item(number + 1) }
    }
    loop.async(qos: .userInteractive) { item(0) }
    #expect(done.wait(), "the rounds ended")
  }

  @Test(
    "Q11: a queue is sent into a starving band once, however often it has work of that band and of a higher one",
    arguments: ["serial", "concurrent", "retargeted"])
  func starvingBand(kind: String) {
    let loop = DispatchWorkloop(label: "loop")
    weak var gone: DispatchQueue?
    do {
      let lane = DispatchQueue(
        label: "lane", qos: .background, attributes: kind == "concurrent" ? .concurrent : [],
        target: kind == "retargeted" ? nil : loop)
      if kind == "retargeted" { lane.setTarget(queue: loop) }
      gone = lane
      let (ran, before, left) = (Counter(), Guarded(0), Guarded(0))
      repeatUrgently(on: loop) { number in
        if number == 0 { before.with { $0 = retainCount(of: lane) } }
        if number < Self.rounds {
          lane.async(flags: .barrier) { ran.add() }
          lane.async(qos: .userInteractive, flags: .barrier) { ran.add() }
          return true
        }
        // The lane is idle; what keeps it alive beyond the test and its items is on its way.
        left.with { $0 = retainCount(of: lane) }
        return false
      }
      #expect(ran.value == 2 * Self.rounds)
      #expect(left.with { $0 } - before.with { $0 } == 1, "after \(Self.rounds) rounds")
    }
    // The low band gets its turn.
    loop.sync {}
    #expect(eventually { gone == nil }, "a queue that is dropped goes when its last activation arrives")
  }

  @Test("Q11: work between the starving band and the highest one gets an activation of its own")
  func bandsBetween() {
    let loop = DispatchWorkloop(label: "loop")
    let lane = DispatchQueue(label: "lane", qos: .background, target: loop)
    let order = Recorder<String>()
    let done = Latch(3)
    repeatUrgently(on: loop) { number in
      if number == 0 {
        lane.async {}
        lane.async(qos: .userInteractive) {}
        return true
      }
      // One activation is left over in the low band. The next low work adopts it, and it is overtaken again.
      for (qos, name) in [(DispatchQoS.background, "low"), (.default, "loop"), (.utility, "between")] {
        let queue = name == "loop" ? loop : lane
        queue.async(qos: qos) {
          order.note(name)
          done.open()
        }
      }
      loop.async(qos: .background) { order.note("last") }
      return false
    }
    #expect(done.wait())
    loop.sync {}
    // The lane comes in its highest band, and then with all its items.
    #expect(Array(order.values.prefix(3)) == ["loop", "low", "between"])
  }

  @Test("Q8 Q10: work of a queue with another target does not wait for what went through the former one")
  func formerTarget() {
    let loop = DispatchWorkloop(label: "loop")
    let lane = DispatchQueue(label: "lane", qos: .background, target: loop)
    let ran = Latch()
    repeatUrgently(on: loop) { number in
      if number == 0 {
        lane.async {}
        lane.async(qos: .userInteractive) {}
        return true
      }
      lane.setTarget(queue: .global(qos: .background))
      lane.async { ran.open() }
      // The workloop is busy until then: nothing arrives through it.
      #expect(ran.wait(), "the item ran on the new target")
      return false
    }
    loop.sync {}
    lane.sync {}
  }

  @Test("Q11: a queue is sent into a starving band of the pool once")
  func starvingBandOfPool() {
    let result = Probe.run(
      "overtaken", environment: ["GRANDCENTRAL_THREADS": "1", "GRANDCENTRAL_THREAD_BUDGET": "1"])
    #expect(result.ended, "\(result)")
    #expect(result.number("ran") == 2 * (result.number("rounds") ?? 0), "\(result)")
    #expect((1...6).contains(result.number("left") ?? 0), "\(result)")
  }

  @Test("E5: a child of fork does not wait for an activation that is the parent's")
  func fork() {
    let result = Probe.run(
      "overtaken-fork", environment: ["GRANDCENTRAL_THREADS": "1", "GRANDCENTRAL_THREAD_BUDGET": "1"])
    #expect(result.ended, "\(result)")
    guard result.skipped == nil else { return }
    #expect((1...6).contains(result.number("left") ?? 0), "\(result)")
    #expect(result.number("child") == 0, "\(result)")
  }
}
