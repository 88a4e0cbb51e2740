// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Why a process makes no progress: what has waited long, the most certain and most harmful first.
struct WhyReport: Sendable, Equatable {
  var snapshot: Snapshot
  /// Nanoseconds: shorter waits are not reported.
  var after: UInt64
  var findings: [Finding] = []
  /// Notes beside the findings: what else was seen, and what could not be seen.
  var remarks: [String] = []

  /// Something waits long.
  var hasFindings: Bool { !findings.isEmpty }

  /// Circles first, then what blocks the main queue, then the kinds in their order, the longest wait first.
  static func ordered(_ findings: [Finding]) -> [Finding] {
    let order = Dictionary(uniqueKeysWithValues: Finding.Kind.allCases.enumerated().map { ($1, $0) })
    func rank(_ finding: Finding) -> (Int, Int, Int, UInt64) {
      (finding.kind == .cycle ? 0 : 1, finding.blocksMain ? 0 : 1, order[finding.kind] ?? 0, .max - (finding.age ?? 0))
    }
    return findings.enumerated()
      .sorted { rank($0.element) == rank($1.element) ? $0.offset < $1.offset : rank($0.element) < rank($1.element) }
      .map(\.element)
  }
}

/// Something that waits long, as a tree of sentences.
struct Finding: Sendable, Equatable {
  var kind: Kind
  /// How long; nil if that is not known.
  var age: UInt64?
  var sentence: String
  var details: [Clause] = []
  /// What to do about it.
  var remedy: String
  /// The threads and the labels that are named.
  var threads: [Int32] = []
  var labels: [String] = []
  /// The main queue's items cannot run meanwhile.
  var blocksMain = false

  /// Their order is the order in the report.
  enum Kind: String, Sendable, CaseIterable {
    case cycle
    case mainBlocked = "main-blocked"
    case queueSuspended = "queue-suspended"
    case queueInactive = "queue-inactive"
    case queueHeld = "queue-held"
    case itemRunsLong = "item-runs-long"
    case lockHeld = "lock-held"
    case group = "group-not-empty"
    case semaphore = "semaphore-without-signal"
    case workItem = "work-item-not-done"
    case once = "once-not-done"
    case apply = "apply-not-done"
    case wait = "waits"
    case workersBlocked = "workers-blocked"
    case threadBudget = "thread-budget-near"
    case outside = "blocked-outside"
    case inversion
    case timerLate = "timer-late"
    // From here on: kinds that need records, or more than one look.
    case queueAge = "queue-age-growing"
    case sourceStarved = "source-starved"
    case groupOpen = "group-never-left"
    case shortItems = "too-many-short-items"
  }
}

/// A sentence, and those that go into it.
struct Clause: Sendable, Equatable {
  var text: String
  var children: [Clause] = []

  init(_ text: String, _ children: [Clause] = []) {
    self.text = text
    self.children = children
  }

  var all: [String] { [text] + children.flatMap(\.all) }
}
