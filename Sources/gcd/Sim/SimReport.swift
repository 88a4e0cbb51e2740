// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentralTesting

/// What a simulated program has said of its run: lines with a name and a colon, and the last events.
struct SimReport {
  /// How it has ended, in a word and perhaps a number.
  private(set) var end = ""
  /// The same as a sentence.
  private(set) var said = ""
  private(set) var steps = 0
  private(set) var choices = 0
  private(set) var hash = ""
  /// Nil if there were too many.
  private(set) var switches: [Switch]?
  private(set) var branches: [BranchSchedule.Branch] = []
  /// What the program has begun and not ended, a sentence for each.
  private(set) var left: [String] = []
  /// What the program has read from that is not simulated and has answered at once, a phrase for each.
  private(set) var outside: [String] = []
  /// Of a deadlock: which wait of each thread is its last one, as the program takes it.
  private(set) var waits = ""
  /// Where those waits are: what each thread returns to, the innermost first, and the files that it is in.
  private(set) var stacks: [(thread: String, addresses: [UInt64])] = []
  private(set) var files: [ProcessCode.Mapping] = []
  private(set) var timeline: Substring = ""

  /// Nil if there is none, or not a whole one.
  init?(_ text: String) {
    let mark = "\ntimeline:\n"
    guard let range = text.firstRange(of: mark) else { return nil }
    timeline = text[range.upperBound...]
    for line in text[..<range.lowerBound].split(separator: "\n") {
      guard let colon = line.firstIndex(of: ":") else { continue }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      switch line[..<colon] {
      case "end": end = String(value)
      case "said": said = String(value)
      case "steps": steps = Int(value) ?? 0
      case "choices": choices = Int(value) ?? 0
      case "hash": hash = String(value)
      case "waits": waits = String(value)
      case "stack":
        guard let end = value.firstIndex(of: ":") else { continue }
        let addresses = value[..<end].split(separator: " ").compactMap { UInt64($0, radix: 16) }
        stacks.append((String(value[value.index(after: end)...]), addresses))
      case "map": if let mapping = ProcessCode.parse(value) { files.append(mapping) }
      case "outside":
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let times = Int(parts[0]) else { continue }
        outside.append("\(parts[1]), " + (times == 1 ? "once" : "\(times) times"))
      case "left": left.append(String(value))
      case "switches": switches = Token.switches(value)
      case "branch":
        let numbers = value.split(separator: " ").compactMap { Int($0) }
        guard numbers.count > 3 else { continue }
        branches.append(
          BranchSchedule.Branch(
            thread: numbers[0], choice: numbers[1], isPreemption: numbers[2] != 0, others: Array(numbers[3...])))
      default: continue
      }
    }
  }

  /// What was wrong with the run; nil if nothing was. A program that writes its own end is told by its code.
  var reason: SimulationFailure.Reason? {
    let words = end.split(separator: " ")
    let number = words.count == 2 ? Int(words[1]) : nil
    return switch words.first ?? "" {
    case "exit": number == 0 ? nil : .threw(BadExit(code: number ?? 1))
    case "signal": .threw(BadSignal(number: number ?? 0))
    case "deadlock": .deadlock([said])
    case "misuse": .misuse(said)
    case "endless": .endless([said])
    default: .escape(said)
    }
  }

  /// Two ways of failing, which shrinking tells apart by their types, and by the code or the signal.
  struct BadExit: EndOfProgram {
    /// What the kernel keeps of the code.
    let number: Int
    init(code: Int) { number = code & 255 }
  }

  struct BadSignal: EndOfProgram {
    let number: Int
  }
}
