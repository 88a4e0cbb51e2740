// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import OpenCombine

extension DispatchQueue.SchedulerTimeType {
  /// A length of time, in nanoseconds. Literals are seconds.
  ///
  ///     let pause: DispatchQueue.SchedulerTimeType.Stride = 0.25
  ///     words.debounce(for: pause, scheduler: queue)
  ///     words.debounce(for: .milliseconds(250), scheduler: queue)
  ///
  /// What does not fit stays at the nearest end of the range, so no sum and no product traps. The longest one means never.
  public struct Stride: Hashable, Sendable {
    /// The nanoseconds. Less than zero for a time that lies back.
    public var magnitude: Int

    /// An interval of Dispatch as a stride; `.never` is the longest one.
    ///
    /// Complexity: O(1). Blocking: never.
    public init(_ timeInterval: DispatchTimeInterval) {
      self =
        switch timeInterval {
        case .seconds(let count): .seconds(count)
        case .milliseconds(let count): .milliseconds(count)
        case .microseconds(let count): .microseconds(count)
        case .nanoseconds(let count): .nanoseconds(count)
        case .never: .nanoseconds(.max)
        }
    }

    private init(magnitude: Int) { self.magnitude = magnitude }

    /// The stride as an interval of Dispatch.
    public var timeInterval: DispatchTimeInterval { .nanoseconds(magnitude) }
  }
}

extension DispatchQueue.SchedulerTimeType.Stride: SchedulerTimeIntervalConvertible {
  /// So many seconds, which need not be whole ones. A value that is no number is zero.
  public static func seconds(_ count: Double) -> Self {
    let nanoseconds = count * 1e9
    if nanoseconds.isNaN { return Self(magnitude: 0) }
    return Self(magnitude: Int(exactly: nanoseconds.rounded(.towardZero)) ?? (nanoseconds < 0 ? .min : .max))
  }

  /// So many seconds.
  public static func seconds(_ count: Int) -> Self { Self(count, times: 1_000_000_000) }

  /// So many milliseconds.
  public static func milliseconds(_ count: Int) -> Self { Self(count, times: 1_000_000) }

  /// So many microseconds.
  public static func microseconds(_ count: Int) -> Self { Self(count, times: 1_000) }

  /// So many nanoseconds.
  public static func nanoseconds(_ count: Int) -> Self { Self(magnitude: count) }

  private init(_ count: Int, times unit: Int) {
    let (product, overflow) = count.multipliedReportingOverflow(by: unit)
    magnitude = overflow ? (count < 0 ? .min : .max) : product
  }
}

extension DispatchQueue.SchedulerTimeType.Stride: ExpressibleByFloatLiteral {
  /// Seconds.
  public init(floatLiteral seconds: Double) { self = .seconds(seconds) }
}

extension DispatchQueue.SchedulerTimeType.Stride: Comparable, SignedNumeric {
  /// Seconds.
  public init(integerLiteral seconds: Int) { self = .seconds(seconds) }

  /// Seconds, if they are a number that `Int` has.
  public init?<Source: BinaryInteger>(exactly seconds: Source) {
    guard let seconds = Int(exactly: seconds) else { return nil }
    self = .seconds(seconds)
  }

  /// Whether the first one is shorter.
  public static func < (a: Self, b: Self) -> Bool { a.magnitude < b.magnitude }

  /// The sum.
  public static func + (a: Self, b: Self) -> Self {
    let (sum, overflow) = a.magnitude.addingReportingOverflow(b.magnitude)
    return Self(magnitude: overflow ? (b.magnitude < 0 ? .min : .max) : sum)
  }

  /// The difference.
  public static func - (a: Self, b: Self) -> Self {
    let (difference, overflow) = a.magnitude.subtractingReportingOverflow(b.magnitude)
    return Self(magnitude: overflow ? (b.magnitude < 0 ? .max : .min) : difference)
  }

  /// The product of the seconds. As the literal `1` is a second, `stride * 2` is twice as long.
  public static func * (a: Self, b: Self) -> Self {
    let (high, low) = a.magnitude.multipliedFullWidth(by: b.magnitude)
    let isNegative = high < 0
    // Beyond 10^9 · 2^63, which is 5 · 10^8 · 2^64, the quotient has no place in an Int, and dividing would trap.
    guard high.magnitude < 500_000_000 else { return Self(magnitude: isNegative ? .min : .max) }
    return Self(magnitude: 1_000_000_000.dividingFullWidth((high, low)).quotient)
  }

  /// Adds.
  public static func += (a: inout Self, b: Self) { a = a + b }

  /// Subtracts.
  public static func -= (a: inout Self, b: Self) { a = a - b }

  /// Multiplies the seconds.
  public static func *= (a: inout Self, b: Self) { a = a * b }
}

extension DispatchQueue.SchedulerTimeType.Stride: Codable {
  /// The key is the one that Combine writes.
  private enum CodingKeys: String, CodingKey { case magnitude = "_nanoseconds" }
}
