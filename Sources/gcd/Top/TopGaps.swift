// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Times in which records were lost.
struct TopGaps: Sendable {
  /// In any order until `settle`; then the earliest first, and apart from each other.
  private var gaps: [(begin: UInt64, end: UInt64)] = []

  mutating func add(from begin: UInt64, to end: UInt64) {
    if begin <= end { gaps.append((begin, end)) }
  }

  /// To be called after the last `add` and before `touch`.
  mutating func settle() {
    gaps.sort { $0.begin < $1.begin }
    var settled: [(begin: UInt64, end: UInt64)] = []
    for gap in gaps {
      if let last = settled.last, gap.begin <= last.end {
        settled[settled.count - 1].end = max(last.end, gap.end)
      } else {
        settled.append(gap)
      }
    }
    gaps = settled
  }

  /// Whether records were lost at any moment of that time.
  func touch(_ begin: UInt64, _ end: UInt64) -> Bool {
    // The first gap that has not ended before.
    var (low, high) = (0, gaps.count)
    while low < high {
      let middle = (low + high) / 2
      if gaps[middle].end < begin { low = middle + 1 } else { high = middle }
    }
    return low < gaps.count && gaps[low].begin <= end
  }
}

/// Finds out when the threads of a region have lost records.
struct TopLosses {
  /// By the thread's entry: what it had lost at a moment up to which all that it has lost is known.
  private var known: [Int: (lost: UInt64, moment: UInt64)] = [:]
  private var withoutEntry: UInt64
  private var lastLook: UInt64

  init(_ region: RegionReader, at moment: UInt64 = RegionClock.now().uptime) {
    lastLook = moment
    withoutEntry = region.lostWithoutEntry
    for (entry, lost) in region.lostByThreads().enumerated() { known[entry] = (lost, lastLook) }
  }

  /// A chunk was read up to a record of this time, nil if there is no new one. If its thread had lost more when it began the chunk than
  /// was known, it has lost that between its last record and the chunk.
  mutating func see(_ chunk: RegionChunk, upTo last: UInt64?, _ clock: RegionClock, _ gap: (UInt64, UInt64) -> Void) {
    let begun = clock.nanoseconds(at: chunk.counter)
    let before = known[chunk.threadIndex] ?? (0, lastLook)
    if chunk.lost > before.lost { gap(before.moment, max(begun, before.moment)) }
    let moment = max(last.map { clock.nanoseconds(at: $0) } ?? begun, before.moment)
    known[chunk.threadIndex] = (max(chunk.lost, before.lost), moment)
  }

  /// The chunks have been read: what has been lost besides has no chunk behind it yet.
  mutating func look(_ region: RegionReader, _ gap: (UInt64, UInt64) -> Void) {
    let (lost, others) = (region.lostByThreads(), region.lostWithoutEntry)
    let now = RegionClock.now().uptime
    for (entry, lost) in lost.enumerated() {
      let before = known[entry] ?? (0, lastLook)
      if lost > before.lost {
        gap(min(before.moment, now), now)
        known[entry] = (lost, now)
      }
    }
    if others > withoutEntry { gap(lastLook, now) }
    (withoutEntry, lastLook) = (others, now)
  }
}
