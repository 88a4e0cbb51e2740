// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import OpenCombine

extension DispatchQueue {
  /// A point in time, as schedulers count it.
  ///
  ///     let queue = DispatchQueue(label: "org.example.feed")
  ///     let deadline = queue.now.advanced(by: .seconds(2))
  ///     queue.schedule(after: deadline) { print("two seconds later") }
  ///
  /// It is a `DispatchTime`: the clock stands still while the machine sleeps.
  public struct SchedulerTimeType: Strideable, Hashable, Sendable {
    /// The time that this stands for.
    public var dispatchTime: DispatchTime

    /// The time as a scheduler's.
    ///
    /// Complexity: O(1). Blocking: never.
    public init(_ time: DispatchTime) { dispatchTime = time }

    /// How long it takes from this time to another one: less than zero if that one is earlier.
    ///
    /// Complexity: O(1). Blocking: never.
    public func distance(to other: SchedulerTimeType) -> Stride {
      Stride(dispatchTime.distance(to: other.dispatchTime))
    }

    /// The time so much later. The longest stride leads to the distant future, which never comes.
    ///
    /// Complexity: O(1). Blocking: never.
    public func advanced(by stride: Stride) -> SchedulerTimeType {
      SchedulerTimeType(dispatchTime + (stride.magnitude == .max ? .never : stride.timeInterval))
    }
  }
}

extension DispatchQueue.SchedulerTimeType: Codable {
  /// Reads the nanoseconds that `encode(to:)` writes. They mean something in the same run of the machine only.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    try self.init(DispatchTime(uptimeNanoseconds: container.decode(UInt64.self)))
  }

  /// Writes the nanoseconds of the machine's up-time, as a single value.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(dispatchTime.uptimeNanoseconds)
  }
}
