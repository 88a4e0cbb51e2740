// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc

/// What a thread has done, made into slices.
///
/// Items lie on the tracks of their queues, each a slice. The thread's own track says which queue it served and when it slept:
/// items of a queue that follow one another are one slice there. Waits lie below it.
///
/// A record is written when it is over, so a slice begins before what has been written already. Within a batch the begins are put
/// where they belong; begins of longer slices come late, which the format allows.
final class ThreadTimeline {
  let objects: TracedObjects
  let symbols: Symbols
  let thread: pid_t
  let track: UInt64
  let sequence: TraceSequence
  var writer: PerfettoWriter { objects.writer }
  private let words: TraceWords
  private var points: [Point] = []
  /// By the number of the name: one object after the other may have it.
  private var lanes: [UInt32: Lanes] = [:]
  private var long = Lanes()
  private var waits = Lanes()
  private var intervals = Lanes()
  private var open: [OpenSync] = []
  /// The program's own intervals that have begun.
  private var openIntervals: [(name: UInt32, track: UInt64)] = []
  private var run: Run?
  /// How many items are inside of each other.
  private var nesting = 0
  /// The thread's own track is taken up to here.
  private var ownEnd: UInt64 = 0
  /// Between the two ends of a sleep.
  private var isAsleep = false
  /// The time up to which events have been written.
  private var writtenTo: UInt64 = 0
  /// Items that have been written, for the summary.
  private(set) var items: UInt64 = 0

  /// An item that follows so soon belongs to the same run.
  private static let gap: UInt64 = 20_000

  private struct Point {
    enum Step {
      /// With what it has in the thread's own track.
      case enter(TracedObject)
      case leave
      case fallAsleep
      case wake
      case plain
    }

    let time: UInt64
    var step: Step = .plain
    let event: TraceEvent
  }

  private struct OpenSync {
    let object: TracedObject
    let queue: UInt32
    let track: UInt64
  }

  private struct Run {
    let object: TracedObject
    var end: UInt64
    var items = 0
  }

  init(_ objects: TracedObjects, _ symbols: Symbols, _ words: TraceWords, thread: pid_t, name: String) {
    self.objects = objects
    self.symbols = symbols
    self.words = words
    self.thread = thread
    track = objects.writer.track(name, .thread(process: objects.process, thread: thread))
    sequence = objects.writer.sequence(of: track)
  }

  // MARK: Batches

  /// Writes what a piece of the thread's records says.
  func write(_ records: [gc_insight_record]) {
    points.removeAll(keepingCapacity: true)
    for record in records { expand(record) }
    for point in points { emit(point) }
    if let last = points.last { writtenTo = max(writtenTo, last.time) }
  }

  /// Records of the thread are missing: what is open cannot be matched any more.
  func declareLoss(at time: UInt64) {
    closeAll(at: time)
    sequence.declareLoss()
  }

  /// Ends the slice of a run that nothing has followed for a while.
  func settle(now: UInt64) {
    if let run, nesting == 0, run.end + 100_000_000 < now { closeRun() }
  }

  /// The end of the trace.
  func closeAll(at time: UInt64) {
    let end = max(time, writtenTo)
    for sync in open.reversed() {
      lane(sync.object) { $0.close(sync.track, at: end) }
      writer.write(
        TraceEvent(kind: .end, time: end, track: sync.track, notes: [.integer("unfinished", 1)]), sequence)
    }
    open.removeAll()
    for (_, track) in openIntervals.reversed() {
      intervals.close(track, at: end)
      writer.write(TraceEvent(kind: .end, time: end, track: track, notes: [.integer("unfinished", 1)]), sequence)
    }
    openIntervals.removeAll()
    if nesting > 0 { run?.end = end }
    nesting = 0
    closeRun()
  }

  /// A slice that has not ended: it is drawn up to the end of the trace.
  func writeUnfinished(_ name: TraceName, object: TracedObject?, from begin: UInt64, to end: UInt64) {
    guard begin < end else { return }
    let place = object.map { self.place($0, begin, end) } ?? wait(begin, end)
    writer.write(
      TraceEvent(kind: .begin, time: begin, track: place, name: name, category: words.unfinished), sequence)
    writer.write(
      TraceEvent(kind: .end, time: end, track: place, notes: [.integer("unfinished", 1)]), sequence)
  }

