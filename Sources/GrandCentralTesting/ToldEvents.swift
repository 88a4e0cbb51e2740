// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The last events of a run, for people.
struct ToldEvents: Sendable {
  let events: [Events.Event]
  let threads: [String]
  /// By the library's numbers of queues.
  let labels: [UInt32: String]

  /// The text has fewer of them than the trace.
  static let mostLines = 48

  func name(of thread: Int) -> String { threads.indices.contains(thread) ? threads[thread] : "?" }
  func label(of event: Events.Event) -> String { labels[event.queue] ?? "" }

  /// One a line: step, virtual time, thread, event.
  var timeline: String { text(ofLast: Self.mostLines) }

  func text(ofLast count: Int) -> String {
    var text = ""
    for event in events.suffix(count) {
      let label = label(of: event)
      text +=
        padded(String(event.step), 7) + " " + padded(seconds(event.time - Run.start), 13) + "  "
        + name(of: event.thread).onOneLine.padding(to: 14) + Events.word(event.kind)
        + (label.isEmpty ? "" : " \"" + label.onOneLine + "\"")
        + "\n"
    }
    return text
  }

  private func padded(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.utf8.count)) + text
  }

  private func seconds(_ time: UInt64) -> String {
    let digits = String(time % 1_000_000_000)
    return String(time / 1_000_000_000) + "." + String(repeating: "0", count: 9 - digits.utf8.count) + digits + " s"
  }
}

extension String {
  /// With what would begin another line, or move a terminal's cursor, as escapes: labels and names may have anything.
  var onOneLine: String {
    var text = ""
    for scalar in unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: text += scalar.escaped(asASCII: true)
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  fileprivate func padding(to width: Int) -> String {
    self + String(repeating: " ", count: max(1, width - utf8.count))
  }
}
