// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Where the events of two runs begin to differ.
struct SimDifference {
  private let one: [Substring]
  private let other: [Substring]
  /// How many events are equal, from the first ones that the reports tell.
  private let equal: Int

  init(_ one: SimReport, _ other: SimReport) {
    self.one = one.timeline.split(separator: "\n")
    self.other = other.timeline.split(separator: "\n")
    equal = zip(self.one, self.other).prefix { $0 == $1 }.count
  }

  /// The last event that both have, and the next one of each.
  var sentences: [String] {
    let last = equal > 0 ? ["both:   " + one[equal - 1]] : []
    return last + ["first:  " + line(of: one), "second: " + line(of: other)]
      + (isEarlier ? ["the first difference is before the last \(one.count) events"] : [])
  }

  /// Whether the first events of one of them are not told.
  private var isEarlier: Bool {
    equal == 0 && [one, other].contains { Self.step(of: $0.first) > 1 }
  }

  private static func step(of line: Substring?) -> Int {
    (line?.split(separator: " ").first).flatMap { Int($0) } ?? 1
  }

  private func line(of lines: [Substring]) -> String {
    equal < lines.count ? String(lines[equal]) : "nothing more"
  }
}
