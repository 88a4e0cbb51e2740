// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Misuse of a queue, found before anybody waits for ever.
extension DispatchQueue {
  /// Traps if the calling thread would wait for itself: if it holds this lane, for which it is about to wait, or a lane
  /// above it, as an item of which every holder of this one runs. It holds a concurrent lane if it holds all of its places.
  ///
  /// The chain is looked at as it is now. A change of target that runs at this moment could still take the lane away from
  /// what the thread holds; but had it come a little later, the thread would have waited for ever.
  ///
  /// - Parameter caller: the lane that the program has called: this one, or one below it.
  @inline(never)
  final func checkDeadlock(_ me: UInt32, reads: Bool, for caller: DispatchQueue) {
    // relaxed: a thread sees its own ownership.
    let seen = state.load(ordering: .relaxed)
    // Nobody knows what an inactive lane's target will be when it runs its first item.
    if seen.has(LaneState.inactive), seen.owner != me { return }
    if !reads, seen.readers > 0, QueueContext.contains(self) { faultBarrierFromReader() }
    let isOnMain = MainLoop.isHere
    let held: UnsafeMutableRawPointer? = find { lane in
      // relaxed: a thread sees its own ownership, and counts among the readers for as long as it is one.
      let seen = lane.state.load(ordering: .relaxed)
      if seen.owner == me || isOnMain && lane.kind == .main
        || (reads || lane !== self) && lane.isFilledByThisThread(seen)
      {
        return Unmanaged.passUnretained(lane).toOpaque()
      }
      return nil
    }
    // unsafe: what the thread holds stays, and the main queue lives for ever.
    if let held { caller.faultSyncOnto(Unmanaged.fromOpaque(held).takeUnretainedValue()) }
  }

  private final func isFilledByThisThread(_ seen: LaneState) -> Bool {
    kind == .concurrent && isFull(seen) && isFilledByThisThread
  }

  @inline(never)
  private final func faultSyncOntoFilled(_ filled: DispatchQueue) -> Never {
    Fault.misuse(
      .syncWouldDeadlock,
      "DispatchQueue.sync on \"" + name + "\" would deadlock: "
        + (filled === self ? "it" : "its items run as items of \"" + filled.name + "\", which") + " runs "
        + String(filled.readerLimit) + " at once, and the calling thread itself is inside all of them" + chainText()
        + ". Use async, or call the work directly.")
  }

  @inline(never)
  private final func faultSyncOnto(_ held: DispatchQueue) -> Never {
    // relaxed: a thread sees its own ownership.
    if held.kind == .concurrent, held.state.load(ordering: .relaxed).owner != Thread.id { faultSyncOntoFilled(held) }
    var text = "DispatchQueue.sync on \"" + name + "\" would deadlock: "
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
  private final func faultBarrierFromReader() -> Never {
    Fault.misuse(
      .barrierSyncFromReader,
      "a barrier DispatchQueue.sync on \"" + name + "\" would deadlock: the caller is itself an item of it, and the "
        + "barrier waits for all items" + chainText() + ". Use async(flags: .barrier).")
  }

  /// Queues of a chain that a message names.
  private static let namedAtMost = 12

  /// How the calling thread came to hold what it holds, innermost first.
  private final func chainText() -> String {
    var text = ""
    var context = QueueContext.innermost
    var named = 0
    while let current = context, named < Self.namedAtMost {
      var link = current.pointee.queue
      text += text.isEmpty ? " (inside " : ", inside "
      var first = true
      while let raw = link, named < Self.namedAtMost {
        // unsafe: a queue in a context is alive, and so is its chain.
        Unmanaged<DispatchQueue>.fromOpaque(raw)._withUnsafeGuaranteedRef { queue in
          if !first { text += " → " }
          text += "\"" + queue.name + "\""
          link = queue.targetPointer
        }
        first = false
        named += 1
      }
      if link != nil { text += " → …" }
      context = current.pointee.previous?.assumingMemoryBound(to: QueueContext.self)
    }
    return text.isEmpty ? "" : text + ")"
  }

  @inline(never)
  final func faultReleasedWhileSuspended() -> Never {
    Fault.misuse(
      .releasedWhileSuspended,
      "the last reference to queue \"" + name + "\" was released while the queue is suspended: its items could never "
        + "run. Resume it as often as it was suspended before letting it go.")
  }

  @inline(never)
  final func faultReleasedWhileInactive() -> Never {
    Fault.misuse(
      .releasedWhileInactive,
      "the last reference to queue \"" + name + "\" was released before the queue was activated, with items waiting: "
        + "they could never run. Call activate() first.")
  }
}
