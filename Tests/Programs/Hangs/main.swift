// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Programs that hang, each in its own way.
//
//   hangs --list    a table: name, "cycle" or "other", and the words that a good explanation must have
//   hangs NAME      hangs until it is killed; prints `formed=NANOSECONDS` (CLOCK_MONOTONIC) when the last wait begins
//
// With HANGS_WATCH=MILLISECONDS the program also reads what the library reports. It prints `reported=NANOSECONDS` for each cycle, and
// `lost=NANOSECONDS`, how long a thread that wanted a processor had none since the hang has formed. The program ends so long after a
// cycle was reported, or after its hang has formed if there is none to report, or GRANDCENTRAL_CYCLES is off.

import ContractSupport
import Glibc

let patterns = queuePatterns + groupPatterns + performPatterns + mainPatterns + otherPatterns

private func complain(_ text: String) -> Never {
  put(text + "\n", to: 2)
  exit(64)
}

Kernel.prepare()
switch CommandLine.arguments.dropFirst().first {
case nil: complain("usage: hangs --list | NAME")
case "--list":
  for pattern in patterns {
    put("\(pattern.name)\t\(pattern.isCycle ? "cycle" : "other")\t\(pattern.says.joined(separator: "|"))\n", to: 1)
  }
case .some(let name):
  guard let pattern = patterns.first(where: { $0.name == name }) else { complain("no pattern is called \"\(name)\"") }
  Watch.begin(pattern)
  pattern.run()
  while true { pause() }
}
