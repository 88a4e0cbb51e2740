// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CheckerCore
import CheckerKit
import Foundation
import Synchronization

// Litmus tests of the memory model: small programs with the exact set of outcomes that C11 allows (less what memory.cpp says
// is left out). The exhaustive search must find each of them, and nothing else; so must random runs not find anything else.

final class Word {
  let atomic: Atomic<Int>
  init(_ value: Int = 0) { atomic = Atomic(value) }
  func load(_ order: AtomicLoadOrdering) -> Int { atomic.load(ordering: order) }
  func store(_ value: Int, _ order: AtomicStoreOrdering) { atomic.store(value, ordering: order) }
}

struct Litmus {
  let name: String
  let allowed: Set<String>
  var withSC: Set<String>?
  /// Whether the search without reduction ends soon.
  var isShort = true
  let body: (ScenarioRun, @escaping (@escaping () -> String) -> Void) -> Void
}

var failures = 0

func outcomes(_ litmus: Litmus, _ options: ck_options) -> (found: Set<String>, exploration: Exploration) {
  var found: Set<String> = []
  let scenario = Scenario(litmus.name, of: "litmus") { run in
    litmus.body(run) { outcome in run.finally { found.insert(outcome()) } }
  }
  let exploration = scenario.explore(options)
  return (found, exploration)
}

func verify(_ litmus: Litmus) {
  var options = ck_default_options()
  options.quiet = true
  func compare(_ way: String, _ wanted: Set<String>, exact: Bool) {
    let (found, exploration) = outcomes(litmus, options)
    let good = exact ? found == wanted && exploration.isComplete : found.isSubset(of: wanted)
    let isFine = good && !exploration.failed
    if !isFine { failures += 1 }
    print(
      isFine ? "ok  " : "FAIL", litmus.name, "–", way, exploration.runs, "runs,", exploration.points, "points:",
      found.sorted().joined(separator: " "),
      isFine ? "" : "wanted: " + wanted.sorted().joined(separator: " ") + " " + exploration.message)
  }
  compare("reduced:", litmus.allowed, exact: true)
  options.preemptions = 1_000
  // Without reduction, as a check of the reduction.
  if litmus.isShort { compare("all:", litmus.allowed, exact: true) }
  options.strategy = Int32(CK_RANDOM)
  options.preemptions = -1
  options.runs = 2_000
  compare("random:", litmus.allowed, exact: false)
  options.strategy = Int32(CK_PCT)
  compare("PCT:", litmus.allowed, exact: false)
  options.runs = 0
  options.strategy = Int32(CK_EXHAUSTIVE)
  if let withSC = litmus.withSC {
    options.sc = true
    compare("--sc:", withSC, exact: true)
  }
}

// litmus [NAME] | litmus --programs COUNT [SEED]
let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "--programs" {
  let seed = arguments.count > 2 ? UInt64(arguments[2]) ?? 1 : UInt64(Date().timeIntervalSince1970)
  exit(fuzz(arguments.count > 1 ? Int(arguments[1]) ?? 100 : 100, seed: seed) == 0 ? 0 : 1)
}
let only = arguments.first
for litmus in tests where only == nil || litmus.name.contains(only!) { verify(litmus) }
if only == nil { verifySpeed() }
print(failures == 0 ? "all litmus tests passed" : "\(failures) FAILED")
exit(failures == 0 ? 0 : 1)

func verifySpeed() {
  var options = ck_default_options()
  options.strategy = Int32(CK_RANDOM)
  options.runs = 20_000
  let scenario = Scenario("speed", of: "litmus") { run in
    let x = Word(), y = Word()
    for _ in 0..<2 {
      run.thread {
        for _ in 0..<50 {
          _ = x.atomic.wrappingAdd(1, ordering: .acquiringAndReleasing)
          _ = y.load(.acquiring)
        }
      }
    }
  }
  let result = scenario.explore(options)
  print("speed: \(Int(Double(result.points) / result.seconds)) points a second, \(result.runs) runs, \(result.message)")
}
