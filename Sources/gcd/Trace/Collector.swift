// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc

/// Takes the records out of a region and makes a trace of them. It holds what threads have recorded faster than that can be done,
/// up to a limit.
final class Collector {
  let region: RegionReader
  private let process: TracedProcess
  private let writer: PerfettoWriter
  private let objects: TracedObjects
  private let symbols: Symbols
  private let words: TraceWords
  private var timelines: [Thread: ThreadTimeline] = [:]
  /// How far each chunk has been read.
  private var positions: [Int: (number: UInt64, next: Int)] = [:]
  /// By the threads' entries: many threads may have had one before a look.
  private var losses: [Int: UInt64] = [:]
  /// The records that were lost before the trace began.
  private var formerlyLost: UInt64 = 0
  private var records: [gc_insight_record] = []
  private var pool: PoolCounters
  private let lossTrack: UInt64
  private var lossesWritten: UInt64?
  /// Records from before are left out.
  private var since: UInt64
  /// What was switched on by us.
  private var switched: UInt32
  private var hasBegun = false
  /// The process was told to keep what it records for a tool before there was this one.
  private let wasCollected: Bool
  /// Recording has stood still for a while, as the process did not hear from the tool. What has happened meanwhile is not known.
  private(set) var hasStoodStill = false

  /// How many records have been taken.
  private(set) var taken: UInt64 = 0
  /// How many items were among them.
  var items: UInt64 { ended + timelines.values.reduce(0) { $0 + $1.items } }
  private var ended: UInt64 = 0

  private struct Thread: Hashable {
    let index: Int
    let identifier: pid_t
  }

  struct Pass {
    var records = 0
    var fullChunks = 0
    var backlog = 0
  }

  /// Records of a thread that have been taken.
  private struct Piece {
    let thread: Thread
    let name: String
    let lostBefore: Bool
    let records: [gc_insight_record]
  }

  private var backlog: [Piece] = []
  /// A quarter of a gigabyte, and what is made into events before the chunks are looked at again.
  private static let mostPieces = 4096
  private static let share = 8

  /// `number` tells the regions of a trace apart; `switched` has what was switched on by us before there was a region.
  init(
    _ region: RegionReader, _ writer: PerfettoWriter, number: Int, _ process: TracedProcess, since: UInt64,
    switched: UInt32 = 0
  ) {
    self.switched = switched
    self.region = region
    self.writer = writer
    self.since = since
    self.process = process
    wasCollected = region.switches & UInt32(GC_SWITCH_COLLECT) != 0
    symbols = Symbols(writer, process.code)
    objects = TracedObjects(writer, region, process: process.identifier, name: process.name)
    words = TraceWords(objects, number: number)
    pool = PoolCounters(objects)
    lossTrack = writer.track("lost records", .counter(of: objects.processTrack, unit: .count))
    if since > 0 { forgetLosses() }
  }

  // MARK: Switches

  private static let wanted = UInt32(GC_SWITCH_RECORD | GC_SWITCH_OBJECTS | GC_SWITCH_COLLECT)
  /// Without one of these, what happens is not recorded, or is overwritten before it is read.
  static let needed = UInt32(GC_SWITCH_RECORD | GC_SWITCH_COLLECT)

  /// Begins as `keepRecording` does. False if another tool has begun since the process was looked at: then nothing is changed, as each tool
  /// would get only a part of the records. What a tool that was killed has left on is taken over.
  func beginAlone() -> Bool {
    // A tool gives its first sign of life where it sets the switch.
    let isTaken = region.isCollected || !wasCollected
    region.beat()
    guard let before = region.switchOn(Self.wanted) else { return true }
    if isTaken, before & UInt32(GC_SWITCH_COLLECT) != 0 {
      region.switchOff(Self.wanted & ~before)
      return false
    }
    switched |= Self.wanted & ~before
    hasBegun = true
    return true
  }

  /// Makes the process record, and says that a tool collects. Called repeatedly, because the process stops recording if the
  /// tool is late: then it takes at most `limit` records, those from before.
  func keepRecording(limit: UInt64 = .max) {
    region.beat()
    if hasBegun, region.switches & Self.needed != Self.needed { declareStandstill(limit) }
    hasBegun = true
    guard let before = region.switchOn(Self.wanted) else { return }
    switched |= Self.wanted & ~before
  }

