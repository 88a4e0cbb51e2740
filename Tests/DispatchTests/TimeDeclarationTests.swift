// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import Testing

/// What a program that was written for `Dispatch` says about time: it compiles, with these very types.
@Suite("The time types")
struct TimeDeclarationTests {
  @Test("T3: declare what Dispatch declares")
  func declarations() {
    let _: (DispatchTime, DispatchTimeInterval) -> DispatchTime = (+)
    let _: (DispatchTime, Double) -> DispatchTime = (+)
    let _: (DispatchTime, DispatchTimeInterval) -> DispatchTime = (-)
    let _: (DispatchTime, Double) -> DispatchTime = (-)
    let _: (DispatchTime, DispatchTime) -> Bool = (<)
    let _: (DispatchTime, DispatchTime) -> Bool = (==)
    let _: () -> DispatchTime = DispatchTime.now
    let _: (UInt64) -> DispatchTime = DispatchTime.init(uptimeNanoseconds:)
    let _: KeyPath<DispatchTime, UInt64> = \.rawValue
    let _: KeyPath<DispatchTime, UInt64> = \.uptimeNanoseconds
    let _: DispatchTime = .distantFuture

    let _: (DispatchWallTime, DispatchTimeInterval) -> DispatchWallTime = (+)
    let _: (DispatchWallTime, Double) -> DispatchWallTime = (+)
    let _: (DispatchWallTime, DispatchTimeInterval) -> DispatchWallTime = (-)
    let _: (DispatchWallTime, Double) -> DispatchWallTime = (-)
    let _: (DispatchWallTime, DispatchWallTime) -> Bool = (<)
    let _: (DispatchWallTime, DispatchWallTime) -> Bool = (==)
    let _: () -> DispatchWallTime = DispatchWallTime.now
    let _: (timespec) -> DispatchWallTime = DispatchWallTime.init(timespec:)
    let _: KeyPath<DispatchWallTime, UInt64> = \.rawValue
    let _: DispatchWallTime = .distantFuture

    let _: (Int) -> DispatchTimeInterval = DispatchTimeInterval.seconds
    let _: (Int) -> DispatchTimeInterval = DispatchTimeInterval.milliseconds
    let _: (Int) -> DispatchTimeInterval = DispatchTimeInterval.microseconds
    let _: (Int) -> DispatchTimeInterval = DispatchTimeInterval.nanoseconds
    let _: DispatchTimeInterval = .never
    let _: (DispatchTimeInterval, DispatchTimeInterval) -> Bool = (==)
  }

  @Test("T3: declare what Darwin adds")
  func darwin() {
    let _: (DispatchTime) -> (DispatchTime) -> DispatchTimeInterval = DispatchTime.distance(to:)
    let _: (DispatchTime) -> (DispatchTimeInterval) -> DispatchTime = DispatchTime.advanced(by:)
    let _: (DispatchWallTime) -> (DispatchWallTime) -> DispatchTimeInterval = DispatchWallTime.distance(to:)
    let _: (DispatchWallTime) -> (DispatchTimeInterval) -> DispatchWallTime = DispatchWallTime.advanced(by:)
  }

  @Test("X3: may be shared between threads, compared and hashed")
  func conformances() {
    func accept<T: Hashable & Sendable>(_: T.Type) {}
    func acceptOrdered<T: Comparable>(_: T.Type) {}
    accept(DispatchTime.self)
    accept(DispatchWallTime.self)
    accept(DispatchTimeInterval.self)
    accept(DispatchTimeoutResult.self)
    acceptOrdered(DispatchTime.self)
    acceptOrdered(DispatchWallTime.self)
  }

  @Test("T3: are written as programs write them")
  func usage() {
    let start: DispatchTime = .now()
    let deadline = start + .seconds(1) + 0.5 - .milliseconds(500)
    #expect(start.distance(to: deadline) == .seconds(1))
    // Both cases are all there are: no default is asked for.
    let result = DispatchTimeoutResult.timedOut
    switch result {
    case .success: Issue.record("never")
    case .timedOut: break
    }
    #expect(start + 1 == start + .seconds(1))
  }
}
