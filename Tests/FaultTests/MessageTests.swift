// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

@testable import GrandCentral

@Suite("What faults say")
struct MessageTests {
  @Test("F2: a bug of the library is told apart from misuse, and shows the decoded state word")
  func bug() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let queue = DispatchQueue(label: "org.example.broken", attributes: .concurrent)
      queue.suspend()
      Fault.bug("for the test: " + queue.decodedState)
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    let lines = text.split(separator: "\n").filter { $0.hasPrefix("GrandCentral") }
    #expect(lines.count == 1, "\(text)")
    #expect(lines.first?.hasPrefix("GrandCentral bug: for the test: ") == true, "\(text)")
    #expect(text.contains("suspended"), "\(text)")
    #expect(!text.contains("misuse"), "\(text)")
  }

  @Test("F1: a label with line breaks leaves the fault one line")
  func labelWithLineBreaks() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      DispatchQueue(label: "two\nGrandCentral lines").resume()
    }
    expectFault(result, "GC0001", mentions: "lines")
  }

  @Test("F1: ids are stable")
  func ids() {
    #expect(FaultID.syncWouldDeadlock.description == "GC0007")
    #expect(FaultID.resumeWithoutSuspend.description == "GC0001")
    #expect(FaultID.poolOverrideOutOfRange.description == "GC0025")
  }
}
