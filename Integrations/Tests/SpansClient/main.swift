// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// What the check `integrations` records with gcd trace.

import GrandCentralTracing
import Tracing

enum Failure: Error { case expected }

InstrumentationSystem.bootstrap(TimelineTracer())
await withSpan("request") { request in
  await withTaskGroup(of: Void.self) { tasks in
    for _ in 0..<8 {
      tasks.addTask { withSpan("query") { $0.addEvent("row") } }
    }
  }
  try? withSpan("audit") { _ in throw Failure.expected }
  request.operationName = "GET /users"
}
