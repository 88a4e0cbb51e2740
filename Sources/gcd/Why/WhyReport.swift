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
