// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

// How a run ends that does not come to its end: it fails, or is given up. And what it notes of threads that take no part.
extension Run {
  // MARK: Failures

  /// Run.R4: the calling thread does not go on.
  func fail(_ reason: SimulationFailure.Reason) -> Never {
    settle()
    lookForStrangers()
    earlier = complaint.map { .expectation($0) }
    if case .threw(let error) = outcome { earlier = .thrown(error) }
    if escape == nil, case .deadlock = reason { waitsForEver = true }
    outcome = .failed(escape ?? judge(reason))
    SimulationSupport.stopNotes()
    // The threads that stay need what they use.
    _ = Unmanaged.passRetained(self)
    giveBackEntries()
    SimulatedOrder.comesBefore(self)
    over.pass()
    stay()
  }

  private func stay() -> Never {
    let forever = SimulatedTurn()
    while true { forever.wait() }
  }

  // MARK: The body has returned

  /// What `asyncAfter` has not submitted goes, while the ends of the program's objects can still use the library. They run in the usual
  /// order, as all does from now on.
  func dropDelayed() {
    // An object may set a timer at its end, each time.
    for _ in 0..<100 {
      goOut()
      let hasDropped = SimulatedOrder.seen { SimulationSupport.dropDelayed() }
      comeIn()
      if !hasDropped { return }
      if ready.count == 1, !mainIsCalled, !SimulationSupport.isOwed { continue }
      rest(.untilEnd)
      if members.contains(where: { isStuck($0) }) { fail(.deadlock(describeWaits())) }
    }
  }

  // MARK: Run.R5

  /// By the thread that waits for the run.
  func giveUp() {
    // relaxed: from some step on the run's thread sees it.
    isGivenUp.store(true, ordering: .relaxed)
    SimulationSupport.giveUpRun()
    _ = Unmanaged.passRetained(self)
  }

  var isLeft: Bool {
    // relaxed: see `giveUp`.
    isGivenUp.load(ordering: .relaxed)
  }

  func stayIfGivenUp() {
    if !isLeft { return }
    giveBackEntries()
    stay()
  }

  /// The run's threads stand still for good. What they have said of themselves is known, and others need the room.
  private func giveBackEntries() {
    if let number = SimulationSupport.currentNumber, members.indices.contains(number) {
      members[number].entry = SimulationSupport.currentEntry
    }
    for number in members.indices {
      if let entry = members[number].entry { SimulationSupport.giveBack(entry: entry) }
      members[number].entry = nil
    }
  }

  /// This run, for a thread that comes by.
  var present: Run {
    comeIn()
    return self
  }

  /// Does something for a thread that comes by.
  @inline(__always)
  func visit<Result>(_ body: () -> Result) -> Result {
    let isFromProgram = comeIn()
    defer { if isFromProgram { goOut() } }
    return body()
  }

  // MARK: Run.R6

  /// Has the run fail at its end if a thread that takes no part has used the library beside it.
  func lookForStrangers() {
    guard let stranger = SimulationSupport.takeStranger(), escape == nil else { return }
    let place = stranger.queue.isEmpty ? "" : ", on the queue \"" + stranger.queue + "\""
    escape = .escape(
      "the thread \(stranger.id), \"\(stranger.name)\", which the simulation has not started, has used the library beside it"
        + place)
  }
}
