// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

public import CheckerKit

public func allScenarios() -> [Scenario] {
  EngineScenarios.all.map { each in
      Scenario("engine: " + each.name, of: "Engine", unusual: each.unusual, isSmall: false, steps: 200_000) { run in
        run.finally(each.body)
      }
    }
}