  // MARK: Records

  private func expand(_ record: gc_insight_record) {
    let isCoarse = record.kind & UInt8(GC_RECORD_COARSE) != 0
    let steps = isCoarse ? UInt64(record.length) << 10 : UInt64(record.length)
    let clock = objects.region.clock
    let end = clock.nanoseconds(at: record.time)
    let begin = record.length == 0 ? end : clock.nanoseconds(at: record.time &- min(record.time, steps))
    switch Int(record.kind & 0x7f) {
    case Int(GC_RECORD_ITEM): item(record, begin, end)
    case Int(GC_RECORD_SUBMIT): submit(record, end)
    case Int(GC_RECORD_SYNC_BEGIN): syncBegin(record, end)
    case Int(GC_RECORD_SYNC_END): syncEnd(record, end)
    case Int(GC_RECORD_SLEEP): sleep(record, begin, end)
    case Int(GC_RECORD_WAIT):
      let name = words.wait(record, self)
      slice(wait(begin, end), name, words.waits, begin, end, endingFlow: words.wakeFlow(thread))
    case Int(GC_RECORD_APPLY):
      let name = words.apply
      slice(wait(begin, end), name, words.waits, begin, end, notes: [.integer("iterations", Int64(record.argument))])
    case Int(GC_RECORD_INTERVAL_BEGIN): intervalBegin(record, end)
    case Int(GC_RECORD_INTERVAL_END): intervalEnd(record, end)
    case Int(GC_RECORD_SPAN): span(record, begin, end)
    default:
      // What happened at one instant, or concerns more than this thread.
      words.write(record, at: end, self) { add($0.time, $0) }
    }
  }

  private func item(_ record: gc_insight_record, _ begin: UInt64, _ end: UInt64) {
    items += 1
    let object = objects.object(record.queue)
    object.count(-1, at: begin)
    let track = place(object, begin, end)
    let isLate = begin < writtenTo
    if isLate { late(object, begin, end) }
    add(
      begin,
      TraceEvent(
        kind: .begin, time: begin, track: track, name: symbols.name(of: record.word), category: words.item,
        endingFlow: words.jobFlow(record.argument)), isLate ? .plain : .enter(object))
    add(end, TraceEvent(kind: .end, time: end, track: track), isLate ? .plain : .leave)
  }

  private func submit(_ record: gc_insight_record, _ time: UInt64) {
    objects.object(record.queue).count(1, at: time)
    add(
      time, TraceEvent(kind: .instant, time: time, name: words.submit, flow: words.jobFlow(record.argument)))
  }

  private func syncBegin(_ record: gc_insight_record, _ time: UInt64) {
    let object = objects.object(record.queue)
    let track = place(object, time, .max)
    open.append(OpenSync(object: object, queue: record.queue, track: track))
    let name = record.word == 0 ? words.sync : symbols.name(of: record.word)
    add(
      time, TraceEvent(kind: .begin, time: time, track: track, name: name, category: words.syncs), .enter(object))
  }

  private func syncEnd(_ record: gc_insight_record, _ time: UInt64) {
    // One whose begin is not known.
    guard open.contains(where: { $0.queue == record.queue }) else { return }
    while let sync = open.popLast() {
      lane(sync.object) { $0.close(sync.track, at: time) }
      add(time, TraceEvent(kind: .end, time: time, track: sync.track), .leave)
      if sync.queue == record.queue { return }
    }
  }

  private func intervalBegin(_ record: gc_insight_record, _ time: UInt64) {
    let place = intervals.take(from: time, to: .max) { writer.track("intervals", .child(of: track)) }
    openIntervals.append((record.queue, place))
    add(time, TraceEvent(kind: .begin, time: time, track: place, name: objects.mark(record.queue).name))
  }

  private func intervalEnd(_ record: gc_insight_record, _ time: UInt64) {
    // They nest: those inside of it whose ends are missing end here.
    guard openIntervals.contains(where: { $0.name == record.queue }) else { return }
    while let (name, track) = openIntervals.popLast() {
      intervals.close(track, at: time)
      add(time, TraceEvent(kind: .end, time: time, track: track))
      if name == record.queue { return }
    }
  }

