// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport
import Glibc
import OursOps
import TheirsOps

/// Does one thing a number of times and ends, so that another program can count what the process needed for it:
/// `Scripts/benchmark costs` runs it with two numbers, and what differs between them is what the operations cost.
enum CostProbe {
  private static let usage = """
    usage: benchmark probe NAME COUNT [--theirs]   does it COUNT times, with libdispatch if --theirs
           benchmark probe --list                  prints the names
    """

  static func start(_ arguments: [String]) {
    var arguments = arguments
    let isTheirs = arguments.last == "--theirs"
    if isTheirs { arguments.removeLast() }
    let probes = isTheirs ? TheirsOps.costProbes() : OursOps.costProbes()
    if arguments == ["--list"] {
      for probe in probes { Output.standard.line(probe.name) }
      return
    }
    guard arguments.count == 2, let count = Int(arguments[1]), count > 0,
      let probe = (probes + calibration).first(where: { $0.name == arguments[0] })
    else {
      Output.error.line(usage)
      exit(2)
    }
    probe.run(count)
  }

  /// Operations whose costs differ by a known amount, to show that the counting sees it: not in the list.
  private static var calibration: [Probe] {
    [
      Probe("calibration.nothing") { n in for i in 0..<n { bench_consume(UInt64(i)) } },
      Probe("calibration.hundred-instructions") { n in
        for i in 0..<n {
          bench_consume(UInt64(i))
          bench_hundred_instructions()
        }
      },
      Probe("calibration.system-call") { n in
        for i in 0..<n {
          bench_consume(UInt64(i))
          bench_make_one_system_call()
        }
      },
    ]
  }
}
