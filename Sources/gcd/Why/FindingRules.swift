// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Which findings are wanted, and from when on.
struct FindingRules: Sendable, Equatable {
  /// Nanoseconds: what has lasted less is not reported.
  var after: UInt64 = 1_000_000_000
  /// Kinds that are not reported.
  var silenced: Set<Finding.Kind> = []

  /// What blocks the main queue is noticed sooner.
  var mainAfter: UInt64 { after / 10 }
  /// A group that no thread waits for may well have a member for long.
  var groupAfter: UInt64 { after.multipliedReportingOverflow(by: 10).overflow ? .max : after * 10 }
  /// Items that are shorter than this, in nanoseconds, are short; so many of them a second are too many.
  static let shortItem: UInt64 = 1_000
  static let manyItems = 100_000.0

  /// Those of the findings that are wanted.
  func kept(_ findings: [Finding]) -> [Finding] { findings.filter { !silenced.contains($0.kind) } }

  // MARK: On the command line

  /// The kinds of `--silence`, which may be given several times, with commas between kinds. `unknown` is the first word that is none.
  static func kinds(_ words: [String]) -> (kinds: Set<Finding.Kind>, unknown: String?) {
    var kinds: Set<Finding.Kind> = []
    for word in words.flatMap({ $0.split(separator: ",", omittingEmptySubsequences: false) }) {
      guard let kind = Finding.Kind(rawValue: String(word)) else { return (kinds, String(word)) }
      kinds.insert(kind)
    }
    return (kinds, nil)
  }

  /// What to say of a word that is no kind.
  static func words(unknown: String) -> String {
    "--silence takes kinds of findings, not '\(unknown)': \(Finding.kinds)."
  }
}
