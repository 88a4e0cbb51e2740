// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Machine

/// Does one operation on the simulated machine and prints what was counted. GRANDCENTRAL_THREADS is the pool's size.
@main
enum ScalingProbe {
  private static let usage = "usage: scaling-probe --list | --check | NAME WORKERS SEED"

  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    let rows = allRows()
    switch arguments.count {
    case 1 where arguments[0] == "--list":
      for row in rows { print(row.name) }
    case 1 where arguments[0] == "--check":
      onMachine(seed: 1) { exit(machine_check_itself() ? 0 : 1) }
    case 3:
      guard let row = rows.first(where: { $0.name == arguments[0] }), let workers = Int(arguments[1]), workers > 0,
        let seed = UInt64(arguments[2])
      else { fail() }
      onMachine(seed: seed) { count(row, workers) }
    default: fail()
    }
  }

  private static func fail() -> Never {
    print(usage)
    exit(2)
  }

  private final class Body {
    let run: () -> Void

    init(_ run: @escaping () -> Void) { self.run = run }
  }

  private static func onMachine(seed: UInt64, _ body: @escaping () -> Void) {
    let context = Unmanaged.passRetained(Body(body)).toOpaque()
    // unsafe: the reference is kept for ever.
    machine_run(seed, { Unmanaged<Body>.fromOpaque($0!).takeUnretainedValue().run() }, context)
  }

  private static func count(_ row: Row, _ workers: Int) {
    let count = row.count(workers)
    let operate = row.prepare(workers)
    operate(0, count)
    machine_begin()
    operate(1, count)
    machine_end()
    machine_report(row.name, Int64(workers), Int64(count))
    fflush(nil)
    // The other threads still wait for the machine: nothing is torn down under them.
    _exit(0)
  }
}
