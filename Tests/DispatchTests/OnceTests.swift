// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("Once")
struct OnceTests {
  private final class Holder: Sendable {
    let once = DispatchOnce()
  }

  @Test("G4: of many calls, one runs the body")
  func runsOnce() {
    let (holder, runs) = (Holder(), Counter())
    for _ in 0..<100 { holder.once.run { runs.add() } }
    #expect(runs.value == 1)
  }

  @Test("G4: of many threads one runs the body, and the others wait until it has ended")
  func othersWait() {
    for _ in 0..<200 {
      let (holder, value, wrong, runs) = (Holder(), Unprotected(0), Counter(), Counter())
      PlainThread.concurrently(3) { _ in
        holder.once.run {
          runs.add()
          value.value = 42
        }
        if value.value != 42 { wrong.add() }
      }
      #expect(runs.value == 1)
      #expect(wrong.value == 0)
    }
  }

  @Test("G4: callers sleep while a slow body runs")
  func callersSleep() {
    let (holder, isIn, gate, passed) = (Holder(), Latch(), Latch(), Counter())
    let runner = PlainThread {
      holder.once.run {
        isIn.open()
        gate.wait()
      }
    }
    #expect(isIn.wait())
    let callers = (0..<3).map { _ in
      BlockedThread {
        holder.once.run { Issue.record("a second body ran") }
        passed.add()
      }
    }
    for caller in callers { #expect(caller.isAsleep()) }
    #expect(passed.value == 0)
    gate.open()
    runner.join()
    for caller in callers { caller.join() }
    #expect(passed.value == 3)
  }

  @Test("G4: different onces do not hold each other up")
  func independent() {
    let (outer, inner, runs) = (Holder(), Holder(), Counter())
    outer.once.run { inner.once.run { runs.add() } }
    #expect(runs.value == 1)
  }

  @Test("G4: a later call makes no system call")
  func makesNoSystemCall() {
    let result = Probe.run("once-without-system-calls")
    #expect(result.ended, "\(result)")
  }
}
