// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The sums over all files.
package struct IndexTotals: Sendable {
  package var files = 0
  package var bytes = 0
  package var words: UInt64 = 0
  package var distinctWords = 0
  /// Words that are too long to be told apart: counted, but not among the distinct ones.
  package var overlongWords: UInt64 = 0
  package var binaryFiles = 0
  package var filesNotUTF8 = 0
  package var emptyFiles = 0
  package var skipped: [SpecialFile: Int] = [:]

  package init() {}
}

/// What the work has cost.
package struct Performance: Sendable {
  /// How the files were read.
  package enum Mode: Sendable, Equatable {
    case serial
    case parallel(jobs: Int)
  }

  package var mode: Mode
  package var seconds: Double
  /// The time all threads together have computed.
  package var processorSeconds: Double
  package var coresAvailable: Int

  package init(mode: Mode, seconds: Double, processorSeconds: Double, coresAvailable: Int) {
    self.mode = mode
    self.seconds = seconds
    self.processorSeconds = processorSeconds
    self.coresAvailable = coresAvailable
  }

  /// How many cores were busy on average.
  package var coresUsed: Double { seconds > 0 ? processorSeconds / seconds : 0 }

  package func megabytesPerSecond(_ bytes: Int) -> Double { seconds > 0 ? Double(bytes) / seconds / 1e6 : 0 }
}

/// All that the command has to say.
package struct IndexReport: Sendable {
  package let root: Path
  /// False if the work was interrupted: the sums are then of what had been read.
  package let isComplete: Bool
  package let totals: IndexTotals
  package let topWords: [(word: String, count: UInt64)]
  package let duplicates: [DuplicateSet]
  package let problems: [Problem]
  package let performance: Performance

  /// What the copies beyond the first take.
  package var wastedBytes: Int { duplicates.reduce(0) { $0 + $1.wasted } }
}
