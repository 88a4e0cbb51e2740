// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CheckerKit

/// Every scenario, the small ones first. Made anew at each call: nothing here is kept in a static variable.
public func allScenarios() -> [Scenario] {
  parkers() + locks() + lists() + queues() + coordination() + laneStates() + memory() + timers()
    + bystanders() + edges() + queueObjects() + workItems() + mainQueue() + handOvers() + sleepers() + roles()
    + records() + robberies() + waitCycles()
    + fairness() + reserves() + lenders()
    + sourceKinds() + channels() + dispatchData() + tables() + tasks() + lives() + forks() + ordinary()
    + EngineScenarios.all.map { each in
      Scenario(each.name, of: "Engine", unusual: each.unusual, isSmall: false, steps: 200_000) { run in
        run.finally(each.body)
      }
    }
}