  /// Spans end on whatever thread: their tracks are the process's.
  private func span(_ record: gc_insight_record, _ begin: UInt64, _ end: UInt64) {
    var notes = [TraceEvent.Note.integer("span", Int64(record.argument))]
    if record.word != 0 { notes.append(.integer("parent", Int64(truncatingIfNeeded: record.word))) }
    let name = objects.mark(record.queue).name
    slice(objects.span(record.queue, from: begin, to: end), name, words.spans, begin, end, notes: notes)
  }

  private func sleep(_ record: gc_insight_record, _ begin: UInt64, _ end: UInt64) {
    let name = record.detail == 1 ? words.polls : words.sleeps
    add(begin, TraceEvent(kind: .begin, time: begin, name: name), .fallAsleep)
    add(end, TraceEvent(kind: .end, time: end, endingFlow: words.wakeFlow(thread)), .wake)
  }

  /// An item that began before what has been written: the thread's own track has no room for it, one beside it has.
  private func late(_ object: TracedObject, _ begin: UInt64, _ end: UInt64) {
    slice(
      long.take(from: begin, to: end) { writer.track("long items", .child(of: track)) }, object.name, .none, begin, end)
  }

  private func slice(
    _ track: UInt64, _ name: TraceName, _ category: TraceName, _ begin: UInt64, _ end: UInt64, endingFlow: UInt64 = 0,
    notes: [TraceEvent.Note] = []
  ) {
    add(begin, TraceEvent(kind: .begin, time: begin, track: track, name: name, category: category, notes: notes))
    add(end, TraceEvent(kind: .end, time: end, track: track, endingFlow: endingFlow))
  }

  // MARK: Tracks

  private func place(_ object: TracedObject, _ begin: UInt64, _ end: UInt64) -> UInt64 {
    lane(object) { lanes in
      lanes.take(from: begin, to: end) { writer.track(object.label, .child(of: objects.queues)) }
    }
  }

  private func wait(_ begin: UInt64, _ end: UInt64) -> UInt64 {
    waits.take(from: begin, to: end) { writer.track("waits", .child(of: track)) }
  }

  private func lane<Result>(_ object: TracedObject, _ body: (inout Lanes) -> Result) -> Result {
    body(&lanes[object.name.number, default: Lanes()])
  }

  // MARK: Order

  /// Puts an event behind all that are not later: most come in order.
  private func add(_ time: UInt64, _ event: TraceEvent, _ step: Point.Step = .plain) {
    var place = points.count
    while place > 0, points[place - 1].time > time { place -= 1 }
    points.insert(Point(time: time, step: step, event: event), at: place)
  }

  private func emit(_ point: Point) {
    switch point.step {
    case .plain: break
    case .fallAsleep:
      closeRun()
      // Only in a damaged region does a thread sleep and do something else.
      guard !isAsleep, nesting == 0, point.time >= ownEnd else { return }
      isAsleep = true
    case .wake:
      guard isAsleep else { return }
      isAsleep = false
      ownEnd = point.time
    case .enter(let object):
      if nesting == 0 { enter(object, at: point.time) }
      nesting += 1
    case .leave:
      if nesting > 0 { nesting -= 1 }
      if nesting == 0 { run?.end = point.time }
    }
    writer.write(point.event, sequence)
  }

  private func enter(_ object: TracedObject, at time: UInt64) {
    if let run, run.object === object, time <= run.end + Self.gap {
      self.run?.items += 1
      return
    }
    closeRun()
    guard time >= ownEnd, !isAsleep else { return }
    run = Run(object: object, end: time, items: 1)
    writer.write(TraceEvent(kind: .begin, time: time, name: object.name, category: words.serves), sequence)
  }

  private func closeRun() {
    guard let run else { return }
    let notes: [TraceEvent.Note] = run.items > 1 ? [.integer("items", Int64(run.items))] : []
    writer.write(TraceEvent(kind: .end, time: run.end, notes: notes), sequence)
    ownEnd = max(ownEnd, run.end)
    self.run = nil
  }
}
