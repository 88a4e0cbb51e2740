// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// Makes events of records.
struct TopDecoder {
  /// What each thread is inside of by `sync`.
  private var open: [Int32: [(queue: Int, begin: UInt64)]] = [:]
  /// Only a damaged region nests deeper.
  private static let deepest = 1 << 10
  /// The place of the region among the process's regions.
  private let region: Int

  init(region: Int = 0) { self.region = region }

  mutating func event(_ record: gc_insight_record, thread: Int32, clock: RegionClock) -> TopRatesCounter.Event? {
    let kind = UInt32(record.kind & 0x7f)
    let queue = Snapshot.number(record.queue, region: region)
    let job = Snapshot.number(record.argument, region: region)
    switch kind {
    case UInt32(GC_RECORD_ITEM):
      let steps = UInt64(record.length) << (UInt32(record.kind) & UInt32(GC_RECORD_COARSE) != 0 ? 10 : 0)
      let begin = record.time &- min(steps, record.time)
      return .item(
        queue: queue, job: job, begin: clock.nanoseconds(at: begin), end: clock.nanoseconds(at: record.time))
    case UInt32(GC_RECORD_SUBMIT):
      return .submit(queue: queue, job: job, time: clock.nanoseconds(at: record.time))
    case UInt32(GC_RECORD_SYNC_BEGIN):
      if open[thread, default: []].count < Self.deepest {
        open[thread, default: []].append((queue, clock.nanoseconds(at: record.time)))
      }
      return nil
    case UInt32(GC_RECORD_SYNC_END):
      guard let begun = open[thread]?.popLast() else { return nil }
      return .item(queue: begun.queue, job: 0, begin: begun.begin, end: clock.nanoseconds(at: record.time))
    case UInt32(GC_RECORD_TIMER): return .timer(queue: queue, late: record.word)
    case UInt32(GC_RECORD_SOURCE): return .source(queue: queue)
    default: return nil
    }
  }
}

/// Switches a process's recording on, and takes its records away while it shows them.
final class TopCollector {
  private let regions: [RegionReader]
  /// What was switched on here.
  private var switched: [UInt32] = []
  /// What is to be on.
  private let wanted: UInt32
  /// No other tool takes the records, so that full chunks are given back.
  private var takes = false
  private var decoders: [TopDecoder]
  /// For each chunk of each region: which use of it was read last, and how far.
  private var positions: [[Int: (number: UInt64, end: Int, isFull: Bool)]]
  private var histories: [TopHistory]
  private var losses: [TopLosses]
  private var counter = TopRatesCounter()
  private var lastTake: UInt64
  /// When the last collection began.
  private var lastCollection: UInt64
  private var lostBefore: UInt64

  /// Nil if the process cannot be made to record: its region is not ours to change, or another tool collects.
  init?(_ process: Int32) {
    guard let regions = try? RegionFinder.regions(of: process, writable: true) else { return nil }
    for region in regions { region.dropLeftovers(of: process) }
    let collect = UInt32(GC_SWITCH_COLLECT)
    if regions.contains(where: { $0.switches & collect != 0 }) { return nil }
    self.regions = regions
    decoders = regions.indices.map { TopDecoder(region: $0) }
    positions = regions.map { _ in [:] }
    histories = regions.map { _ in TopHistory() }
    losses = regions.map { TopLosses($0) }
    let now = RegionClock.now().uptime
    (lastTake, lastCollection) = (now, now)
    lostBefore = 0
    let record = UInt32(GC_SWITCH_RECORD)
    // A flight recorder keeps its newest chunks: they are read and left to it.
    takes = !regions.contains { $0.switches & record != 0 }
    wanted = UInt32(GC_SWITCH_OBJECTS) | (takes ? record | collect : 0)
    for region in regions {
      region.beat()
      let former = region.switchOn(wanted)
      switched.append(wanted & ~(former ?? wanted))
      // Another tool has begun since the look above. Of two, the second one finds the switch on.
      if takes, let former, former & collect != 0 {
        end()
        return nil
      }
    }
    lostBefore = lost
    // Older records do not count.
    for index in regions.indices { read(index, counts: false) }
  }

