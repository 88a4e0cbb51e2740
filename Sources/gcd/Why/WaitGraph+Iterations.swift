// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// The caller of a `concurrentPerform` that waits has no iteration left to begin: it waits for the helpers that run the
// last ones. The library does not list helpers. But a helper is a worker that is awake, or the main thread in its loop.
// If all of these wait, directly or not, for such callers, then none of the calls ends: each needs one of the threads
// to go on first.
//
// Any other thread that is awake may be the helper, so with one of them nothing is said.
extension WaitGraph {
  /// Adds, for each caller that waits for ever, a thread that may be its helper.
  static func addIterations(_ snapshot: Snapshot, to blockers: inout [Int32: Blocker]) {
    let isCaller = { (thread: Snapshot.Thread) in thread.state == .waiting && thread.wait?.kind == .apply }
    let awake = snapshot.threads.filter { $0.state != .asleep && ($0.role == .worker || $0.runsMainQueue) }
    // A helper is usually inside no queue.
    let helpers = awake.filter { !isInside($0) } + awake.filter(isInside)
    var callers = Set(snapshot.threads.filter(isCaller).map(\.tid))
    guard !callers.isEmpty, showsAllWorkers(snapshot) else { return }
    let ends = helpers.map { (helper: $0.tid, end: end(of: $0.tid, blockers)) }
    var size = 0
    repeat {
      size = callers.count
      callers = callers.filter { caller in
        let others = ends.filter { $0.helper != caller }
        return !others.isEmpty && others.allSatisfy { $0.end.map { callers.contains($0) } ?? true }
      }
    } while callers.count < size
    for caller in callers {
      let others = ends.filter { $0.helper != caller }
      guard let helper = others.first(where: { $0.end == caller }) ?? others.first else { continue }
      blockers[caller] = Blocker(tid: helper.helper, evidence: .iterates)
    }
  }

  private static func isInside(_ thread: Snapshot.Thread) -> Bool {
    thread.insideAddress != 0 || !thread.insideLabel.isEmpty
  }

  /// Whether no worker is missing.
  private static func showsAllWorkers(_ snapshot: Snapshot) -> Bool {
    snapshot.torn == 0 && snapshot.leftOut == 0
      && Set(snapshot.workersWithoutEntry).isSubset(of: Set(snapshot.threads.map(\.tid)))
  }

  /// The last thread on the way from `tid`: it waits for no thread. Nil if the way ends in a circle.
  static func end(of tid: Int32, _ blockers: [Int32: Blocker]) -> Int32? {
    var seen: Set<Int32> = []
    var current = tid
    while let next = blockers[current]?.tid {
      guard seen.insert(current).inserted else { return nil }
      current = next
    }
    return current
  }
}
