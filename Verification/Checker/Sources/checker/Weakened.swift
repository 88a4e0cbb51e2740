// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CheckerCore
import CheckerKit
import Foundation

// What Scripts/mutants drives. It knows lines of source; here an operation is an offset in the executable.
//
// checker NAME… --sites [--seconds S]            what each scenario comes by: "site OFFSET KIND WHICH ORDER"
// checker NAME… --weaken OFFSET,…:WHICH:ORDER    the scenarios with that ordering at those places, until one notices
//
// KIND: 1 load, 2 store, 3 update, 4 compareExchange, 5 fence. WHICH: 1 an exchange's ordering on failure, else 0. ORDER: 0 relaxed,
// 1 acquiring, 2 releasing, 3 both, 4 sequentially consistent. A fence that is made relaxed is dropped.

private func put(_ line: String) {
  print(line)
  fflush(nil)
}

/// Where the executable was loaded.
private var image: UInt { UInt(bitPattern: ck_image()) }

/// Explores the scenario in each way that suits it, and gives the first finding.
private func hunt(_ scenario: Scenario, seconds: Double, _ base: ck_options) -> Exploration {
  var ways: [(strategy: Int, share: Double)] = [(CK_PCT, 0.6), (CK_RANDOM, 0.4)]
  if scenario.isSmall { ways = [(CK_EXHAUSTIVE, 0.6), (CK_RANDOM, 0.4)] }
  var last: Exploration?
  for way in ways {
    var options = base
    options.quiet = true
    options.strategy = Int32(way.strategy)
    options.seconds = seconds * way.share
    let result = scenario.explore(options)
    if result.failed || result.isComplete { return result }
    last = result
  }
  return last!
}

/// Lists the operations of each scenario that are not relaxed. A scenario that fails as it stands says so.
func listSites(_ scenarios: [Scenario], seconds: Double, _ options: (Scenario) -> ck_options) {
  for scenario in scenarios {
    put("scenario \(scenario.isSmall ? "small" : "walks")\t\(scenario.file)\t\(scenario.name)")
    ck_record_sites(true)
    let result = hunt(scenario, seconds: seconds, options(scenario))
    ck_record_sites(false)
    for index in 0..<ck_site_count() {
      let site = ck_site_at(index)
      put("site \(UInt(bitPattern: site.address) - image) \(site.kind) \(site.which) \(site.order)")
    }
    if result.failed { put("fails \(result.message.split(separator: "\n").first ?? "")") }
  }
}

/// Runs the scenarios with the mutant, until one notices.
func runWeakened(_ mutant: String, _ scenarios: [Scenario], seconds: Double, _ options: (Scenario) -> ck_options) {
  let parts = mutant.split(separator: ":")
  guard parts.count == 3, let which = Int32(parts[1]), let order = Int32(parts[2]) else {
    usage("--weaken wants OFFSET,…:WHICH:ORDER")
  }
  let sites = parts[0].split(separator: ",").compactMap { UInt($0) }.map { UnsafeRawPointer(bitPattern: image + $0) }
  ck_weaken(sites, sites.count, which, order)
  var complete = true
  for scenario in scenarios {
    put("trying \(scenario.name)")
    let result = hunt(scenario, seconds: seconds, options(scenario))
    if result.failed {
      // What fails without the mutant as well shows nothing.
      ck_weaken(nil, 0, 0, 0)
      if !scenario.isSmall, hunt(scenario, seconds: seconds, options(scenario)).failed {
        put("fails without it\t\(scenario.name)")
        ck_weaken(sites, sites.count, which, order)
        complete = false
        continue
      }
      put("caught\t\(scenario.name)\t\(result.runs)\t\(result.message.split(separator: "\n").first ?? "")")
      return
    }
    complete = complete && result.isComplete
  }
  put(complete ? "survived to the end" : "survived")
}
