// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

// How time passes in a run: no thread can go on.
extension Run {
  /// Run.R3
  func letTimePass() {
    lookForStrangers()
    orders?.allWait()
    // A thread may have written to a pipe that another one polls. A poller that finds nothing waits again without a step.
    if polls > 0 || descriptors != nil, lookedAt != step {
      lookedAt = step
      wakePolls()
      descriptors?.look()
      return
    }
    if awaitOutside() { return }
    var soonest = descriptors?.nextExpiration(polls > 0) ?? .max
    var soonestOfWork = soonest
    var resting: Rest?
    var isStuck = false
    for member in members {
      if case .rest(let rest) = member.wait { resting = rest }
      soonest = min(soonest, member.deadline)
      if !isOnLookout(member) { soonestOfWork = min(soonestOfWork, member.deadline) }
      isStuck = isStuck || self.isStuck(member)
    }
    switch resting {
    case nil:
      break
    case .until(let end):
      if soonest > end {
        now = max(now, end)
        return release(0, wasWoken: true)
      }
    case .untilNothingIsLeft, .untilCalled:
      if soonest == .max || soonestOfWork == .max && !SimulationSupport.isOwed { return release(0, wasWoken: true) }
    case .untilEnd:
      if soonest == .max || !isStuck && !SimulationSupport.isOwed { return release(0, wasWoken: true) }
    case .untilClosed:
      if soonest == .max || SimulationSupport.engineIsStill { return release(0, wasWoken: true) }
    }
    if descriptors?.awaitOutside(soonest == .max ? .max : soonest - now) == true { return }
    // The body may yet end the waits, once the time has come that it waits for.
    if case .until = resting {} else if isStuck, onlyTicks(soonestOfWork) { fail(.deadlock(describeWaits())) }
    if soonest == .max { fail(.deadlock(describeWaits())) }
    now = max(now, soonest)
    if descriptors?.timeHasPassed() == true { wakePolls() }
    for number in members.indices where members[number].deadline <= now { release(number, wasWoken: false) }
  }

  /// Whether a thread waits for something other than work, and another one, or a deadline, may yet end that. By the first thread.
  var mayEndWaits: Bool {
    guard members.contains(where: { isStuck($0) }) else { return false }
    return ready.count > 1 || (descriptors?.nextExpiration(polls > 0) ?? .max) < .max
      || members.contains { $0.deadline < .max && !isOnLookout($0) }
  }

  /// Whether what the thread waits for brings no work: the monitor's tick, or the end of a worker's nap, which finds no job.
  private func isOnLookout(_ member: Member) -> Bool {
    member.isMonitor || member.naps && !SimulationSupport.hasUntaken
  }

  /// Whether nothing but ticks of the monitor has come for so long that it would have helped: the thread budget is used up.
  private func onlyTicks(_ soonestOfWork: UInt64) -> Bool {
    ticks = soonestOfWork == .max && ticks.step == step ? (ticks.count + 1, step) : (0, step)
    return ticks.count > Self.mostTicks
  }
}
