// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// One run of `gcd snapshot`.
enum SnapshotRun {
  static func start(process: Int32, printsJSON: Bool) -> Never {
    let snapshot = look { () throws(RegionFailure) in try Snapshot(process: process) }
    let style = Terminal.style(of: .output)
    let text =
      printsJSON
      ? snapshot.json.text + "\n"
      : SnapshotText(snapshot, style: style, symbol: WhyRun.symbols(ProcessSymbols(process))).text
    exit(Terminal.writeOutput(text) ? EXIT_SUCCESS : RegionFailure.system("", code: EPIPE).code)
  }

  /// Ends the tool with a line if the process cannot be looked at.
  static func look<Found>(_ read: () throws(RegionFailure) -> Found) -> Found {
    do throws(RegionFailure) { return try read() } catch {
      Terminal.write("gcd: \(error.words)\n", to: .error)
      exit(error.code)
    }
  }
}

/// One run of `gcd why`.
enum WhyRun {
  static func start(_ options: WhyOptions) -> Never {
    let (snapshot, symbol) = SnapshotRun.look { () throws(RegionFailure) in try look(at: options.subject) }
    let report = WhyAnalysis.report(snapshot, options.rules, symbol: symbol)
    let text =
      options.printsJSON
      ? WhyJSON.value(report).text + "\n" : WhyText(style: Terminal.style(of: .output)).text(report)
    guard Terminal.writeOutput(text) else { exit(RegionFailure.system("", code: EPIPE).code) }
    exit(report.hasFindings ? EXIT_FAILURE : EXIT_SUCCESS)
  }

  private static func look(at subject: WhyOptions.Subject) throws(RegionFailure) -> (Snapshot, (UInt64) -> String?) {
    switch subject {
    case .process(let process): return (try Snapshot(process: process), symbols(ProcessSymbols(process)))
    case .core(let path):
      let file = try CoreFile(path)
      return (Snapshot(file), symbols(ProcessSymbols(file)))
    }
  }

  /// Names the code at an address.
  static func symbols(_ symbols: ProcessSymbols) -> (UInt64) -> String? {
    { symbols.name($0, isReturn: true) }
  }
}

extension Finding {
  /// The kinds, for --help.
  static var kinds: String { Kind.allCases.map(\.rawValue).joined(separator: ", ") }
}
