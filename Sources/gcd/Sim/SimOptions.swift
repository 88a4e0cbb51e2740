// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentralTesting

/// What was asked for.
struct SimOptions {
  let command: [String]
  let runs: Int
  let strategy: String
  let seed: UInt64?
  let replay: String?
  let processors: Int
  let seconds: Int
  let steps: Int
  let checks: Bool
  let shrinks: Bool
  let trace: String?
  let library: String?

  static let longestRun = Attempt.longestRun
  /// In seconds.
  static let longestTime = 60
  /// What may be asked for: the library takes no more.
  static let mostSeconds = 1_000_000
  static let processorRange = Token.processorRange
  /// How many schedules are looked at before it is said that there are more.
  private static let mostExhaustive = 100_000

  static func isToken(_ text: String) -> Bool { Token(text) != nil }

  /// Nil if there is no strategy of that name.
  static func strategy(_ name: String) -> Simulation.Strategy? {
    let parts = name.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let number = parts.count == 2 ? Int(parts[1]) : nil
    if parts.count == 2, number == nil { return nil }
    switch parts[0] {
    case "random": return number == nil ? .random : nil
    case "pct":
      let depth = number ?? 3
      return (1...100).contains(depth) ? .pct(depth: depth) : nil
    case "exhaustive":
      let switches = number ?? 2
      return switches >= 0 ? .exhaustive(preemptions: switches, atMost: mostExhaustive) : nil
    default: return nil
    }
  }

  func exploration(seed: UInt64) -> Exploration {
    let strategy = replay.map { Simulation.Strategy.replay($0) } ?? Self.strategy(self.strategy) ?? .random
    return Exploration(runs, strategy, processors, seed)
  }

  /// What is said of so many schedules that have not failed; and whether these are all that were asked for.
  func end(of exploration: Exploration, runs: Int, wasInterrupted: Bool) -> (text: String, isWhole: Bool) {
    let text = runs == 1 ? "1 schedule, which has not failed" : "\(runs) schedules, none of which has failed"
    if exploration.isComplete { return (text + ": there are no others", true) }
    let isExhaustive = replay == nil && Self.strategy(strategy)?.isExhaustive == true
    if !isExhaustive || wasInterrupted { return (text, true) }
    let gaps = exploration.gaps
    return (text + (gaps.isEmpty ? ": there are more" : ": there may be more: " + gaps.joined(separator: "; ")), false)
  }

  /// The tool's command that runs the schedule again, as a shell takes it: with what else makes a difference to the run.
  func replaying(_ token: Token) -> String {
    var words = ["gcd", "sim", "--replay", token.text]
    if steps != Self.longestRun { words += ["--step-limit", "\(steps)"] }
    if seconds != Self.longestTime { words += ["--time-limit", "\(seconds)"] }
    if let library { words += ["--library", library] }
    return (words + ["--"] + command).map(Self.quoted).joined(separator: " ")
  }

  private static func quoted(_ word: String) -> String {
    let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%")
    if !word.isEmpty, word.allSatisfy({ plain.contains($0) }) { return word }
    if word.unicodeScalars.contains(where: { isHidden($0) }) { return quotedWithEscapes(word) }
    return "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }

  /// What a terminal would not show, or not as it is.
  private static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    TextLayout.isControl(scalar) || ExactText.byte(scalar) != nil
  }

  /// As bash, zsh and ksh take it: `$'one\x0Atwo'`.
  private static func quotedWithEscapes(_ word: String) -> String {
    var text = "$'"
    for scalar in word.unicodeScalars {
      if isHidden(scalar) {
        for byte in ExactText.bytes(String(scalar)) {
          text += (byte < 16 ? "\\x0" : "\\x") + String(byte, radix: 16, uppercase: true)
        }
      } else {
        if scalar == "'" || scalar == "\\" { text += "\\" }
        text.unicodeScalars.append(scalar)
      }
    }
    return text + "'"
  }
}
