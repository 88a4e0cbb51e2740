// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// Looks for a job in the lists of lanes from which no thread can take anything: their owner sleeps, or a barrier waits for a
// reader that sleeps. The graph's lock and the hierarchy's are held. Others may push meanwhile, behind what is looked at.
//
// If a lane is enqueued, and its activation lies in such a list, its own list stays as it is as well: the lane has no owner
// before the activation arrives. An activation through a former target may come, but it only passes the lane on.

/// A search for the jobs that belong to a group, a work item, a call or a lane.
struct JobSearch {
  /// What a job has as its `owner` or `extra`. A live object's address is no other object's.
  private let wanted: Job.Word
  /// The lane that has the job in its list: the one that was looked at, or one on its way through it.
  private(set) var place: Lane?
  /// Nodes that may yet be looked at. A search that ends too early has found nothing: then one cycle more goes unreported.
  private var left = 4_096
  private static let deepest = 8
  /// A full lane that has no such job: other records' threads read it as well.
  private var refused: Lane?

  init(_ wanted: Job.Word) { self.wanted = wanted }

  /// Whether a job lies in the list of `lane`, which stands still.
  @_optimize(size)
  static func finds(_ wanted: Job.Word, in lane: Lane) -> Bool {
    var search = JobSearch(wanted)
    return search.finds(in: lane, from: lane.items.head(), depth: 0)
  }

  /// A lane that has such a job in its list, and from which no thread takes anything before the record's thread goes on; or, if it is to be
  /// full, before any of its readers does, all of which have records.
  @inline(never)
  @_optimize(size)
  mutating func lane(heldBy record: WaitRecord.Pointer, isFull: Bool = false) -> Lane? {
    var found: Lane?
    record.pointee.forEachLane { lane in
      if found != nil || lane.kind.isRunQueue || lane === refused { return }
      if isFull ? WaitGraph.isFullOfSleepers(lane) : Self.keeps(record, lane),
        finds(in: lane, from: record.pointee.oldestItem(of: lane), depth: 0)
      {
        found = lane
      } else if isFull {
        refused = lane
      }
    }
    return found
  }

  /// Whether no thread takes anything off the lane's list before the record's thread goes on.
  @inline(never)
  @_optimize(size)
  private static func keeps(_ record: WaitRecord.Pointer, _ lane: Lane) -> Bool {
    // pairs with: the transitions of LaneState – publishes the list
    let seen = lane.state.load(ordering: .acquiring)
    if seen.isOwned { return seen.owner == record.pointee.thread && seen.readers == 0 }
    if lane.kind.isMain { return record.pointee.isMain }
    return seen.rawValue & (LaneState.readersPending | LaneState.enqueued) == LaneState.barrierPending
      && record.pointee.places(in: lane) > 0
  }

  /// - Parameter oldest: the lane's oldest item.
  @inline(never)
  @_optimize(size)
  private mutating func finds(in lane: Lane, from oldest: Job.Word?, depth: Int) -> Bool {
    var node = oldest
    while let raw = node, left > 0 {
      left -= 1
      if matches(Job(raw: raw), in: lane, depth: depth) { return true }
      node = lane.items.next(behind: raw)
    }
    return lane.buckets.map { finds(in: $0, of: lane, depth: depth) } ?? false
  }

  @_optimize(size)
  private mutating func finds(
    in buckets: UnsafeMutablePointer<PriorityBuckets>, of lane: Lane, depth: Int
  ) -> Bool {
    var search = self
    let found = buckets.pointee.contains(where: { job in
      search.left -= 1
      return search.left > 0 && search.matches(job, in: lane, depth: depth)
    })
    self = search
    return found
  }

  @_optimize(size)
  private mutating func matches(_ job: Job, in lane: Lane, depth: Int) -> Bool {
    // A waiting thread's node is shorter than a job.
    if job.flags.contains(.waiter) { return false }
    if job.extra == wanted || job.owner == wanted {
      place = lane
      return true
    }
    guard depth < Self.deepest, let owner = job.owner else { return false }
    let runner = Lane.runner(of: job)
    if runner == Lane.address(Lane.redirectedInWrapper), let inner = job.extra {
      return matches(Job(raw: inner), in: lane, depth: depth + 1)
    }
    guard runner == Lane.address(Lane.activation) else { return false }
    // unsafe: an activation keeps its lane alive.
    return Borrowed<Lane>(word: owner).use { inner in
      // pairs with: the transitions of LaneState – publishes the list
      let seen = inner.state.load(ordering: .acquiring)
      let waits = seen.has(LaneState.enqueued) && !seen.isOwned
      guard waits, inner.targetWord.lane == lane.reference else { return false }
      return finds(in: inner, from: inner.items.head(), depth: depth + 1)
    }
  }
}
