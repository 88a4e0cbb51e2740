// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Misuse of a queue, found before a thread waits for ever.
extension Lane {
  /// Traps if the calling thread would wait for itself. It would if it holds this lane, for which it is about to wait. It also
  /// would if it holds a lane above, because every holder of this lane runs as an item of the lane above. It holds a
  /// concurrent lane if it holds all of its places.
  ///
  /// The chain is looked at as it is now. A change of target that runs at this moment could still take the lane away from what
  /// the thread holds; but if the change came a little later, the thread would wait for ever.
  ///
  /// - Parameter caller: the lane that the program has called: this one, or one below it.
  @inline(never)
  final func checkDeadlock(_ me: UInt32, reads: Bool, for caller: Lane) {
    // relaxed: a thread sees its own ownership.
    let seen = state.load(ordering: .relaxed)
    // It is not known what an inactive lane's target will be when the lane runs its first item.
    if seen.has(LaneState.inactive), seen.owner != me { return }
    if !reads, seen.readers > 0, QueueContext.contains(self) { faultBarrierFromReader() }
    let held: Borrowed<Lane>? = find { lane in
      // relaxed: a thread sees its own ownership, and counts among the readers for as long as it is one.
      let seen = lane.state.load(ordering: .relaxed)
      if seen.owner == me || lane.kind.isMain && lane.isOnMainThread
        || (reads || lane !== self) && lane.isFilledByThisThread(seen)
      {
        return lane.reference
      }
      return nil
    }
    // unsafe: what the thread holds stays, and the main queue lives for ever.
    if let held { caller.faultSyncOnto(held.object) }
  }

  private final func isFilledByThisThread(_ seen: LaneState) -> Bool {
    kind.hasReaders && isFull(seen) && isFilledByThisThread
  }

  @inline(never)
  @_optimize(size)
  private final func faultSyncOntoFilled(_ filled: Lane) -> Never {
    Fault.misuse(
      .syncWouldDeadlock,
      waitText + (filled === self ? "it" : "its items run as items of \"" + filled.name + "\", which") + " runs "
        + String(filled.readerLimit) + " at once, and the calling thread itself is inside all of them" + chainText()
        + ". Use async, or call the work directly.")
  }

  @inline(never)
  @_optimize(size)
  private final func faultSyncOnto(_ held: Lane) -> Never {
    // relaxed: a thread sees its own ownership.
    if held.kind.hasReaders, held.state.load(ordering: .relaxed).owner != Thread.id { faultSyncOntoFilled(held) }
    var text = waitText
    if held !== self { text += "its items run as items of \"" + held.name + "\", and " }
    // relaxed: a thread sees its own ownership.
    if held.state.load(ordering: .relaxed).owner == Thread.id {
      text += "the calling thread already runs on " + (held === self ? "it" : "that queue") + chainText()
    } else {
      text += "the calling thread is the main thread, which cannot run the item while it waits"
    }
    Fault.misuse(
      .syncWouldDeadlock,
      text + ". Use async, or check with dispatchPrecondition(condition: .notOnQueue(queue)).")
  }

  @inline(never)
  @_optimize(size)
  private final func faultBarrierFromReader() -> Never {
    Fault.misuse(
      .barrierSyncFromReader,
      "a barrier that a call waits for on \"" + name + "\" would deadlock: the caller is itself an item of it, and the "
        + "barrier waits for all items" + chainText() + ". Use async(flags: .barrier).")
  }

  /// The calls that wait come here alike. The backtrace says which it is.
  private final var waitText: String {
    "to wait for an item of \"" + name + "\" (sync, asyncAndWait, apply) would deadlock: "
  }

  /// Queues of a chain that a message names.
  private static let namedAtMost = 12

  /// How the calling thread came to hold what it holds, innermost first.
  @_optimize(size)
  private final func chainText() -> String {
    var text = ""
    var named = 0
    _ = QueueContext.contains { context in
      if named >= Lane.namedAtMost { return true }
      text += text.isEmpty ? " (inside " : ", inside "
      var isFirst = true
      let isLong = context.lane?.use { lane in
        lane.chainContains { lane in
          if named >= Lane.namedAtMost { return true }
          text += (isFirst ? "\"" : " → \"") + lane.name + "\""
          isFirst = false
          named += 1
          return false
        }
      }
      if isLong == true { text += " → …" }
      return false
    }
    return text.isEmpty ? "" : text + ")"
  }

  /// The last reference is gone, and the lane is suspended, inactive, or held. In a child a thread that the parent alone has may hold it
  /// for ever: that is no misuse.
  @inline(never)
  @_optimize(size)
  final func checkRelease(_ last: LaneState) {
    if last.has(LaneState.suspended) {
      faultReleased(
        .releasedWhileSuspended,
        " while the queue is suspended: its items could never run. Resume it as often as it was suspended before letting it go."
      )
    }
    if last.has(LaneState.inactive), !items.tailIsNil {
      faultReleased(
        .releasedWhileInactive,
        " before the queue was activated, with items waiting: they could never run. Call activate() first.")
    }
    if QueueContext.contains(where: { $0.lane == reference }) {
      faultReleased(.releasedWhileHeld, " inside a synchronous item of it. Keep one until the call has returned.")
    }
  }

  @_optimize(size)
  private final func faultReleased(_ id: FaultID, _ text: StaticString) -> Never {
    Fault.misuse(id, "the last reference to queue \"" + name + "\" was released" + text.description)
  }
}
