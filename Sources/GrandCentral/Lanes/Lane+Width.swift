// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// How many items of a concurrent lane run at once. What a limit means for the state is invariant Lane.L7.
extension Lane {
  /// Whether the queue has a limit of its own.
  @inline(__always)
  final var isLimited: Bool {
    // relaxed: as in `isFull`.
    width.load(ordering: .relaxed) != .max
  }

  /// How many readers there may be: the queue's limit, or what the state word can count.
  @inline(__always)
  final var readerLimit: Int {
    // relaxed: as in `isFull`.
    let width = width.load(ordering: .relaxed)
    return width == .max ? Int(LaneState.ownerMask) - 1 : Int(width)
  }

  /// Whether the calling thread holds so many places of this queue that none is left for another thread. It holds a place for
  /// each item of this queue that it is inside, and for each `sync` that holds this queue as its target.
  final var isFilledByThisThread: Bool {
    var places = 0
    _ = QueueContext.contains { context in
      switch context.hold {
      case .chain, .chainReader: if context.isInside(self) { places += 1 }
      case .alone, .reader, .nothing: if context.lane == reference { places += 1 }
      case .global: break
      }
      return false
    }
    return places >= readerLimit
  }

  /// Changes the limit, in order with the queue's items.
  final func setWidth(_ width: Int) {
    let value = UInt16(clamping: width)
    let me = Thread.id
    // relaxed: an inactive queue is set up by one thread.
    if state.load(ordering: .relaxed).has(LaneState.inactive) {
      self.width.store(value, ordering: .relaxed)
    } else if items.tailIsNil, state.attempt({ $0.acquire(me) ? true : nil }) != nil {
      // relaxed: nothing runs, and no other thread owns the lane; giving it up publishes the width.
      self.width.store(value, ordering: .relaxed)
      releaseOwnership()
    } else {
      let job = Job(invoke: Lane.widen, flags: .barrier, band: .normal, owner: reference.word)
      job.number = UInt(value)
      pushSlow(job)
    }
  }

  private static let widen: Job.Invoke = { raw in
    let job = Job(raw: raw)
    // unsafe: the lane is being drained, so it is alive.
    let lane = Borrowed<Lane>(word: job.owner!)
    let value = UInt16(job.number)
    job.recycle()
    // relaxed: as in `setWidth`.
    lane.use { $0.width.store(value, ordering: .relaxed) }
  }
}
