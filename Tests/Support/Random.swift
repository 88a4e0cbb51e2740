// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// SplitMix64: small, good enough, and the same on every run with the same seed.
public struct SeededRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  public mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
  public mutating func oneIn(_ bound: Int) -> Bool { below(bound) == 0 }
}

public enum Stress {
  /// Time for each stress test: `GC_STRESS_SECONDS`, one second without it.
  public static let seconds: Double = getenv("GC_STRESS_SECONDS").flatMap { Double(String(cString: $0)) } ?? 1

  /// `GC_STRESS_SEED`, or one that differs from run to run; printed, so that a failure can be repeated.
  public static func seed(_ name: String) -> UInt64 {
    let chosen = getenv("GC_STRESS_SEED").flatMap { UInt64(String(cString: $0)) }
    let seed = chosen ?? (monotonicNanoseconds() ^ UInt64(getpid()) << 32)
    print("\(name): seed \(seed)")
    return seed
  }

  public static func runs(until deadline: UInt64) -> Bool { monotonicNanoseconds() < deadline }
  public static func deadline() -> UInt64 { monotonicNanoseconds() + UInt64(seconds * 1e9) }
}
