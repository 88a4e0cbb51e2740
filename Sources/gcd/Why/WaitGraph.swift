// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Which thread waits for which other thread. Each thread waits for at most one thing, so at most one edge leaves it.
struct WaitGraph: Sendable {
  /// The thread that another one waits for, and how that is known.
  struct Blocker: Sendable, Equatable {
    var tid: Int32
    var evidence: Evidence
  }

  enum Evidence: String, Sendable {
    /// It is inside an item of the queue that is waited for.
    case inside
    /// It holds the queue, or a target of it: the queue's own word says so.
    case owns
    /// It held the queue when the wait began, and has done nothing since but wait.
    case unchanged
    /// It held the queue when the wait began. Whether it still does is not known.
    case heldThen
    /// It owns the lock: the lock's memory says so. Or it is the thread whose end is waited for.
    case lock
    /// The library has found that the wait cannot end before it goes on. Or it runs the body of a once.
    case found
    /// It may run iterations of the `concurrentPerform` that is waited for, and each thread that may do so waits
    /// itself.
    case iterates
    /// It is the main thread, which alone runs what is waited for.
    case main
  }

  let snapshot: Snapshot
  /// By the number of the thread that waits.
  let blockers: [Int32: Blocker]
  /// The threads that wait for a thread, longest first.
  let waiters: [Int32: [Int32]]
  private let threads: [Int32: Snapshot.Thread]

  init(_ snapshot: Snapshot) {
    self.snapshot = snapshot
    threads = snapshot.threadsByNumber
    var holders: [UInt64: [Int32]] = [:]
    for thread in snapshot.threads where thread.insideAddress != 0 {
      holders[thread.insideAddress, default: []].append(thread.tid)
    }
    var blockers: [Int32: Blocker] = [:]
    for thread in snapshot.threads {
      blockers[thread.tid] = Self.blocker(of: thread, snapshot, threads: threads, holders: holders)
    }
    Self.addIterations(snapshot, to: &blockers)
    self.blockers = blockers
    var waiters: [Int32: [Int32]] = [:]
    for (tid, blocker) in blockers { waiters[blocker.tid, default: []].append(tid) }
    let ages = threads
    self.waiters = waiters.mapValues { tids in
      tids.sorted {
        Self.waitingAge(ages[$0]) != Self.waitingAge(ages[$1])
          ? Self.waitingAge(ages[$0]) > Self.waitingAge(ages[$1]) : $0 < $1
      }
    }
  }

  func thread(_ tid: Int32) -> Snapshot.Thread? { threads[tid] }

  /// How long a thread has waited, in one of the library's calls or in the kernel; 0 if it does not, or that is not known.
  func age(_ tid: Int32) -> UInt64 { Self.waitingAge(threads[tid]) }

  static func waitingAge(_ thread: Snapshot.Thread?) -> UInt64 {
    guard let thread else { return 0 }
    switch thread.state {
    case .waiting: return thread.age
    case .asleep: return 0
    case .active: return thread.kernel.map { $0.isRunning ? 0 : $0.age ?? 0 } ?? 0
    }
  }