  /// What was recorded before is taken first: each thread then says that something is missing from here on.
  private func declareStandstill(_ limit: UInt64) {
    hasStoodStill = true
    pass(limit: limit)
    convert(.max)
    let now = process.now
    for timeline in timelines.values { timeline.declareLoss(at: now) }
  }

  /// Whether the process has been told to record by others than us.
  var isRecording: Bool { region.switches & UInt32(GC_SWITCH_RECORD) != 0 }

  /// Puts the switches back as they were.
  func stopRecording() {
    region.switchOff(switched)
    switched = 0
  }

  // MARK: Passes

  /// Takes what is new, at most so many records; gives back what is full if it is collected. In the last pass nothing is
  /// recorded any more.
  ///
  /// What is taken is copied first, and made into events when nothing is full: threads that record do not wait.
  @discardableResult
  func pass(limit: UInt64 = .max, releases: Bool = true, isLast: Bool = false) -> Pass {
    objects.begin()
    var pass = Pass()
    let now = process.now
    // A chunk that is begun after this comes in the next pass: then those of its thread from before it are in this one.
    let end = isLast ? .max : region.nextChunk
    var chunks: [RegionChunk] = []
    for index in 0..<region.chunkCount {
      guard let chunk = region.chunk(index, from: .max, records: &records), chunk.number < end else { continue }
      chunks.append(chunk)
    }
    chunks.sort { $0.number < $1.number }
    for chunk in chunks where taken < limit {
      // Chunks that are being written are read when there is nothing else to do.
      if chunk.isFull || backlog.isEmpty || isLast { take(chunk, limit, releases, &pass) }
      if backlog.count >= Self.mostPieces { convert(Self.share) }
    }
    convert(isLast ? .max : Self.share)
    pass.backlog = backlog.count
    finishPass(now)
    return pass
  }

  private func take(_ seen: RegionChunk, _ limit: UInt64, _ releases: Bool, _ pass: inout Pass) {
    let known = positions[seen.index].flatMap { $0.number == seen.number ? $0.next : nil } ?? 0
    guard let chunk = region.chunk(seen.index, from: known, records: &records), chunk.number == seen.number else {
      return
    }
    let thread = Thread(index: chunk.threadIndex, identifier: chunk.thread)
    let count = records.count
    if since > 0 { records.removeAll { $0.time < since } }
    let room = limit - taken
    if UInt64(records.count) > room { records.removeLast(records.count - Int(room)) }
    taken += UInt64(records.count)
    pass.records += count
    // A chunk without a record may still have the head of its last use.
    let lostBefore = chunk.end > 0 && note(chunk.lost, of: chunk.threadIndex)
    if !records.isEmpty || lostBefore {
      backlog.append(Piece(thread: thread, name: chunk.name, lostBefore: lostBefore, records: records))
      // The array is the piece's now.
      records = []
    }
    positions[chunk.index] = (chunk.number, known + count)
    guard chunk.isFull, known + count >= chunk.end else { return }
    pass.fullChunks += 1
    // What has been read stays known: until the chunk has a new number it looks as if it were the old one.
    if releases { _ = region.release(chunk) }
  }

  /// Makes events of some of what has been taken.
  private func convert(_ most: Int) {
    let pieces = backlog.prefix(most)
    for piece in pieces {
      let timeline = timeline(piece.thread, piece.name)
      if piece.lostBefore {
        timeline.declareLoss(at: region.clock.nanoseconds(at: piece.records.first?.time ?? 0))
      }
      timeline.write(piece.records)
    }
    backlog.removeFirst(pieces.count)
  }

  private func timeline(_ thread: Thread, _ name: String) -> ThreadTimeline {
    if let known = timelines[thread] { return known }
    let name = name.isEmpty ? "thread \(thread.identifier)" : name
    let made = ThreadTimeline(objects, symbols, words, thread: thread.identifier, name: name)
    timelines[thread] = made
    return made
  }

  /// Records that are older than so many seconds are left out.
  func leaveOut(before seconds: Double) {
    since = process.counter(ago: seconds, region.clock)
  }

