// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A workloop's items sorted by band, oldest first within a band. The owner's alone.
///
/// Items arrive in the lane's list like those of any lane. Before it picks one, the owner moves what has arrived to the
/// buckets: so an urgent item overtakes every less urgent one that has not started.
struct PriorityBuckets: ~Copyable {
  private struct Bucket {
    var first: UnsafeMutableRawPointer?
    var last: UnsafeMutableRawPointer?
  }

  /// The drainer's alone.
  private var buckets: (Bucket, Bucket, Bucket, Bucket, Bucket, Bucket)
  /// The drainer's alone: bands with items.
  private var filled: UInt32 = 0

  init() {
    buckets = (Bucket(), Bucket(), Bucket(), Bucket(), Bucket(), Bucket())
  }

  mutating func first(from items: borrowing MPSCList) -> Job? {
    while let raw = items.head() {
      _ = items.pop(raw)
      put(Job(raw: raw))
    }
    guard filled != 0 else { return nil }
    return self[filled.trailingZeroBitCount].first.map { Job(raw: $0) }
  }

  /// Takes the item that `first` has shown. It is still the first one, because only the owner moves items to the buckets.
  mutating func take() {
    let rank = filled.trailingZeroBitCount
    guard let raw = self[rank].first else { return }
    // relaxed: the owner's own list.
    let next = Self.link(raw).pointee.load(ordering: .relaxed)
    self[rank].first = next
    if next == nil { filled &= ~(1 << UInt32(rank)) }
  }

  /// The first job of a band. Any thread, while the owner sleeps.
  func first(ofRank rank: Int) -> Job? { self[rank].first.map { Job(raw: $0) } }

  private mutating func put(_ job: Job) {
    let rank = Int(job.band.rank)
    // relaxed: the owner's own list.
    Self.link(job.raw).pointee.store(nil, ordering: .relaxed)
    if filled & job.band.bit == 0 {
      filled |= job.band.bit
      self[rank].first = job.raw
    } else {
      Self.link(self[rank].last!).pointee.store(job.raw, ordering: .relaxed)
    }
    self[rank].last = job.raw
  }

  private subscript(rank: Int) -> Bucket {
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

  @inline(__always)
  static func link(_ raw: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>> {
    // unsafe: the first word of every job and waiter is its link.
    raw.assumingMemoryBound(to: Atomic<UnsafeMutableRawPointer?>.self)
  }
}
