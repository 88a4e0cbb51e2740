// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchSupport

/// Work that takes a known time on this machine, the same for both sides.
public enum Work {
  private static let stepsPerMicrosecond: UInt64 = {
    let steps: UInt64 = 1_000_000
    let best = (0..<5).map { _ in
      let start = bench_now()
      bench_spin(steps)
      return bench_now() - start
    }.min()!
    return max(1, steps * 1000 / max(1, best))
  }()

  /// Keeps the processor busy.
  @inline(__always)
  public static func spin(nanoseconds: UInt64) {
    bench_spin(nanoseconds * stepsPerMicrosecond / 1000)
  }
}

/// Makes the compiler believe that the object leaves the caller's sight, as objects of programs do: otherwise it may come
/// to lie on the stack, and its creation costs nothing.
@inline(__always)
public func letEscape(_ object: AnyObject) {
  bench_consume(UInt64(UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())))
}

/// Memory that the queues under test protect, or that one item at a time touches.
public struct Cell<Value: BitwiseCopyable>: @unchecked Sendable {  // why: the queue that is measured serialises access
  private let memory: UnsafeMutablePointer<Value>

  public init(_ value: Value, count: Int = 1) {
    memory = .allocate(capacity: count)
    memory.initialize(repeating: value, count: count)
  }

  // unsafe: an index is below the count given to init, and nobody uses the cell after deallocate
  @inline(__always)
  public subscript(index: Int) -> Value {
    get { memory[index] }
    nonmutating set { memory[index] = newValue }
  }

  @inline(__always)
  public var value: Value {
    get { memory.pointee }
    nonmutating set { memory.pointee = newValue }
  }

  public func deallocate() {
    memory.deallocate()
  }
}

/// SplitMix64: the same numbers in each run.
public struct Numbers: RandomNumberGenerator {
  private var state: UInt64

  public init(seed: UInt64 = 0x6763) {
    state = seed
  }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
