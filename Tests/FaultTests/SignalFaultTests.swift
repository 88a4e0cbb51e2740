// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

@testable import GrandCentral

@Suite("Misuse of signal sources traps")
struct SignalFaultTests {
  @Test("F1, S11 GC0026: signals that cannot be handled")
  func unstoppable() async {
    let kill = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      _ = DispatchSource.makeSignalSource(signal: SIGKILL)
    }
    expectFault(kill, "GC0026", mentions: "makeSignalSource(signal: 9)", "Watch another")
    let stop = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      _ = DispatchSource.makeSignalSource(signal: SIGSTOP)
    }
    expectFault(stop, "GC0026", mentions: "makeSignalSource(signal: 19)")
  }

  @Test("F1, S11 GC0026: a fault of the program's own code")
  func fault() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      _ = DispatchSource.makeSignalSource(signal: SIGSEGV)
    }
    expectFault(result, "GC0026", mentions: "makeSignalSource(signal: 11)", "sigaction")
  }

  @Test("F1, S11 GC0026: numbers that are no signals")
  func noSignal() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      _ = DispatchSource.makeSignalSource(signal: 65)
    }
    expectFault(result, "GC0026", mentions: "makeSignalSource(signal: 65)")
  }

  @Test("S11: exactly the signals that the documentation names are refused")
  func refused() {
    let refused = [SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, 32, 33, 0, -1, 65, .max, .min]
    for signal in refused { #expect(!Signals.canBeWatched(signal), "\(signal)") }
    for signal in Int32(1)...64 where !refused.contains(signal) { #expect(Signals.canBeWatched(signal), "\(signal)") }
  }
}
