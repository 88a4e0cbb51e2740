// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Misuse of a queue, found before anybody waits for ever.
extension DispatchQueue {
  /// Traps if the calling thread would wait for itself.
  @inline(__always)
  final func checkDeadlock(_ me: UInt32, reads: Bool) {
    // relaxed: a thread sees its own ownership.
    let seen = state.load(ordering: .relaxed)
    if seen.owner == me { faultSyncOntoHeld() }
    if kind == .main, MainLoop.isHere { faultSyncOntoHeld() }
    if seen.has(LaneState.mainBound), MainLoop.isHere { faultSyncOntoMainBound() }
    if !reads, seen.readers > 0, Frame.contains(self) { faultBarrierFromReader() }
    if reads, isFull(seen), isFilledByThisThread { faultSyncOntoFilled() }
  }

  @inline(never)
  private final func faultSyncOntoFilled() -> Never {
    Fault.misuse(
      .syncWouldDeadlock,
      "DispatchQueue.sync on \"" + name + "\" would deadlock: it runs " + String(readerLimit)
        + " at once, and the calling thread itself is inside all of them" + chainText()
        + ". Use async, or call the work directly.")
  }

  @inline(never)
  private final func faultSyncOntoHeld() -> Never {
    Fault.misuse(
      .syncWouldDeadlock,
      "DispatchQueue.sync on \"" + name + "\" would deadlock: the calling thread already runs on it" + chainText()
        + ". Use async, or check with dispatchPrecondition(condition: .notOnQueue(queue)).")
  }

  @inline(never)
  private final func faultSyncOntoMainBound() -> Never {
    Fault.misuse(
      .syncWouldDeadlock,
      "DispatchQueue.sync on \"" + name + "\" would deadlock: it targets the main queue, and the caller is the main "
        + "thread, which cannot run the item while it waits. Use async, or call the work directly.")
  }

  @inline(never)
  private final func faultBarrierFromReader() -> Never {
    Fault.misuse(
      .barrierSyncFromReader,
      "a barrier DispatchQueue.sync on \"" + name + "\" would deadlock: the caller is itself an item of it, and the "
        + "barrier waits for all items" + chainText() + ". Use async(flags: .barrier).")
  }

  /// How the calling thread came to hold what it holds, innermost first.
  private final func chainText() -> String {
    var text = ""
    var frame = Frame.innermost
    while let current = frame {
      var link = current.pointee.queue
      text += text.isEmpty ? " (inside " : ", inside "
      var first = true
      while let raw = link {
        // unsafe: a queue in a frame is alive, and so is its chain.
        Unmanaged<DispatchQueue>.fromOpaque(raw)._withUnsafeGuaranteedRef { queue in
          if !first { text += " → " }
          text += "\"" + queue.name + "\""
          link = queue.targetPointer
        }
        first = false
      }
      frame = current.pointee.previous?.assumingMemoryBound(to: Frame.self)
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
