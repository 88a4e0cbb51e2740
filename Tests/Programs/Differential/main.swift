// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

// One program for two libraries: `program --list` names the scenarios, `program NAME` runs one; `program random:SEED`
// runs a random program. What a scenario prints holds no time and no address, so that both libraries must print the same.

let scenarios: [(String, () -> Void)] =
  timerScenarios + sourceScenarios + itemScenarios + groupScenarios + queueScenarios + specificScenarios + dataScenarios
  + channelScenarios + valueScenarios + trapScenarios

setvbuf(stdout, nil, _IOLBF, 0)
// Some scenarios crash on purpose, and must leave no core file behind.
var none = rlimit()
setrlimit(__rlimit_resource_t(4), &none)  // RLIMIT_CORE
if CommandLine.arguments.last == "--list" {
  for (name, _) in scenarios { print(name) }
} else if let word = CommandLine.arguments.last, word.hasPrefix("random:"), let seed = UInt64(word.dropFirst(7)) {
  runRandomProgram(seed: seed)
  print("end")
} else if let scenario = scenarios.first(where: { $0.0 == CommandLine.arguments.last }) {
  scenario.1()
  print("end")
} else {
  print("no scenario is called", CommandLine.arguments.last ?? "")
  exit(2)
}
