// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

@testable import GrandCentral

/// Each test has a process of its own: what is short is so for the whole process, and is reported.
@Suite("Registrations that the kernel has refused")
struct RetriesTests {
  private static let (refusals, grants) = (Counter(), Counter())

  private static let isRefused: Retry.Attempt = { _, isWithdrawn in
    if isWithdrawn { return 0 }
    RetriesTests.refusals.add()
    return Errno.noSpace.code
  }

  private static let isGranted: Retry.Attempt = { _, _ in
    RetriesTests.grants.add()
    return 0
  }

  /// Meanwhile another one is refused.
  private static let isGrantedBeside: Retry.Attempt = { _, _ in
    RetriesTests.add(RetriesTests.isGranted, to: RetriesTests.engine)
    return 0
  }

  // unsafe: it is never freed, and each test's process has one thread that uses it.
  private nonisolated(unsafe) static let engine = BareEngine.make(places: 1)

  /// Has an engine without threads try a registration again.
  private static func add(_ attempt: @escaping Retry.Attempt, to engine: Engine.Pointer) {
    let retry = Retry.Pointer.allocate(capacity: 1)
    retry.initialize(to: Retry(context: UnsafeMutableRawPointer(retry), attempt: attempt))
    _ = engine.pointee.retries.add(retry, refusedWith: .noSpace, in: engine.pointee)
  }

  /// What the timer's job does, when the timer has fired.
  private static func tryAll(_ engine: Engine.Pointer) {
    _ = engine.pointee.timers.takeAll(.uptime, firing: nil)
    engine.pointee.retries.tryAll(in: engine.pointee)
  }

  @Test("E6: a registration that is refused for good keeps no other one of its kind waiting")
  func turns() async {
    await #expect(processExitsWith: .success) {
      let engine = RetriesTests.engine
      RetriesTests.add(RetriesTests.isRefused, to: engine)
      for _ in 0..<3 { RetriesTests.add(RetriesTests.isGranted, to: engine) }
      // Each job begins with another one, and goes on if that is granted.
      for _ in 0..<4 { RetriesTests.tryAll(engine) }
      _exit(RetriesTests.grants.value == 3 && RetriesTests.refusals.value > 0 ? EXIT_SUCCESS : EXIT_FAILURE)
    }
  }

  @Test("E6: a registration that is refused while all others are granted waits no longer than is usual")
  func meanwhile() async {
    await #expect(processExitsWith: .success) {
      let engine = RetriesTests.engine
      RetriesTests.add(RetriesTests.isGrantedBeside, to: engine)
      RetriesTests.tryAll(engine)
      // A second would be too long.
      let due = engine.pointee.timers.earliest(on: .uptime)
      if due > Clock.uptime.now() + 500_000_000 { _exit(EXIT_FAILURE) }
      RetriesTests.tryAll(engine)
      _exit(RetriesTests.grants.value == 1 ? EXIT_SUCCESS : EXIT_FAILURE)
    }
  }
}
