// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Lives of channels, drawn by chance, with system calls that go wrong. See Life.swift for what is checked.
//
//   GC_FUZZ_SECONDS   how long; 10 without it
//   GC_FUZZ_SEED      lives this seed again and again; without it each life has a new one. What happens when between threads
//                     is not the seed's, so a failure may take some repetitions.
//
// The first failure is printed with its seed, and the program ends with 1.

import ContractSupport
import FaultyCalls
import Glibc

let seconds = getenv("GC_FUZZ_SECONDS").flatMap { Double(String(cString: $0)) } ?? 10
let replayed = getenv("GC_FUZZ_SEED").flatMap { UInt64(String(cString: $0)) }
let first = replayed ?? monotonicNanoseconds() ^ UInt64(getpid()) << 40
let deadline = monotonicNanoseconds() + UInt64(seconds * 1e9)
let (lives, batches) = (Counter(), Counter())
signal(SIGPIPE, SIG_DFL)
print("channel fuzz: \(replayed == nil ? "first seed" : "seed") \(first), \(seconds) s")

/// The descriptors of this process.
func descriptors() -> Int { (0..<1024).count { fcntl($0, F_GETFD) >= 0 } }

var settled = 0
repeat {
  let batch = UInt64(batches.add())
  var random = SeededRandom(seed: first &+ batch)
  // Every third batch nothing goes wrong, and every third one anything may.
  let isHarmless = batch % 3 == 0
  let faults = gc_faults(
    interrupted: isHarmless ? 0 : 7, again: isHarmless ? 0 : UInt32(3 + random.below(20)),
    shortened: isHarmless ? 0 : UInt32(2 + random.below(10)), unsupported: random.oneIn(4) ? 50 : 0,
    full: isHarmless || random.oneIn(2) ? 0 : 40)
  gc_faults_set(faults, first &+ batch)
  PlainThread.concurrently(4) { thread in
    for index in 0..<8 {
      let seed = replayed ?? first &+ batch &* 1000 &+ UInt64(thread * 10 + index)
      let life = Life(seed: seed, isFilled: faults.full != 0)
      life.run()
      lives.add()
      if let failure = life.failures.values.first {
        print("channel fuzz: seed \(seed), \(life.story): \(failure)")
        print("again: GC_FUZZ_SEED=\(seed)")
        exit(1)
      }
    }
  }
  if batch <= 4 {
    settled = max(settled, descriptors())
  } else if !eventually({ descriptors() <= settled }) {
    print("channel fuzz: seed \(first), batch \(batch): \(descriptors()) descriptors, \(settled) before")
    exit(1)
  }
} while monotonicNanoseconds() < deadline
print("channel fuzz: \(lives.value) lives, \(gc_faults_count()) faults")
