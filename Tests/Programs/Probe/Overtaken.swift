// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral

/// For a pool of one worker. Two urgent items of a global queue that submit themselves anew keep it from anything less urgent.
private struct Starvation {
  let stop = Latch()
  private let urgent = DispatchQueue.global(qos: .userInteractive)

  /// Calls `round` with numbers from 0, each in an item of its own, behind what the call before has submitted, until it
  /// returns false; then the starvation goes on until `stop` is open.
  func begin(_ round: @escaping @Sendable (Int) -> Bool) {
    @Sendable func drive(_ number: Int) {
      urgent.async { if round(number) { drive(number + 1) } else { idle() } }
    }
    @Sendable func idle() {
      urgent.async { [stop] in if !stop.isOpen { idle() } }
    }
    idle()
    idle()
    drive(0)
  }
}

extension Scenario {
  static let overtaken: [String: Body] = [
    "overtaken": starvingBand, "overtaken-fork": forkWhileOvertaken, "overtaken-scope": scopeWhileOvertaken,
  ]

  /// A lane has work of a low band and of a high one, again and again: how many of its activations are on their way?
  @Sendable private static func starvingBand() {
    let (rounds, starvation, done) = (30_000, Starvation(), Latch())
    let (lane, ran) = (DispatchQueue(label: "lane", qos: .background), Counter())
    let (before, left) = (Guarded(0), Guarded(0))
    starvation.begin { number in
      if number == 0 { before.with { $0 = retainCount(of: lane) } }
      if number < rounds {
        lane.async { ran.add() }
        lane.async(qos: .userInteractive) { ran.add() }
        return true
      }
      left.with { $0 = retainCount(of: lane) }
      done.open()
      return false
    }
    require(done.wait(), "the rounds ended")
    report("left", left.with { $0 } - before.with { $0 })
    starvation.stop.open()
    lane.sync {}
    report("rounds", rounds)
    report("ran", ran.value)
  }

  /// Forks while an activation of an idle lane is left over in a starving band. Can the child use the lane?
  @Sendable private static func forkWhileOvertaken() {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    let (starvation, done) = (Starvation(), Latch())
    let (lane, before, left) = (DispatchQueue(label: "lane", qos: .background), Guarded(0), Guarded(0))
    starvation.begin { number in
      if number == 0 {
        before.with { $0 = retainCount(of: lane) }
        lane.async {}
        lane.async(qos: .userInteractive) {}
        return true
      }
      left.with { $0 = retainCount(of: lane) }
      done.open()
      return false
    }
    require(done.wait(), "the urgent item ran")
    report("left", left.with { $0 } - before.with { $0 })
    lane.sync {}
    let child = gc_fork()
    if child == 0 {
      for _ in 0..<3 {
        let ran = Latch(2)
        lane.async { ran.open() }
        lane.async(qos: .userInteractive) { ran.open() }
        if !ran.wait() { _exit(1) }
      }
      _exit(0)
    }
    require(child > 0, "fork")
    var status: Int32 = -1
    require(waitpid(child, &status, 0) == child, "waitpid")
    report("child", Int(status))
    starvation.stop.open()
    lane.sync {}
  }

  /// A task waits for the end of a scope while less urgent bands starve, that of items without a quality of service among them.
  @Sendable private static func scopeWhileOvertaken() {
    let (starvation, ended) = (Starvation(), Latch())
    let urgent = DispatchQueue.global(qos: .userInteractive)
    starvation.begin { _ in false }
    Task.detached(priority: .userInitiated) {
      await withDispatchGroup { scope in scope.async(on: urgent) {} }
      await withDispatchGroup { scope in
        let entry = scope.enter()
        urgent.asyncAfter(deadline: .now() + .milliseconds(20)) { entry.leave() }
      }
      ended.open()
    }
    report("ended", ended.wait(seconds: 20))
    starvation.stop.open()
  }
}
