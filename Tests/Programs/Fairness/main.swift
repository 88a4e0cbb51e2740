// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

// One program for two libraries: `fairness ROW [ARGUMENT…]` sets up one case in which work could wait behind other work, and
// prints how long it waited, as lines of a name and a number. Scripts/fairness compares the numbers with the bars.
// What never comes to an end is ended by an alarm.

/// The rows, by name: how many seconds a row may take, and what it does with the words that follow its name.
let rows: [String: (patience: UInt32, run: ([String]) -> Void)] = [
  "spin": (10, { Spinning.run($0[0], count: Int($0[1]) ?? 8) }),
  "cpu-items": (90, { Processors.run(items: Int($0[0]) ?? 0, milliseconds: Int($0[1]) ?? 0, rounds: Int($0[2]) ?? 1) }),
  "crowd": (20, { Crowd.run(items: 200, computing: Int($0[0]) ?? 0, waiting: Int($0[1])) }),
  "fan-out": (15, { _ in Waiting.fanOut(rounds: 200) }),
  "fill-and-block": (15, { Waiting.fillAndBlock(in: $0[0], beside: $0[1], rounds: 50) }),
  "ping-pongs": (15, { _ in Turns.run(pairs: 16, seconds: 2) }),
  "burst": (30, { Burst.run($0[0], threads: Int($0[1]) ?? 0) }),
  "interval": (60, { Intervals.run(microseconds: Int($0[0]) ?? 0, hops: Int($0[1]) ?? 1) }),
]

/// The figure that says by how much the machine was late for a thread that owes nothing to the library.
let machineLate = "machine late ms"

let words = CommandLine.arguments.dropFirst()
guard let row = words.first.flatMap({ rows[$0] }) else {
  print("no row is called \"\(words.first ?? "")\"")
  exit(64)
}
alarm(row.patience)
// The other rows tell ratios, or count threads.
let lateness = ["spin", "fan-out", "fill-and-block", "ping-pongs"].contains(words.first) ? Lateness() : nil
row.run(Array(words.dropFirst()))
if let lateness { tell(machineLate, Double(lateness.end())) }
// Nothing is waited for at the end: items that go on for ever are part of some rows.
_exit(0)