  private static func blocker(
    of thread: Snapshot.Thread, _ snapshot: Snapshot, threads: [Int32: Snapshot.Thread], holders: [UInt64: [Int32]]
  ) -> Blocker? {
    guard thread.state == .waiting, let wait = thread.wait else {
      guard thread.state == .active, let owner = thread.kernel?.lockOwner, owner != 0 else { return nil }
      return Blocker(tid: owner, evidence: .lock)
    }
    switch wait.kind {
    case .group, .workItem, .once:
      return wait.owner == 0 ? nil : Blocker(tid: wait.owner, evidence: .found)
    default: break
    }
    let owner = wait.owner == thread.tid ? 0 : wait.owner
    if wait.kind == .queue || wait.kind == .itemElsewhere {
      // A queue that is suspended waits for no thread.
      let chain = snapshot.chain(of: wait)
      if chain.contains(where: { $0.suspensions > 0 || $0.isInactive }) { return nil }
      // Where it is inside itself it waits behind a barrier, or for room, and that waits for it to come out.
      if wait.kind == .queue, wait.address != 0, thread.insideAddress == wait.address {
        return Blocker(tid: thread.tid, evidence: .inside)
      }
      // The queue may have gone on since: the thread that is inside it now is the one that is waited for. If the queue is free, it is
      // its turn on a target that is waited for.
      for address in [wait.address] + chain.map(\.address) where address != 0 {
        let inside = (holders[address] ?? []).filter { $0 != thread.tid }
        if let holder = inside.contains(owner) ? owner : inside.first { return Blocker(tid: holder, evidence: .inside) }
      }
    }
    // No other thread runs the main queue, whichever thread held it when the wait began.
    if snapshot.needsMain(thread), let main = snapshot.threads.first(where: { $0.role == .main }),
      main.tid != thread.tid
    {
      return Blocker(tid: main.tid, evidence: .main)
    }
    if wait.kind == .queue, let word = snapshot.object(of: wait)?.word {
      let holder = snapshot.holder(snapshot.chain(of: wait))?.tid ?? 0
      if holder != 0 { return holder == thread.tid ? nil : Blocker(tid: holder, evidence: .owns) }
      // No thread holds it. Readers do, and in a circle the library has named one of them.
      if word.readers == 0 || threads[owner]?.state != .waiting { return nil }
    }
    guard owner != 0 else { return nil }
    let isUnchanged = threads[owner].map { hasDoneNothing($0, since: thread.age, lag: snapshot.lag) } ?? false
    return Blocker(tid: owner, evidence: isUnchanged ? .unchanged : .heldThen)
  }

  /// Whether a thread has done nothing for so long: it waits, or the kernel has not let it run. The kernel's clocks are coarse, and it is
  /// asked later.
  private static func hasDoneNothing(_ thread: Snapshot.Thread, since age: UInt64, lag: UInt64) -> Bool {
    if thread.state == .waiting { return thread.age >= age }
    guard thread.state == .active, let kernel = thread.kernel, !kernel.isRunning, let blocked = kernel.age else {
      return false
    }
    return blocked >= age + lag + coarse
  }

  private static let coarse: UInt64 = 20_000_000

  // MARK: Circles

  /// The circles, each from its longest wait on. A thread that has moved on since is in none: each thread of a circle waits, and
  /// all waits overlap.
  func cycles() -> [[Int32]] {
    var found: [[Int32]] = []
    var seen: Set<Int32> = []
    for start in snapshot.threads.map(\.tid) where !seen.contains(start) {
      var way: [Int32] = []
      var position: [Int32: Int] = [:]
      var next: Int32? = start
      while let tid = next, !seen.contains(tid), position[tid] == nil {
        position[tid] = way.count
        way.append(tid)
        next = blockers[tid]?.tid
      }
      if let tid = next, let first = position[tid] { found.append(turned(Array(way[first...]))) }
      seen.formUnion(way)
    }
    return found.sorted { smallestAge($0) > smallestAge($1) }
  }

  /// The longest wait comes first.
  private func turned(_ circle: [Int32]) -> [Int32] {
    let first = circle.indices.max { (age(circle[$0]), -circle[$0]) < (age(circle[$1]), -circle[$1]) } ?? 0
    return Array(circle[first...] + circle[..<first])
  }

  /// Since when the circle is closed.
  func smallestAge(_ circle: [Int32]) -> UInt64 { circle.map { age($0) }.min() ?? 0 }

  /// All threads that wait for one of these, directly or not; each once, and none of these.
  func allWaiters(of tids: [Int32]) -> [Int32] {
    var found: [Int32] = []
    var seen = Set(tids)
    var open = tids
    while let tid = open.popLast() {
      for waiter in waiters[tid] ?? [] where seen.insert(waiter).inserted {
        found.append(waiter)
        open.append(waiter)
      }
    }
    return found
  }

  /// The last thread on the way from `tid`: it waits for no thread. Nil if the way ends in a circle.
  func root(of tid: Int32) -> Int32? { Self.end(of: tid, blockers) }
}
