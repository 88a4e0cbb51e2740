// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

// Which thread waits for what, in sentences.
extension Run {
  /// One sentence for each thread that waits for something other than work, or sleeps for ever. Threads that wait for each other come
  /// first, each before the one that it waits for.
  func describeWaits() -> [String] {
    let waits = notedWaits
    let holders = holders(waits)
    let circle = Self.circle(holders)
    let sentence = { (number: Int) in self.sentence(of: number, waits[number], holder: holders[number]) }
    var sentences = circle.compactMap(sentence)
    if let last = sentences.popLast() { sentences.append(last + ": the circle is closed") }
    return sentences + members.indices.filter { !circle.contains($0) }.compactMap(sentence)
  }

  /// Whether threads wait for each other in a circle.
  var hasCircle: Bool { !Self.circle(holders(notedWaits)).isEmpty }

  private var notedWaits: [SimulationSupport.Wait?] {
    members.map { member in member.entry.flatMap { SimulationSupport.wait(of: $0) } }
  }

  /// Which wait of each thread that waits in vain is its last one.
  var lastWaits: [Int: Int] {
    var waits: [Int: Int] = [:]
    // What it does outside of the simulation begins unseen.
    for (number, member) in members.enumerated() where isStuck(member) && member.wait != .outside {
      waits[number] = member.waits
    }
    return waits
  }

  /// The numbers of threads of which each waits for the next one, and the last one for the first; empty if there are none.
  private static func circle(_ holders: [Int?]) -> [Int] {
    /// From which thread on the way came by first.
    var starts = [Int?](repeating: nil, count: holders.count)
    for start in holders.indices {
      var current = start
      while starts[current] == nil, let next = holders[current] {
        starts[current] = start
        current = next
      }
      guard starts[current] == start else { continue }
      var circle = [current]
      while let next = holders[circle[circle.count - 1]], next != current { circle.append(next) }
      return circle
    }
    return []
  }

  /// For each thread the number of the one that holds what it waits for. A wait names the one that held it when it began; a queue may have
  /// been taken since, by a thread that waits inside of its item.
  private func holders(_ waits: [SimulationSupport.Wait?]) -> [Int?] {
    var inside: [UInt64: Int] = [:]
    for (number, wait) in waits.enumerated() {
      if let wait, wait.insideObject != 0, inside[wait.insideObject] == nil { inside[wait.insideObject] = number }
    }
    return members.indices.map { number in
      let (member, wait) = (members[number], waits[number])
      if member.wait == .outside { return holder(number) }
      guard case .word = member.wait else { return nil }
      if let foreign = member.foreignWait { return foreign.holder }
      guard let wait else { return nil }
      let isQueue = wait.wait.kind == .queue || wait.wait.kind == .itemElsewhere
      if wait.wait.owner == 0, isQueue { return inside[wait.object] ?? outside(inside: wait.queue) }
      return SimulationSupport.number(ofThread: wait.wait.owner).flatMap { members.indices.contains($0) ? $0 : nil }
    }
  }

  /// The thread that waits outside of the simulation, inside of an item of the queue that has the number.
  private func outside(inside queue: UInt32) -> Int? {
    members.firstIndex { $0.wait == .outside && $0.queue == queue && queue != 0 }
  }

  private func sentence(of number: Int, _ wait: SimulationSupport.Wait?, holder: Int?) -> String? {
    let member = members[number]
    switch member.wait {
    case .nothing, .ended, .rest, .poll: return nil
    case .sleep: return member.deadline == .max ? member.name + " sleeps for ever" : nil
    case .word, .outside:
      if member.isIdle || member.isMonitor { return nil }
      return member.name + what(member, wait) + (holder.map { ", which " + members[$0].name + " holds" } ?? "")
    }
  }

  private func what(_ member: Member, _ wait: SimulationSupport.Wait?) -> String {
    let label = SimulationSupport.label(ofObject: member.queue)
    if member.wait == .outside { return inside(label) + " waits for a mutex of the system" }
    if let foreign = member.foreignWait { return " " + foreign.words }
    guard let wait else { return " " + member.unknownWait }
    return inside(wait.inside) + " waits for " + object(of: wait)
  }

  private func inside(_ label: String) -> String {
    label.isEmpty ? "" : ", inside an item of \"" + label + "\","
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
}
