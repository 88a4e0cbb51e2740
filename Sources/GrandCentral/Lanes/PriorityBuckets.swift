// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A workloop's items sorted by band, oldest first within a band. The owner's alone.
///
/// Items arrive in the lane's list like those of any lane. Before it picks one, the owner moves what has arrived until then to the
/// buckets: so an urgent item overtakes every less urgent one that has not started.
struct PriorityBuckets: ~Copyable {
  /// The drainer's alone.
  private var buckets: (JobList, JobList, JobList, JobList, JobList, JobList)
  /// The drainer's alone: bands with items.
  private var filled: UInt32 = 0

  init() {
    buckets = (JobList(), JobList(), JobList(), JobList(), JobList(), JobList())
  }

  mutating func first(from items: borrowing MPSCList) -> Job? {
    // What arrives meanwhile is for the next look: submitters may be faster than this, and then there is no end of it.
    let newest = items.newestNode
    while newest != nil, let raw = items.head() {
      _ = items.pop(raw)
      put(Job(raw: raw))
      if raw == newest { break }
    }
    guard filled != 0 else { return nil }
    return self[filled.trailingZeroBitCount].first
  }

  /// Takes the item that `first` has shown. It is still the first one, because only the owner moves items to the buckets.
  mutating func take() {
    let rank = filled.trailingZeroBitCount
    _ = self[rank].popFirst()
    if self[rank].isEmpty { filled &= ~(1 << UInt32(rank)) }
  }

  /// The first job of a band. Any thread, while the owner sleeps.
  func first(ofRank rank: Int) -> Job? { self[rank].first }

  private mutating func put(_ job: Job) {
    filled |= job.band.bit
    self[Int(job.band.rank)].append(job)
  }

  private subscript(rank: Int) -> JobList {
    get {
      switch rank {
      case 0: buckets.0
      case 1: buckets.1
      case 2: buckets.2
      case 3: buckets.3
      case 4: buckets.4
      default: buckets.5
      }
    }
    set {
      switch rank {
      case 0: buckets.0 = newValue
      case 1: buckets.1 = newValue
      case 2: buckets.2 = newValue
      case 3: buckets.3 = newValue
      case 4: buckets.4 = newValue
      default: buckets.5 = newValue
      }
    }
  }
}
