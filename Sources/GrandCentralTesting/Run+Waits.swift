// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

// Which thread waits for what, in sentences.
extension Run {
  /// One sentence for each thread that waits for something other than work, or sleeps for ever. Threads that wait for each other come
  /// first, each before the one that it waits for.
  func describeWaits() -> [String] {
    let circle = circle()
    var sentences = circle.compactMap { sentence(of: members[$0]) }
    if let last = sentences.popLast() { sentences.append(last + ": the circle is closed") }
    return sentences + members.indices.filter { !circle.contains($0) }.compactMap { sentence(of: members[$0]) }
  }

  /// The numbers of threads of which each waits for the next one, and the last one for the first; empty if there are none.
  private func circle() -> [Int] {
    for start in members.indices {
      var path = [start]
      while let next = blocker(of: members[path[path.count - 1]]) {
        if next == start { return path }
        if path.contains(next) { break }
        path.append(next)
      }
    }
    return []
  }

  private func blocker(of member: Member) -> Int? {
    guard case .word = member.wait else { return nil }
    if member.foreignWait != nil { return member.foreignHolder }
    return wait(of: member).flatMap { holder(of: $0) }
  }

  private func wait(of member: Member) -> SimulationSupport.Wait? {
    member.entry.flatMap { SimulationSupport.wait(of: $0) }
  }

  private func sentence(of member: Member) -> String? {
    switch member.wait {
    case .nothing, .ended, .rest, .poll: return nil
    case .sleep: return member.deadline == .max ? member.name + " sleeps for ever" : nil
    case .word:
      if member.isIdle || member.isMonitor { return nil }
      return describe(member)
    }
  }

  private func describe(_ member: Member) -> String {
    if let foreign = member.foreignWait { return member.name + " " + foreign }
    guard let wait = wait(of: member) else {
      return member.name + " " + member.unknownWait
    }
    let place = wait.inside.isEmpty ? "" : ", inside an item of \"" + wait.inside + "\","
    return member.name + place + " waits for " + object(of: wait) + owner(of: wait)
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

  private func owner(of wait: SimulationSupport.Wait) -> String {
    holder(of: wait).map { ", which " + members[$0].name + " holds" } ?? ""
  }

  /// The number of the thread that holds what is waited for. The wait names the one that held it when it began; a queue may have been taken
  /// since, by a thread that waits inside of its item.
  private func holder(of wait: SimulationSupport.Wait) -> Int? {
    let isQueue = wait.wait.kind == .queue || wait.wait.kind == .itemElsewhere
    if wait.wait.owner == 0, isQueue, wait.object != 0 {
      return members.indices.first { self.wait(of: members[$0])?.insideObject == wait.object }
    }
    return SimulationSupport.number(ofThread: wait.wait.owner).flatMap { members.indices.contains($0) ? $0 : nil }
  }
}
