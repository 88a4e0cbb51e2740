// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Lives of trees of queues, drawn by chance. See Life.swift for what is checked.
//
//   GC_FUZZ_SECONDS   how long; 10 without it
//   GC_FUZZ_SEED      lives this seed again and again; without it each life has a new one. What happens when between threads
//                     is not the seed's, so a failure may take some repetitions.
//
// The first failure is printed with its seed and the state of its queues, and the program ends with 1. A crash prints the
// seed as well.

import ContractSupport
import Glibc
import GrandCentral

let seconds = getenv("GC_FUZZ_SECONDS").flatMap { Double(String(cString: $0)) } ?? 10
let replayed = getenv("GC_FUZZ_SEED").flatMap { UInt64(String(cString: $0)) }
let first = replayed ?? monotonicNanoseconds() ^ UInt64(getpid()) << 40
let deadline = monotonicNanoseconds() + UInt64(seconds * 1e9)

print("queue fuzz: \(replayed == nil ? "first seed" : "seed") \(first), \(seconds) s")
fflush(nil)

/// Lives one after the other, on a thread of its own: the main thread serves the main queue.
_ = PlainThread {
  var (lives, items) = (0, 0)
  repeat {
    let seed = replayed ?? first &+ UInt64(lives)
    let life = Life(seed: seed)
    CrashNote.set("queue fuzz: crashed in seed \(seed), \(life.story)\nagain: GC_FUZZ_SEED=\(seed)\n")
    let failure = life.run()
    lives += 1
    items += life.submitted.value
    if let failure {
      print("queue fuzz: seed \(seed), \(life.story): \(failure)")
      print(life.state)
      print("again: GC_FUZZ_SEED=\(seed)")
      exit(1)
    }
  } while monotonicNanoseconds() < deadline
  print("queue fuzz: \(lives) lives, \(items) items")
  exit(0)
}
CrashNote.install()
dispatchMain()
