// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("Misuse of channels traps")
struct IOFaultTests {
  @Test("F1, O6 GC0001: a channel is resumed without having been suspended")
  func resumeWithoutSuspend() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      DispatchIO(type: .stream, fileDescriptor: 0, queue: .global()) { _ in }.resume()
    }
    expectFault(result, "GC0001", mentions: "DispatchIO", "resume", "suspend")
  }

  @Test("F1, O6 GC0002: last release of a suspended channel")
  func releasedWhileSuspended() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      var channel: DispatchIO? = DispatchIO(type: .stream, fileDescriptor: 0, queue: .global()) { _ in }
      channel?.suspend()
      channel = nil
    }
    expectFault(result, "GC0002", mentions: "DispatchIO", "suspended", "resume")
  }
}
