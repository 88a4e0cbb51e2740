// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CheckerCore
import CheckerKit

/// One ordering, weaker than it is written, at all places that one line of the source was compiled to.
struct Mutant {
  let place: String
  let kind: Int32
  let which: Int32
  let from: Int32
  let to: Int32
  let sites: [UnsafeRawPointer?]

  var text: String {
    let names = ["relaxed", "acquiring", "releasing", "acquiringAndReleasing", "sequentiallyConsistent"]
    let operation = [1: "load", 2: "store", 3: "update", 4: "compareExchange", 5: "fence"][kind] ?? "?"
    return "\(place) \(operation)\(which == 1 ? " on failure" : ""): \(names[Int(from)]) -> \(names[Int(to)])"
  }

  /// What an ordering is weakened to: one step each.
  static func weaker(_ order: Int32, kind: Int32, which: Int32) -> [Int32] {
    switch order {
    case Int32(CK_SEQ_CST): which == 1 || kind == 1 ? [1] : kind == 2 ? [2] : [3]
    case Int32(CK_ACQ_REL): [1, 2]
    default: [0]
    }
  }
}

/// The operations in `file` that its scenarios come by.
private func mutants(of file: String, _ scenarios: [Scenario], _ options: (Scenario) -> ck_options) -> [Mutant] {
  ck_record_sites(true)
  for scenario in scenarios {
    var brief = options(scenario)
    brief.seconds = 1
    brief.quiet = true
    _ = scenario.explore(brief)
  }
  ck_record_sites(false)
  var groups: [String: Mutant] = [:]
  for index in 0..<ck_site_count() {
    let site = ck_site_at(index)
    let place = String(cString: site.place)
    guard place.hasPrefix(file + ".swift:") || place.hasPrefix(file + "+") else { continue }
    // A line 0 says nothing: such places stay apart.
    let unknown = place.hasSuffix(":0") ? " at \(site.address!)" : ""
    for order in Mutant.weaker(site.order, kind: site.kind, which: site.which) {
      let key = "\(place)\(unknown) \(site.kind) \(site.which) \(site.order) \(order)"
      let before = groups[key]?.sites ?? []
      groups[key] = Mutant(
        place: place + unknown, kind: site.kind, which: site.which, from: site.order, to: order,
        sites: before + [site.address])
    }
  }
  return groups.values.sorted { $0.text < $1.text }
}

/// Weakens one ordering of the file after the other, and says which scenario notices. Returns how many nobody has noticed.
func runMutants(of file: String, _ all: [Scenario], seconds: Double, _ options: (Scenario) -> ck_options) -> Int {
  let scenarios = all.filter { $0.file == file }
  let mutants = mutants(of: file, scenarios, options)
  var caught = 0
  for mutant in mutants {
    ck_weaken(mutant.sites, mutant.sites.count, mutant.which, mutant.to)
    var by: (Scenario, Exploration)?
    for scenario in scenarios {
      var limited = options(scenario)
      limited.quiet = true
      limited.seconds = seconds
      let result = scenario.explore(limited)
      if result.failed {
        by = (scenario, result)
        break
      }
    }
    if let (scenario, result) = by {
      caught += 1
      print("caught    \(mutant.text)  by \"\(scenario.name)\" after \(result.runs) runs: \(result.message.prefix(90))")
    } else {
      print("SURVIVED  \(mutant.text)")
    }
  }
  ck_weaken(nil, 0, 0, 0)
  print("\(file): caught \(caught) of \(mutants.count)")
  return mutants.count - caught
}
