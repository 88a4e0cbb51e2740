// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// The walk: which of the waits that can be reached from one wait last for ever.
//
// All records that can be reached are suspects at first. A suspect without a suspect among its blockers is no suspect any
// more, and so on until nothing changes. What is left is the largest set in which every wait has a blocker in the set.
extension WaitGraph {
  /// Describes the cycle that the record's wait leads into, if there is one that has not been described before. The lock is
  /// held.
  @_optimize(size)
  static func search(from start: WaitRecord.Pointer) -> String? {
    Lane.holdHierarchy(true)
    let cycle = findCycle(from: start)
    Lane.holdHierarchy(false)
    if cycle.isEmpty { return nil }
    for link in cycle {
      link.waiter.pointee.isReported = true
      // The waiter sleeps, or is in `watch` (WaitGraph.W1).
      InsightThread.noteBlocker(link.blocker.record.pointee.thread, at: link.waiter.pointee.note)
    }
    return describe(cycle)
  }

  /// Says what `search` has found. Without the lock: standard error may be a pipe that is full.
  @_optimize(size)
  static func tell(_ text: String?) {
    guard let text else { return }
    if Settings.cycles == .trap { Fault.misuse(.waitCycle, text) }
    Fault.report("[" + FaultID.waitCycle.description + "] " + text)
  }

  /// A wait of a cycle, and the next one's thread.
  struct Link {
    let waiter: WaitRecord.Pointer
    let blocker: Blocker
    /// How many there are, if all of them together are what blocks the wait; else 1.
    let alternatives: Int
  }

  @_optimize(size)
  private static func findCycle(from start: WaitRecord.Pointer) -> [Link] {
    let reached = reach(from: start)
    defer { for record in reached { record.pointee.isSuspect = false } }
    // The last ones first: what a chain ends with decides.
    var changes = true
    while changes {
      changes = false
      for record in reached.reversed() where record.pointee.isSuspect && !lasts(record) {
        record.pointee.isSuspect = false
        changes = true
      }
    }
    return start.pointee.isSuspect ? follow(from: start) : []
  }

  /// The records that can be reached, marked as suspects.
  @_optimize(size)
  private static func reach(from start: WaitRecord.Pointer) -> [WaitRecord.Pointer] {
    var reached = [start]
    start.pointee.isSuspect = true
    var index = 0
    while index < reached.count {
      for blocker in blockers(of: reached[index]).all where !blocker.isSuspect {
        blocker.record.pointee.isSuspect = true
        reached.append(blocker.record)
      }
      index += 1
    }
    return reached
  }

  /// Whether a wait lasts for ever if those of all suspects do.
  @_optimize(size)
  private static func lasts(_ record: WaitRecord.Pointer) -> Bool {
    let blockers = blockers(of: record)
    var suspects = 0
    for blocker in blockers.all where blocker.isSuspect { suspects += 1 }
    return blockers.anyEndsIt ? suspects == blockers.all.count && suspects > 0 : suspects > 0
  }

  /// From suspect to suspect, until one comes a second time: the cycle. None if all of it has been told of.
  @_optimize(size)
  private static func follow(from start: WaitRecord.Pointer) -> [Link] {
    var links: [Link] = []
    var waiter = start
    while true {
      if let begin = links.firstIndex(where: { $0.waiter == waiter }) {
        let cycle = Array(links[begin...])
        return cycle.contains { !$0.waiter.pointee.isReported } ? cycle : []
      }
      let blockers = blockers(of: waiter)
      // Nothing has changed, so there is one (WaitGraph.W1), unless a wait ends at this moment.
      guard let blocker = blockers.all.first(where: { $0.isSuspect }) else { return [] }
      links.append(Link(waiter: waiter, blocker: blocker, alternatives: blockers.anyEndsIt ? blockers.all.count : 1))
      waiter = blocker.record
    }
  }
}

extension WaitGraph.Blocker {
  fileprivate var isSuspect: Bool { record.pointee.isSuspect }
}
