// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// One thing that both sides of a duel do.
///
/// The name begins with the letter of its row in the list of targets: `A.serial-async-1p`.
public struct Operation {
  /// What a run measures. Each figure is one row of the report.
  public enum Figure: Equatable {
    /// Wall time per operation.
    case time
    /// CPU time of the whole process per operation.
    case cpu
    /// Nanoseconds that the body reports under this name: a latency, a part of the run.
    case reported(String)
  }

  /// How many operations make one sample. With 0 for quick runs they leave the operation out.
  public enum Count {
    /// As many as make a sample of a useful length: a multiple of the first number, at most the second.
    case calibrated(multipleOf: Int = 1, atMost: Int = 2_000_000)
    case fixed(Int, quick: Int)
  }

  /// Does that many operations and returns when all have completed. The meter runs from the call to the return,
  /// unless the body starts or stops it.
  public typealias Body = (Int, Meter) -> Void

  public let name: String
  public let count: Count
  public let figures: [Figure]
  /// Each sample needs a process of its own: threads left over from the sample before would change it.
  public let startsCold: Bool
  /// libdispatch needs a minute for this: its side runs only when asked for.
  public let slowOnTheirSide: Bool
  /// Where the main thread goes meanwhile, if the operation needs the main queue; implies `startsCold`.
  public let parkMain: (@Sendable () -> Never)?
  /// Makes the queues and returns the body that uses them.
  public let setUp: () -> Body

  public init(
    _ name: String,
    count: Count = .calibrated(),
    figures: [Figure] = [.time],
    startsCold: Bool = false,
    slowOnTheirSide: Bool = false,
    parkMain: (@Sendable () -> Never)? = nil,
    setUp: @escaping () -> Body
  ) {
    self.name = name
    self.count = count
    self.figures = figures
    self.startsCold = startsCold || parkMain != nil
    self.parkMain = parkMain
    self.slowOnTheirSide = slowOnTheirSide
    self.setUp = setUp
  }

  public var isLeftOutWhenQuick: Bool {
    if case .fixed(_, quick: 0) = count { true } else { false }
  }

  /// The name of the row that shows `figure`.
  public func rowName(_ figure: Figure) -> String {
    switch figure {
    case .time: name
    case .cpu: name + ".cpu"
    case .reported(let part): name + "." + part
    }
  }
}
