// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import GrandCentral

@Suite("A fault")
struct FaultMessageTests {
  @Test("F1: of misuse prints its id and its message on one line, and aborts")
  func misuse() async throws {
    let result = try await #require(
      processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]
    ) {
      let label = "com.example.queue"
      Fault.misuse(.syncWouldDeadlock, "to wait for an item of \"\(label)\" would deadlock. Use async.")
    }
    let expected = "to wait for an item of \"com.example.queue\" would deadlock. Use async."
    #expect(lines(of: result).contains("GrandCentral misuse [GC0007]: " + expected))
  }

  @Test("F2: of our own says that it is a bug, and aborts")
  func bug() async throws {
    let result = try await #require(
      processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]
    ) {
      Fault.bug("a lane has two owners, state \(UInt64(0x2A))")
    }
    #expect(lines(of: result).contains("GrandCentral bug: a lane has two owners, state 42"))
  }

  @Test("that is only reported lets the process go on")
  func report() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(7), observing: [\.standardErrorContent]
    ) {
      Fault.report("the thread budget is used up")
      exit(7)
    }
    #expect(lines(of: result).contains("GrandCentral: the thread budget is used up"))
  }

  @Test("is one line although a label has several")
  func lineBreaks() async throws {
    let result = try await #require(
      processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]
    ) {
      Fault.misuse(.targetCycle, "a\nb\r\nc")
    }
    #expect(lines(of: result).contains("GrandCentral misuse [GC0009]: a b  c"))
  }

  @Test("reaches a descriptor that is a pipe in one piece, however many threads speak")
  func wholeLines() async throws {
    let result = try await #require(
      processExitsWith: .exitCode(0), observing: [\.standardErrorContent]
    ) {
      let threads = try (0..<4).map { number in
        try TestThread { for _ in 0..<100 { Fault.report(String(repeating: String(number), count: 200)) } }
      }
      for thread in threads { thread.join() }
    }
    let whole = (0..<4).map { "GrandCentral: " + String(repeating: String($0), count: 200) }
    let spoken = lines(of: result).filter { $0.contains("GrandCentral: ") }
    #expect(spoken.count == 400)
    #expect(spoken.allSatisfy { whole.contains($0) })
  }

  @Test("has an id of four digits that stays what it is")
  func ids() {
    #expect(FaultID(rawValue: 0).description == "GC0000")
    #expect(FaultID(rawValue: 12345).description == "GC12345")
    let ids: [FaultID] = [
      .resumeWithoutSuspend, .releasedWhileSuspended, .releasedWhileInactive, .groupLeaveWithoutEnter,
      .groupReleasedWhileEntered, .semaphoreReleasedInUse, .syncWouldDeadlock, .semaphoreNegativeValue, .targetCycle,
      .setTargetOnActiveRoot, .preconditionOnQueue, .preconditionOnQueueAsBarrier, .preconditionNotOnQueue,
      .dispatchMainOffMainThread, .qosRelativePriorityOutOfRange, .negativeIterations, .workItemWaitOnSelf,
      .barrierSyncFromReader, .groupEnterOverflow, .mainQueueDrainOffMainThread, .workItemResubmittedWhileWaiting,
      .invalidTargetForWorkloop, .onceReentered, .activeQueueRetargetForbidden, .poolOverrideOutOfRange,
    ]
    #expect(ids.map(\.rawValue) == Array(1...25))
    #expect(FaultID.poolOverrideOutOfRange.description == "GC0025")
  }

  private func lines(of result: ExitTest.Result) -> [String] {
    String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n").map(String.init)
  }
}
