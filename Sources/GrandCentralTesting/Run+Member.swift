// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A run's threads, what they wait for, and how the run has ended.
extension Run {
  struct Member {
    let name: String
    let carrier: Carrier
    var wait = Wait.nothing
    /// The instant at which the wait ends by itself; never is `UInt64.max`.
    var deadline = UInt64.max
    /// Whether the wait has ended before its deadline.
    var wasWoken = false
    /// A worker that has nothing to do.
    var isIdle = false
    /// What it has noted of its wait.
    var entry: UnsafeRawPointer?
    /// What it waits for, where that is nothing of the library's.
    var foreignWait: String?
    /// What is said of it where it waits, and has not noted what for.
    var unknownWait = "waits"
    /// The engine's monitor: nothing in a program waits for its ticks.
    var isMonitor: Bool { name == "gc-monitor" }
  }

  enum Wait: Equatable {
    case nothing
    case word(UnsafeRawPointer)
    case sleep
    case poll
    /// The run's first thread lets the others go on, until they have nothing to do.
    case rest(Rest)
    case ended
  }

  enum Rest: Equatable {
    /// Until that instant.
    case until(UInt64)
    /// Until there is no timer, and nobody waits with a deadline.
    case untilNothingIsLeft
    /// Until no thread waits that could go on: the body has returned, and timers are dropped.
    case untilEnd
    /// Until the engine's threads have ended.
    case untilClosed
  }

  enum Outcome {
    case ended
    case threw(any Error)
    case failed(SimulationFailure.Reason)
  }
}
