// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

/// What a run of the test's function has recorded.
final class Issues: Sendable {
  private let text = Mutex<String?>(nil)
  private let notices: Notices

  init(_ notices: Notices) { self.notices = notices }

  /// The first issue that makes the run fail.
  var first: String? { text.withLock { $0 } }

  /// Keeps the first issue that is a failure, and lets none of these through. A warning or a known issue is no failure: it goes through,
  /// once for all runs.
  func take(_ issue: Issue) -> Issue? {
    var words = String(describing: issue.kind)
    for comment in issue.comments { words += ": " + comment.rawValue }
    if let place = issue.sourceLocation { words += " (" + String(describing: place) + ")" }
    guard issue.isFailure else { return notices.isNew(issue.severity, words) ? issue : nil }
    text.withLock { if $0 == nil { $0 = words } }
    return nil
  }
}

/// The warnings and known issues that were let through: each schedule records them again.
final class Notices: Sendable {
  private let seen = Mutex<Set<String>>([])

  func isNew(_ severity: Issue.Severity, _ words: String) -> Bool {
    seen.withLock { $0.insert(String(describing: severity) + " " + words).inserted }
  }
}