  private func finishPass(_ now: UInt64) {
    let threads = region.threads()
    noteLosses()
    pool.sample(threads, at: now)
    for timeline in timelines.values { timeline.settle(now: now) }
    objects.settle(now: now)
    writeLosses(at: now)
    forget(threads)
    writer.flush(at: now)
  }

  /// Threads that have ended and whose records have all been read.
  private func forget(_ threads: [RegionThread]) {
    guard backlog.isEmpty, timelines.count > threads.count + 64 else { return }
    let living = Set(threads.map { Thread(index: $0.index, identifier: $0.identifier) })
    for (thread, timeline) in timelines where !living.contains(thread) {
      timeline.closeAll(at: 0)
      ended += timeline.items
      timelines[thread] = nil
    }
  }

  // MARK: Losses

  /// Records that had no room.
  var lost: UInt64 { losses.values.reduce(region.lostWithoutEntry, &+) &- formerlyLost }

  /// Records lost before the trace began do not count.
  private func forgetLosses() {
    noteLosses()
    formerlyLost = lost
  }

  private func noteLosses() {
    for (entry, count) in region.lostByThreads().enumerated() { _ = note(count, of: entry) }
  }

  /// Whether threads that have had the entry have lost more than was known.
  private func note(_ count: UInt64, of entry: Int) -> Bool {
    guard count > losses[entry, default: 0] else { return false }
    losses[entry] = count
    return true
  }

  private func writeLosses(at time: UInt64) {
    let lost = lost
    if lost == lossesWritten { return }
    lossesWritten = lost
    writer.write(
      TraceEvent(kind: .counter, time: time, track: lossTrack, value: Double(lost)), objects.sequence)
  }

  // MARK: The end

  /// Writes what has begun and not ended, and the sums.
  func finish() {
    let now = process.now
    for thread in region.threads() {
      let key = Thread(index: thread.index, identifier: thread.identifier)
      guard let timeline = timelines[key] ?? idle(thread, key) else { continue }
      let clock = region.clock
      if thread.itemBegun != 0 {
        timeline.writeUnfinished(
          symbols.name(of: thread.itemFunction), object: objects.object(thread.itemQueue),
          from: clock.nanoseconds(at: thread.itemBegun), to: now)
      }
      if thread.state == .waits {
        timeline.writeUnfinished(
          words.wait(thread.wait, number: thread.number), object: nil, from: clock.nanoseconds(at: thread.since),
          to: now)
      }
    }
    for timeline in timelines.values { timeline.closeAll(at: now) }
    objects.settle(now: now, everything: true)
    writeLosses(at: now)
    writer.flush()
  }

  /// A thread that has recorded nothing all the time, as it waits or runs one item.
  private func idle(_ thread: RegionThread, _ key: Thread) -> ThreadTimeline? {
    guard thread.itemBegun != 0 || thread.state == .waits else { return nil }
    let name = process.threadName(thread.identifier)
    let made = ThreadTimeline(
      objects, symbols, words, thread: thread.identifier, name: name ?? "thread \(thread.identifier)")
    timelines[key] = made
    return made
  }
}

/// How many threads run, sleep and wait, now and then.
struct PoolCounters {
  private let objects: TracedObjects
  private let tracks: [UInt64]
  private var last: [Int] = [-1, -1, -1, -1]
  private var next: UInt64 = 0

  private static let period: UInt64 = 10_000_000

  init(_ objects: TracedObjects) {
    self.objects = objects
    let group = objects.group("Pool", rank: 0)
    tracks = ["workers active", "workers asleep", "threads waiting", "workers"].map {
      objects.writer.track($0, .counter(of: group, unit: .count))
    }
  }

  mutating func sample(_ threads: [RegionThread], at time: UInt64) {
    guard time >= next else { return }
    next = time + Self.period
    var counts = [0, 0, 0, 0]
    for thread in threads {
      if thread.state == .waits { counts[2] += 1 }
      guard thread.role == .worker else { continue }
      counts[3] += 1
      if thread.state == .active { counts[0] += 1 }
      if thread.state == .asleep { counts[1] += 1 }
    }
    for (index, count) in counts.enumerated() where count != last[index] {
      let event = TraceEvent(kind: .counter, time: time, track: tracks[index], value: Double(count))
      objects.writer.write(event, objects.sequence)
    }
    last = counts
  }
}
