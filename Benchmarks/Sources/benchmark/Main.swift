// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import Glibc

/// One program for all that is measured in Swift. `Scripts/benchmark` is its entry.
@main
enum Main {
  static func main() throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    let rest = Array(arguments.dropFirst())
    switch arguments.first {
    case "duel": Duel.start(rest)
    case "allocations": try AllocationGate.start(rest)
    case "probe": CostProbe.start(rest)
    default:
      Output.error.line("usage: benchmark duel | allocations | probe [options]")
      exit(2)
    }
  }
}
