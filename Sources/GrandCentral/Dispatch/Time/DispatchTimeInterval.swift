// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A length of time, to the nanosecond, or no end at all.
///
/// ```swift
/// queue.asyncAfter(deadline: .now() + .milliseconds(250)) { retry() }
/// timer.schedule(deadline: .now(), repeating: .seconds(30), leeway: .seconds(1))
/// ```
///
/// Intervals are equal when they last equally long, even in different units: `.seconds(1) == .milliseconds(1000)`.
/// `.never` equals only itself. Intervals may be negative. Lengths beyond what nanoseconds in 64 bits can count
/// (292 years) are taken as that limit.
///
/// Difference from libdispatch: also `Hashable`; and no length makes an operator trap.
@frozen
public enum DispatchTimeInterval: Sendable {
  /// A number of seconds.
  case seconds(Int)

  /// A number of milliseconds, 1/1,000 second each.
  case milliseconds(Int)

  /// A number of microseconds, 1/1,000,000 second each.
  case microseconds(Int)

  /// A number of nanoseconds, 1/1,000,000,000 second each.
  case nanoseconds(Int)

  /// For ever: a time advanced by it is the distant future, a timer that repeats at it fires once.
  case never
}

extension DispatchTimeInterval: Equatable {
  /// Whether both last equally long.
  ///
  /// - Complexity: O(1).
  public static func == (lhs: DispatchTimeInterval, rhs: DispatchTimeInterval) -> Bool {
    switch (lhs, rhs) {
    case (.never, .never): true
    case (.never, _), (_, .never): false
    default: lhs.clampedNanoseconds == rhs.clampedNanoseconds
    }
  }
}

extension DispatchTimeInterval: Hashable {
  /// Feeds the length to the hasher; intervals of equal length hash equally.
  ///
  /// - Complexity: O(1).
  public func hash(into hasher: inout Hasher) {
    if case .never = self {
      hasher.combine(true)
    } else {
      hasher.combine(clampedNanoseconds)
    }
  }
}

extension DispatchTimeInterval {
  /// The length in nanoseconds, saturated at both ends; `Int64.max` for never.
  var clampedNanoseconds: Int64 {
    switch self {
    case .seconds(let count): Int64(count).multipliedSaturating(by: 1_000_000_000)
    case .milliseconds(let count): Int64(count).multipliedSaturating(by: 1_000_000)
    case .microseconds(let count): Int64(count).multipliedSaturating(by: 1_000)
    case .nanoseconds(let count): Int64(count)
    case .never: .max
    }
  }

  /// The length from one count of nanoseconds to another; `UInt64.max` counts as the distant future.
  init(from start: UInt64, to end: UInt64) {
    if start == end {
      self = .nanoseconds(0)
    } else if end == .max {
      self = .never
    } else if end > start {
      self = .nanoseconds(Int(clamping: end - start))
    } else {
      self = start == .max ? .nanoseconds(.min) : .nanoseconds(Int(Int64(clamping: start - end).negatedSaturating))
    }
  }
}

extension Int64 {
  /// The product with a positive factor, or the limit that it passes.
  @inline(__always)
  fileprivate func multipliedSaturating(by factor: Int64) -> Int64 {
    let (product, overflow) = multipliedReportingOverflow(by: factor)
    if overflow { return self < 0 ? .min : .max }
    return product
  }
}
