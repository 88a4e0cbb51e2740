// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

@Suite("E1, S11: the program's signals are the program's")
struct SignalMaskTests {
  @Test("a signal that the program blocks when the pool has threads already is left to it")
  func blockedLater() {
    let probe = Probe.run("signal-blocked-later")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("taken") == 100, "\(probe)")
  }

  @Test("a handler does not run inside of a section that blocks its signal, and runs after it")
  func criticalSection() {
    let probe = Probe.run("signal-critical-section")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("inside") == 0 && probe.number("after") == 100, "\(probe)")
  }

  @Test("a thread that waits in sigsuspend gets each signal")
  func suspends() {
    let probe = Probe.run("signal-suspend")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("handled") == 100, "\(probe)")
  }

  @Test("an item may raise a signal: the handler has run when it goes on", .enabled(if: !Kernel.isSanitized))
  func raised() {
    let probe = Probe.run("signal-raise")
    #expect(probe.ended, "\(probe)")
    #expect(probe.number("handled") == 10 && probe.number("sameMask") == 1, "\(probe)")
    #expect(probe.number("blocks") == 1 && probe.number("leaves") == 1, "\(probe)")
  }

  @Test("an item blocks a signal that its thread blocks already", .enabled(if: !Kernel.isSanitized))
  func ownSection() {
    let probe = Probe.run("signal-own-section")
    #expect(probe.ended, "\(probe)")
    for (name, count) in [("inside", 0), ("after", 1), ("later", 2), ("taken", Int(SIGUSR2))] {
      #expect(probe.number(name) == count, "\(name): \(probe)")
    }
    #expect(probe.number("sameMask") == 1 && probe.number("reserved") == 1, "\(probe)")
  }

  @Test("a child of an item blocks what the program blocks", .enabled(if: !Kernel.isSanitized))
  func childMasks() {
    let probe = Probe.run("signal-child-masks")
    #expect(probe.ended, "\(probe)")
    for way in ["spawn", "search", "grouped", "forked", "told", "restored", "own"] {
      #expect(probe.number(way) == 1, "\(way): \(probe)")
    }
    #expect(probe.number("chosen") == 2, "\(probe)")
  }
}
