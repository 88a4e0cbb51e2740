// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

// Which thread waits for what, in sentences.
extension Run {
  /// One sentence for each thread that waits for something other than work, or sleeps for ever.
  func describeWaits() -> [String] {
    members.compactMap { member in
      switch member.wait {
      case .nothing, .ended, .rest, .poll: return nil
      case .sleep: return member.deadline == .max ? member.name + " sleeps for ever" : nil
      case .word:
        if member.isIdle || member.isMonitor { return nil }
        return describe(member)
      }
    }
  }

  private func describe(_ member: Member) -> String {
    if let foreign = member.foreignWait { return member.name + " " + foreign }
    guard let entry = member.entry, let wait = SimulationSupport.wait(of: entry) else {
      return member.name + " " + member.unknownWait
    }
    let place = wait.inside.isEmpty ? "" : ", inside an item of \"" + wait.inside + "\","
    return member.name + place + " waits for " + object(of: wait) + owner(of: wait.wait)
  }

  private func object(of wait: SimulationSupport.Wait) -> String {
    switch wait.wait.kind {
    case .queue:
      "its turn on the queue \"" + wait.wait.label + "\""
        + (leftovers.isSuspended(wait.queue) ? ", which is suspended" : "")
    case .itemElsewhere: "its item on the queue \"" + wait.wait.label + "\""
    case .group:
      "a group, which " + (wait.members == 1 ? "one member has" : String(wait.members) + " members have") + " not left"
    case .semaphore: "a semaphore"
    case .workItem: "a work item"
    case .apply: "the helpers of concurrentPerform"
    case .once: "the body of a once"
    case .other: "another thread"
    }
  }

  private func owner(of wait: GrandCentralRuntime.SnapshotWait) -> String {
    guard wait.owner != 0, let number = SimulationSupport.number(ofThread: wait.owner), members.indices.contains(number)
    else { return "" }
    return ", which " + members[number].name + " holds"
  }
}