  /// Switches off what was switched on here.
  func end() {
    for (region, bits) in zip(regions, switched) { region.switchOff(bits) }
    switched = []
  }

  /// What there is of the last seconds, as it is now.
  func kept() throws(RegionFailure) -> TopKept {
    collect()
    var images: [RegionReader] = []
    for (region, history) in zip(regions, histories) { images.append(try history.image(region)) }
    return TopKept(images: images, isCut: histories.contains { $0.isCut })
  }

  private var lost: UInt64 {
    regions.reduce(0) { $0 &+ $1.lostWithoutEntry &+ $1.lostByThreads().reduce(0, &+) }
  }

  /// Reads what there is; often enough that no thread runs out of room.
  func collect() {
    let begun = RegionClock.now().uptime
    for index in regions.indices {
      regions[index].beat()
      // The process switches off what a tool has asked for that gives no sign of life for some seconds, as on a machine
      // that is very busy.
      let missing = wanted & ~regions[index].switches
      if missing != 0 { _ = regions[index].switchOn(wanted) }
      if missing & Collector.needed != 0 {
        counter.addStandstill(from: lastCollection, to: RegionClock.now().uptime)
      }
      read(index, counts: true)
    }
    lastCollection = begun
    counter.shrink()
  }

  /// The rates since the last call.
  func take(running: [TopRatesCounter.Running]) -> TopRates {
    // Before the records are read: what is submitted meanwhile may have begun where has been read already.
    let now = RegionClock.now().uptime
    collect()
    let lostNow = lost
    let rates = counter.take(
      length: now &- lastTake, lost: lostNow &- min(lostBefore, lostNow), moment: now,
      running: running)
    (lastTake, lostBefore) = (now, lostNow)
    return rates
  }

  /// In the order in which the chunks were begun, so that what a thread begins comes before what it ends.
  private func read(_ index: Int, counts: Bool) {
    let region = regions[index]
    var found: [(chunk: RegionChunk, records: [gc_insight_record])] = []
    var full: [SavedChunk] = []
    for number in 0..<region.chunkCount {
      var records: [gc_insight_record] = []
      let known = positions[index][number]
      guard let chunk = region.chunk(number, records: &records, known: known) else { continue }
      positions[index][number] = (chunk.number, chunk.end, chunk.isFull)
      // Once: a full chunk is given back, or stays as it is until it is begun anew.
      if chunk.isFull, known?.number != chunk.number || known?.isFull != true, let saved = region.saved(number) {
        full.append(saved)
      }
      if !records.isEmpty || chunk.isFull { found.append((chunk, records)) }
    }
    for chunk in full.sorted(by: { $0.number < $1.number }) { histories[index].add(chunk) }
    for (chunk, records) in found.sorted(by: { $0.chunk.number < $1.chunk.number }) {
      if counts {
        for record in records {
          if let event = decoders[index].event(record, thread: chunk.thread, clock: region.clock) { counter.add(event) }
        }
      }
      losses[index].see(chunk, upTo: records.last?.time, region.clock) { counter.addGap(from: $0, to: $1) }
      if takes, chunk.isFull { _ = region.release(chunk) }
    }
    losses[index].look(region) { counter.addGap(from: $0, to: $1) }
  }
}

extension RegionReader {
  /// What a chunk holds that has not been read: all of it, if it has been begun anew since.
  fileprivate func chunk(
    _ index: Int, records: inout [gc_insight_record], known: (number: UInt64, end: Int, isFull: Bool)?
  ) -> RegionChunk? {
    guard let known else { return chunk(index, from: 0, records: &records) }
    guard let chunk = chunk(index, from: known.end, records: &records) else { return nil }
    return chunk.number == known.number ? chunk : self.chunk(index, from: 0, records: &records)
  }
}
