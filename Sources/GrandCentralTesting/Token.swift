// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// One schedule, in a word that replays it: `gc1:r:SEED:PROCESSORS`, `gc1:p:SEED:PROCESSORS:DEPTH:LENGTH`, or
/// `gc1:s:PROCESSORS:THREAD.CHOICE.THREAD,…`, with `o` in place of `s` where there is a point before each operation.
package struct Token: Equatable {
  package enum Kind: Equatable {
    case random(seed: UInt64)
    case priorityChange(seed: UInt64, depth: Int, length: Int)
    case switches([Switch])
    /// Likewise, with a point before each operation.
    case fineSwitches([Switch])
  }

  /// What a token has at most, so that it can be copied by hand.
  package static let mostCharacters = 200

  package static let processorRange = 1...64

  package let kind: Kind
  package let processors: Int

  package init(_ kind: Kind, processors: Int) {
    self.kind = kind
    self.processors = processors
  }

  /// Nil if the text is no token.
  package init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 4 || parts.count == 6, parts[0] == "gc1" else { return nil }
    let isOfSwitches = parts[1] == "s" || parts[1] == "o"
    guard let processors = Int(parts[isOfSwitches ? 2 : 3]), Self.processorRange.contains(processors) else {
      return nil
    }
    if isOfSwitches {
      guard parts.count == 4, let switches = Self.switches(parts[3]) else { return nil }
      self.init(parts[1] == "o" ? .fineSwitches(switches) : .switches(switches), processors: processors)
      return
    }
    guard let seed = UInt64(parts[2], radix: 16) else { return nil }
    if parts[1] == "r", parts.count == 4 {
      self.init(.random(seed: seed), processors: processors)
    } else if parts[1] == "p", parts.count == 6, let depth = Int(parts[4]), let length = Int(parts[5]),
      depth > 0, depth <= 100, length > 0
    {
      self.init(.priorityChange(seed: seed, depth: depth, length: length), processors: processors)
    } else {
      return nil
    }
  }

  package static func switches(_ text: Substring) -> [Switch]? {
    if text.isEmpty { return [] }
    var switches: [Switch] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let numbers = part.split(separator: ".", omittingEmptySubsequences: false).map { Int($0, radix: 16) ?? -1 }
      guard numbers.count == 3, numbers.allSatisfy({ $0 >= 0 }) else { return nil }
      switches.append(Switch(thread: numbers[0], choice: numbers[1], to: numbers[2]))
    }
    return switches
  }

  package var text: String {
    func word(_ kind: String, _ seed: UInt64) -> String {
      "gc1:" + kind + ":" + String(seed, radix: 16) + ":" + String(processors)
    }
    switch kind {
    case .random(let seed): return word("r", seed)
    case .priorityChange(let seed, let depth, let length):
      return word("p", seed) + ":" + String(depth) + ":" + String(length)
    case .switches(let switches):
      return "gc1:s:" + String(processors) + ":" + Self.text(of: switches)
    case .fineSwitches(let switches):
      return "gc1:o:" + String(processors) + ":" + Self.text(of: switches)
    }
  }

  package static func text(of switches: [Switch]) -> String {
    let words = switches.map { one in
      [one.thread, one.choice, one.to].map { String($0, radix: 16) }.joined(separator: ".")
    }
    return words.joined(separator: ",")
  }

  package var schedule: any Schedule {
    switch kind {
    case .random(let seed): RandomSchedule(seed: seed)
    case .priorityChange(let seed, let depth, let length):
      PriorityChangeSchedule(seed: seed, depth: depth, length: length)
    case .switches(let switches), .fineSwitches(let switches): SwitchSchedule(switches)
    }
  }

  /// Whether its runs have a point before each operation.
  var isFine: Bool { if case .fineSwitches = kind { true } else { false } }

  /// A token of the same kind of runs.
  func with(_ switches: [Switch]) -> Token {
    Token(isFine ? .fineSwitches(switches) : .switches(switches), processors: processors)
  }
}
