// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

// How the first thread of a run lets the others go on.
extension Run {
  enum Rest: Equatable {
    /// Until that instant.
    case until(UInt64)
    /// Until there is no timer, and nobody waits with a deadline.
    case untilNothingIsLeft
    /// Likewise, and no longer than until a thread calls the first one.
    case untilCalled
    /// Until no thread waits that could go on: the body has returned, and timers are dropped.
    case untilEnd
    /// Until the engine's threads have ended.
    case untilClosed
  }

  /// The first thread: the others go on, and it runs the main queue's items.
  func rest(_ rest: Rest) {
    if current != 0 { fail(.misuse("Simulation.run and advance are for the body: an item has called one of them")) }
    SimulatedOrder.comesBefore(members[0].carrier)
    // The body may have written to a pipe, which is no step.
    lookedAt = -1
    isCalled = false
    repeat {
      if mainIsCalled {
        mainIsCalled = false
        goOut()
        SimulatedOrder.seen { SimulationSupport.drainMain() }
        comeIn()
      }
      // An item of the main queue may have done that.
      if rest == .untilCalled, isCalled { break }
      block(.rest(rest), until: .max)
    } while mainIsCalled
    SimulatedOrder.comesAfter(self)
  }

  /// The main queue has items. While the first thread does something else they wait.
  func callMain() {
    mainIsCalled = true
    if case .rest = members[0].wait { release(0, wasWoken: true) }
  }

  /// There is something for the first thread, which is not on the main queue.
  func call() {
    // In which order threads call is no operation (Operation.swift).
    if current != 0 { orders?.lacks(.tasks) }
    isCalled = true
    if members[0].wait == .rest(.untilCalled) { release(0, wasWoken: true) }
  }
}
