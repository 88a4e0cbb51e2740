// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

/// What a run of the test's function has recorded.
final class Issues: Sendable {
  private let text = Mutex<String?>(nil)

  var first: String? { text.withLock { $0 } }

  /// Keeps the first one back, and lets none through.
  func take(_ issue: Issue) -> Issue? {
    var words = String(describing: issue.kind)
    for comment in issue.comments { words += ": " + comment.rawValue }
    if let place = issue.sourceLocation { words += " (" + String(describing: place) + ")" }
    text.withLock { if $0 == nil { $0 = words } }
    return nil
  }
}
