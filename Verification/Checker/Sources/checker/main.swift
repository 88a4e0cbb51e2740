// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit
import Foundation
import Scenarios

// checker --list
// checker NAME… [--exhaustive | --pct | --random | --replay TOKEN] [--seconds S] [--runs N] [--seed N] [--preemptions N]
//         [--unusual N] [--depth N] [--steps N] [--sc] [--expect-failure] [--small | --large]
// checker NAME… --sites, checker NAME… --weaken …: Weakened.swift
//
// NAME is a part of a scenario's name, =NAME its whole name, or NAME the name of its source file; `all` stands for each.
// Without a strategy: exhaustive where the scenario's search ends, else PCT.

func usage(_ line: String) -> Never {
  print(line)
  print(
    """
    usage: checker --list
           checker NAME… [--exhaustive | --pct | --random | --replay TOKEN] [--seconds S] [--runs N] [--seed N]
                   [--preemptions N] [--unusual N] [--depth N] [--steps N] [--sc] [--expect-failure] [--small | --large]
    """)
  exit(2)
}

setvbuf(stdout, nil, _IOLBF, 0)
var names: [String] = []
var strategy: Int32?
var token: String?
var seconds: Double?
var runs: UInt64 = 0
var seed = UInt64(Date().timeIntervalSince1970)
var preemptions: Int32?
var unusual: Int32?
var depth: Int32 = 3
var steps: UInt64?
var sc = false
var expectsFailure = false
var lists = false
var listsSites = false
var weakened: String?
var onlySmall: Bool?

var rest = CommandLine.arguments.dropFirst()
func next<Value: LosslessStringConvertible>(_ option: String) -> Value {
  guard let text = rest.popFirst(), let value = Value(text) else { usage("\(option) wants a value") }
  return value
}
while let argument = rest.popFirst() {
  switch argument {
  case "--list": lists = true
  case "--sites": listsSites = true
  case "--weaken": weakened = next(argument)
  case "--small": onlySmall = true
  case "--large": onlySmall = false
  case "--exhaustive": strategy = Int32(CK_EXHAUSTIVE)
  case "--pct": strategy = Int32(CK_PCT)
  case "--random": strategy = Int32(CK_RANDOM)
  case "--replay":
    strategy = Int32(CK_REPLAY)
    token = next(argument)
  case "--seconds": seconds = next(argument)
  case "--runs": runs = next(argument)
  case "--seed": seed = next(argument)
  case "--preemptions": preemptions = next(argument)
  case "--unusual": unusual = next(argument)
  case "--depth": depth = next(argument)
  case "--steps": steps = next(argument)
  case "--sc": sc = true
  case "--expect-failure": expectsFailure = true
  default:
    if argument.hasPrefix("-") { usage("unknown option \(argument)") }
    names.append(argument)
  }
}

let all = allScenarios()
if lists {
  for scenario in all { print("\(scenario.isSmall ? "exhaustive" : "walks     ")  \(scenario.file)  \(scenario.name)") }
  exit(0)
}
if names.isEmpty { usage("no scenario is named") }
let chosen = all.filter { scenario in
  names.contains { $0 == "all" || $0 == "=" + scenario.name || scenario.name.contains($0) || scenario.file == $0 }
    && (onlySmall == nil || onlySmall == scenario.isSmall)
}
if chosen.isEmpty { usage("no scenario has that name; see --list") }

ck_thread_local(gc_thread_self(), MemoryLayout<gc_thread>.size)

func options(of scenario: Scenario) -> ck_options {
  var options = ck_default_options()
  options.strategy = strategy ?? Int32(scenario.isSmall ? CK_EXHAUSTIVE : CK_PCT)
  options.sc = sc
  options.seed = seed
  options.runs = runs
  options.depth = depth
  options.steps = steps ?? scenario.steps
  options.unusual = unusual ?? Int32(scenario.unusual)
  options.preemptions = preemptions ?? scenario.preemptions.map { Int32($0) } ?? -1
  options.seconds = seconds ?? (options.strategy == Int32(CK_EXHAUSTIVE) ? 60 : 2)
  return options
}

if listsSites {
  listSites(chosen, seconds: seconds ?? 1, options(of:))
  exit(0)
}
if let weakened {
  runWeakened(weakened, chosen, seconds: seconds ?? 5, options(of:))
  exit(0)
}

var failures = 0
for scenario in chosen {
  var options = options(of: scenario)
  let way = ["exhaustive", "PCT", "random", "replay"][Int(options.strategy)]
  let result =
    token.map {
      $0.withCString {
        options.token = $0; return scenario.explore(options)
      }
    }
    ?? scenario.explore(options)
  let pace = Int(Double(result.points) / max(result.seconds, 1e-6) / 1_000)
  let ending =
    options.strategy == Int32(CK_EXHAUSTIVE)
    ? (result.isComplete
      ? "to the end" + (options.preemptions >= 0 ? " of \(options.preemptions) preemptions" : "") : "NOT to the end")
    : "seed \(seed)"
  print(
    "\(result.failed ? "FOUND" : "ok   ")  \(scenario.file): \(scenario.name) – \(way), \(result.runs) runs, "
      + "\(result.points) points (\(pace) k/s, longest \(result.longest)), \(ending)")
  if result.failed {
    failures += 1
    print(result.message)
    print(result.table)
    print("replay: checker '\(scenario.name)' --replay \(result.token)")
  } else if options.strategy == Int32(CK_EXHAUSTIVE), !result.isComplete, seconds == nil {
    print("the search was to get to its end, and has not")
    failures += 1
  }
}
print(failures == 0 ? "\(chosen.count) scenarios, nothing found" : "\(failures) of \(chosen.count) scenarios FAILED")
exit((failures != 0) == expectsFailure ? 0 : 1)
