// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Writes what has become of processes.
struct OutcomePrinter {
  private let style: Style
  private let printsJSON: Bool
  private let numberColumns: Int
  private let nameColumns: Int

  init(_ processes: [AwaitedProcess], printsJSON: Bool) {
    style = Terminal.style(of: .output)
    self.printsJSON = printsJSON
    numberColumns = processes.map { String($0.identifier).utf8.count }.max() ?? 0
    nameColumns = processes.map { TextLayout.width(TextLayout.printable($0.name)) }.max() ?? 0
  }

  /// False if it cannot be written.
  func write(_ process: AwaitedProcess, _ outcome: Outcome) -> Bool {
    if printsJSON { return Terminal.writeOutput(json(process, outcome) + "\n") }
    return outcome == .unknown || Terminal.writeOutput(text(process, outcome) + "\n")
  }

  private func text(_ process: AwaitedProcess, _ outcome: Outcome) -> String {
    let number = TextLayout.right(String(process.identifier), numberColumns)
    let name = TextLayout.left(TextLayout.printable(process.name), nameColumns)
    switch outcome {
    case .running: return "\(number)  \(name)  " + style.warning("still running")
    case .ended(let status?):
      let words = EndOfProcess.words(status)
      return "\(number)  \(name)  " + (status == .exited(code: 0) ? words : style.warning(words))
    default: return "\(number)  \(name)  ended"
    }
  }

  private func json(_ process: AwaitedProcess, _ outcome: Outcome) -> String {
    var members: [(String, JSONValue)] = [
      ("time", .string(Timestamp().iso)), ("pid", .integer(Int(process.identifier))),
    ]
    if !process.name.isEmpty { members.append(("name", .string(process.name))) }
    switch outcome {
    case .running: members.append(("state", .string("running")))
    case .unknown: members.append(("state", .string("unknown")))
    case .ended(let status):
      members.append(("state", .string("ended")))
      switch status {
      case .exited(let code)?: members.append(("status", .integer(Int(code))))
      case .killed(let signal, let dumpedCore)?:
        members.append(("signal", .integer(Int(signal))))
        members.append(("signalName", .string(EndOfProcess.name(of: signal))))
        members.append(("dumpedCore", .bool(dumpedCore)))
      case nil: break
      }
    }
    return JSONValue.object(members).line
  }
}
