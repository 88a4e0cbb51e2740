// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What a cycle looks like in a fault's line.
extension WaitGraph {
  /// Waits of a cycle that a message tells of.
  private static let toldAtMost = 12

  @_optimize(size)
  static func describe(_ cycle: [Link]) -> String {
    var text = cycle.count == 1 ? "a wait that cannot end: " : "waits that cannot end, each for the next one: "
    for (index, link) in cycle.prefix(toldAtMost).enumerated() {
      if index > 0 { text += "; " }
      text += describe(link, isAlone: cycle.count == 1)
    }
    if cycle.count > toldAtMost { text += "; and " + String(cycle.count - toldAtMost) + " more" }
    return text + ". " + remedy(cycle)
  }

  @_optimize(size)
  private static func describe(_ link: Link, isAlone: Bool) -> String {
    let waiter = link.waiter.pointee
    let blocker = link.blocker.record.pointee
    var text = name(waiter) + " waits in " + call(waiter.wait)
    if let site = CallSite.outside(waiter.trace) { text += ", called by " + site.description + "," }
    text += " for " + wanted(waiter.wait) + ", "
    let thread = isAlone ? "the same thread" : "thread " + String(blocker.thread)
    switch link.blocker.reason {
    case .owns(let lane): text += through(lane, waiter.wait) + thread + " holds"
    case .reads(let lane):
      text += through(lane, waiter.wait) + thread + " is inside an item of"
      if link.alternatives > 1 { text += ", as are others that wait" }
    case .isMain: text += "which only the main thread runs, " + thread
    case .runs: text += "which " + thread + " runs"
    case .keeps(let lane, let outer):
      text += "which waits on queue \"" + lane.name + "\""
      if lane !== outer { text += ", whose items run as items of \"" + outer.name + "\"," }
      text += " for " + thread
    }
    return text
  }

  /// "which", or the target that stands in the way.
  @_optimize(size)
  private static func through(_ lane: Lane, _ wait: Wait) -> String {
    switch wait {
    case .turn(let waited, _, _), .call(let waited, _, _):
      if waited == lane { return "which " }
    default: break
    }
    return "whose items run as items of \"" + lane.name + "\", which "
  }

  @_optimize(size)
  private static func name(_ record: WaitRecord) -> String {
    let number = "thread " + String(record.thread)
    if record.isMain { return number + " (the main thread)" }
    guard let name = Thread.name(of: record.thread) else { return number }
    return number + " (" + name + ")"
  }

  @_optimize(size)
  private static func call(_ wait: Wait) -> String {
    switch wait {
    case .turn(let lane, let reads, let below):
      // unsafe: the call that waits keeps the lanes.
      let isConcurrent = lane.use { $0.kind.hasReaders }
      return isConcurrent && !reads && lane == below
        ? "a barrier DispatchQueue.sync" : "DispatchQueue.sync"
    case .call: return "DispatchQueue.sync"
    case .object(let awaited):
      return switch awaited.kind {
      case .group: "DispatchGroup.wait"
      case .workItem: "DispatchWorkItem.wait"
      default: "DispatchOnce.run"
      }
    }
  }

  @_optimize(size)
  private static func wanted(_ wait: Wait) -> String {
    switch wait {
    case .turn(let lane, _, let below):
      let name = "queue \"" + lane.use { $0.name } + "\""
      if lane == below { return name }
      return name + ", the target of \"" + below.use { $0.name } + "\""
    case .call(let lane, _, _): return "queue \"" + lane.use { $0.name } + "\""
    case .object(let awaited):
      return switch awaited.kind {
      case .group: "an item of the group"
      case .workItem: "the item"
      default: "the body"
      }
    }
  }

  @_optimize(size)
  private static func remedy(_ cycle: [Link]) -> String {
    let onlyQueues = cycle.allSatisfy {
      switch $0.waiter.pointee.wait {
      case .turn, .call: true
      default: false
      }
    }
    return onlyQueues
      ? "Use async in one of the calls, or take the queues in the same order everywhere."
      : "Use notify or async in one of the calls, and let the rest follow there."
  }
}
