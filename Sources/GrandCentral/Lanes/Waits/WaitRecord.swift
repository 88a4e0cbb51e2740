// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// What a thread waits for. Nothing is retained: the call that waits keeps it alive.
enum Wait {
  /// For its turn on a lane; `below` is the lane that the program has called. All lanes from that one up to this one,
  /// which is not among them, are held.
  case turn(on: Borrowed<Lane>, reads: Bool, below: Borrowed<Lane>)
  /// For its item of a lane, which another thread runs. The item's job has this call as its `extra`.
  case call(on: Borrowed<Lane>, reads: Bool, Job.Word)
  /// For something that is no lane.
  case object(Awaited)

  /// Whether the waiting thread holds lanes that are in none of its contexts yet.
  @inline(__always)
  var holdsLanes: Bool {
    if case .turn(let lane, _, let below) = self { return lane != below }
    return false
  }
}

/// The wait of a holder, on its own stack. Constant while it is in the list, except for the fields that say otherwise.
struct WaitRecord {
  typealias Pointer = UnsafeMutablePointer<WaitRecord>

  let wait: Wait
  /// Nil for a once.
  private let token: Parker.Sight?
  let thread: UInt32
  /// Whether it is the thread that runs the main queue's items.
  let isMain: Bool
  /// The group that the item which the thread runs will leave.
  let group: UInt
  private let contexts: QueueContext.Pointer?
  /// Where the wait was called.
  let trace: [UInt]
  /// Where the thread has noted its wait for others: its `InsightThread.currentAddress`. A pointer in a type of its own would
  /// need metadata.
  let note: UInt

  /// Guarded by the graph's lock.
  var next: Pointer?
  /// Guarded by the graph's lock.
  var previous: Pointer?
  /// Guarded by the graph's lock: told of as a part of a cycle.
  var isReported = false
  /// Guarded by the graph's lock, a walk's own: whether it has come by, and cannot rule out that the wait lasts for ever.
  var isSuspect = false

  init(_ wait: Wait, _ token: Parker.Sight?) {
    self.wait = wait
    self.token = token
    thread = Thread.id
    isMain = Thread.runsMainQueue
    let record = gc_thread_self()
    group = record.pointee.group
    contexts = QueueContext.innermost
    trace = CallSite.trace(limit: 40)
    note = InsightThread.currentAddress
  }

  /// Whether the wait is over, though its thread may not have woken up (WaitGraph.W2).
  var hasToken: Bool { token?.hasToken ?? false }

  // MARK: What the thread holds

  /// Calls `body` with each lane that the thread may hold as an owner or a reader.
  @_optimize(size)
  func forEachLane(_ body: (Lane) -> Void) {
    forEachHeldBelow(body)
    var context = contexts
    while let current = context {
      // unsafe: what the thread is inside of is alive (WaitGraph.W1).
      current.pointee.lane?.use(body)
      current.pointee.targets.forEach { $0.use(body) }
      context = current.pointee.outer
    }
    if isMain { WaitGraph.main?.use(body) }
  }

  /// The oldest item of a lane that the thread holds: its drainer may keep it to itself.
  @inline(never)
  @_optimize(size)
  func oldestItem(of lane: Lane) -> Job.Word? {
    var oldest: Job.Word?
    _ = QueueContext.contains(from: contexts) { context in
      if context.lane == lane.reference { oldest = context.oldest }
      return oldest != nil
    }
    return oldest ?? lane.items.head()
  }

  /// How many places the thread has among the readers of `lane`, which has no owner.
  @inline(never)
  @_optimize(size)
  func places(in lane: Lane) -> Int {
    var count = 0
    forEachHeldBelow { if $0 === lane { count += 1 } }
    var context = contexts
    while let current = context {
      if current.pointee.lane == lane.reference { count += 1 }
      count += current.pointee.targets.count(of: lane)
      context = current.pointee.outer
    }
    return count
  }

  @inline(never)
  @_optimize(size)
  private func forEachHeldBelow(_ body: (Lane) -> Void) {
    guard case .turn(let lane, _, let below) = wait else { return }
    var link = below
    while link != lane {
      // unsafe: the lanes are held, and targets stand still (WaitGraph.W4).
      let target = link.use { held in
        body(held)
        return held.targetWord.lane
      }
      guard let target else { return }
      link = target
    }
  }
}
