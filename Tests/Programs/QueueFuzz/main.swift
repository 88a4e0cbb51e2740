// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Lives of trees of queues, and rushes of items that wait, drawn by chance. See Life.swift and Rush.swift for what is checked.
//
//   GC_FUZZ_SECONDS   how long; 10 without it
//   GC_FUZZ_SEED      lives this seed again and again; without it each life has a new one. What happens when between threads
//                     is not the seed's, so a failure may take some repetitions.
//   GC_FUZZ_BUDGET    how many threads there may be; drawn without it, or the library's own number. Below 16 the last thread is lent, and a
//                     rush may stop (Engine/Reserve.swift).
//   GC_FUZZ_RUSHES    nothing but rushes
//
// The first failure is printed with its seed and the state of its queues, and the program ends with 1. A crash prints the
// seed as well.

import ContractSupport
import Glibc
import GrandCentral

let seconds = getenv("GC_FUZZ_SECONDS").flatMap { Double(String(cString: $0)) } ?? 10
let replayed = getenv("GC_FUZZ_SEED").flatMap { UInt64(String(cString: $0)) }
let first = replayed ?? monotonicNanoseconds() ^ UInt64(getpid()) << 40
let onlyRushes = getenv("GC_FUZZ_RUSHES") != nil
let deadline = monotonicNanoseconds() + UInt64(seconds * 1e9)

// Every second program has the library's own number of threads, and no rushes; so has a replayed one that names no number.
let drawn = replayed != nil || first % 2 == 0 ? nil : 16 + Int(first >> 8 % 64)
let budget = getenv("GC_FUZZ_BUDGET").flatMap { Int(String(cString: $0)) } ?? drawn
if let budget { GrandCentralRuntime.threadBudget = budget }

let word = replayed == nil ? "first seed" : "seed"
print("queue fuzz: \(word) \(first), \(seconds) s, at most \(GrandCentralRuntime.threadBudget) threads")
fflush(nil)

protocol FuzzLife {
  var story: String { get }
  var state: String { get }
  var submitted: Counter { get }
  /// What went wrong, if anything did.
  func run() -> String?
}

/// What lives the life once more.
func again(_ seed: UInt64) -> String {
  "GC_FUZZ_SEED=\(seed)" + (budget.map { " GC_FUZZ_BUDGET=\($0)" } ?? "") + (onlyRushes ? " GC_FUZZ_RUSHES=1" : "")
}

/// Lives one after the other, on a thread of its own: the main thread serves the main queue.
_ = PlainThread {
  var (lives, items) = (0, 0)
  repeat {
    let seed = replayed ?? first &+ UInt64(lives)
    let isRush = onlyRushes || (budget != nil && seed >> 1 % 4 == 0)
    let life: any FuzzLife = isRush ? Rush(seed: seed, budget: GrandCentralRuntime.threadBudget) : Life(seed: seed)
    CrashNote.set("queue fuzz: crashed in seed \(seed), \(life.story)\nagain: \(again(seed))\n")
    let failure = life.run()
    lives += 1
    items += life.submitted.value
    if let failure {
      print("queue fuzz: seed \(seed), \(life.story): \(failure)")
      print(life.state)
      print("again: \(again(seed))")
      exit(1)
    }
  } while monotonicNanoseconds() < deadline
  print("queue fuzz: \(lives) lives, \(items) items")
  exit(0)
}
CrashNote.install()
dispatchMain()
