// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc

/// What events are called, and what the rarer records become.
final class TraceWords {
  private let writer: PerfettoWriter
  private let objects: TracedObjects
  /// Regions of one trace have flows of their own.
  private let flows: UInt64

  // Categories.
  let item: TraceName
  let syncs: TraceName
  let waits: TraceName
  let serves: TraceName
  let unfinished: TraceName
  let spans: TraceName
  // Names.
  let submit: TraceName
  let sync: TraceName
  let sleeps: TraceName
  let polls: TraceName
  let apply: TraceName
  private let wakes: TraceName
  private var waitNames: [UInt64: TraceName] = [:]

  init(_ objects: TracedObjects, number: Int) {
    self.objects = objects
    writer = objects.writer
    flows = UInt64(number) << 40
    let writer = objects.writer
    item = writer.name("item")
    syncs = writer.name("sync")
    waits = writer.name("wait")
    serves = writer.name("serves")
    unfinished = writer.name("unfinished")
    spans = writer.name("span")
    submit = writer.name("submit")
    sync = writer.name("sync")
    sleeps = writer.name("asleep")
    polls = writer.name("polls the kernel")
    apply = writer.name("concurrentPerform")
    wakes = writer.name("wakes")
  }

  /// The flow from where a job was submitted to where it begins; a job's number is used again when it has run.
  func jobFlow(_ job: UInt32) -> UInt64 { job == 0 ? 0 : flows | UInt64(job) }

  /// The flow from a wake to the thread that is woken.
  func wakeFlow(_ thread: pid_t) -> UInt64 { thread <= 0 ? 0 : 1 << 63 | flows | UInt64(thread) }

  /// What a thread has waited for.
  func wait(_ record: gc_insight_record, _ timeline: ThreadTimeline) -> TraceName {
    wait(RegionThread.Wait(rawValue: UInt32(record.detail)) ?? .other, number: record.queue)
  }

  func wait(_ kind: RegionThread.Wait, number: UInt32) -> TraceName {
    let key = UInt64(kind.rawValue) << 32 | UInt64(number)
    if number == 0, let known = waitNames[key] { return known }
    let text = "waits for " + (number == 0 ? kind.words : "\(objects.object(number).label): \(kind.words)")
    let name = writer.name(text)
    if number == 0 { waitNames[key] = name }
    return name
  }

  // MARK: Rarer records

  func write(
    _ record: gc_insight_record, at time: UInt64, _ timeline: ThreadTimeline, add: (TraceEvent) -> Void
  ) {
    switch Int(record.kind & 0x7f) {
    case Int(GC_RECORD_WAKE):
      let flow = wakeFlow(pid_t(truncatingIfNeeded: record.argument & 0x7fff_ffff))
      add(TraceEvent(kind: .instant, time: time, name: wakes, flow: flow))
    case Int(GC_RECORD_WORKER_BEGIN): add(instant("worker begins", time))
    case Int(GC_RECORD_WORKER_END): add(instant("worker ends", time))
    case Int(GC_RECORD_SUSPEND): add(of("suspends", record, time))
    case Int(GC_RECORD_RESUME): add(of("resumes", record, time))
    case Int(GC_RECORD_RETARGET):
      add(of("retargets", record, time, [.text("target", objects.object(record.argument).label)]))
    case Int(GC_RECORD_FREED): add(of("frees", record, time))
    case Int(GC_RECORD_TIMER): timer(record, time, add)
    case Int(GC_RECORD_SOURCE):
      add(of("event of", record, time, [.integer("data", Int64(bitPattern: record.word))]))
    case Int(GC_RECORD_SIGNAL): add(instant("signals a semaphore", time, address(record)))
    case Int(GC_RECORD_GROUP_EMPTY): add(instant("group is empty", time, address(record)))
    case Int(GC_RECORD_COMPENSATE): compensate(record, time, add)
    case Int(GC_RECORD_TRANSFER):
      let words = record.detail == 2 ? "writes" : "reads"
      add(of(words, record, time, [.integer("bytes", Int64(bitPattern: record.word))]))
    case Int(GC_RECORD_STEAL): add(instant("steals", time, [.integer("jobs", Int64(record.argument))]))
    case Int(GC_RECORD_MARK):
      add(TraceEvent(kind: .instant, time: time, name: objects.mark(record.queue).name))
    case Int(GC_RECORD_COUNTER):
      let value = Double(bitPattern: record.word)
      let track = objects.counter(record.queue)
      add(TraceEvent(kind: .counter, time: time, track: track, value: value.isFinite ? value : 0))
    default:
      // A kind that this tool does not know.
      add(instant("record \(record.kind & 0x7f)", time))
    }
  }

  private func instant(_ text: String, _ time: UInt64, _ notes: [TraceEvent.Note] = []) -> TraceEvent {
    TraceEvent(kind: .instant, time: time, name: writer.name(text), notes: notes)
  }

  private func of(
    _ verb: String, _ record: gc_insight_record, _ time: UInt64, _ notes: [TraceEvent.Note] = []
  ) -> TraceEvent {
    instant("\(verb) \(objects.object(record.queue).label)", time, notes)
  }

  private func address(_ record: gc_insight_record) -> [TraceEvent.Note] {
    [.text("address", "0x" + String(record.word, radix: 16))]
  }

  /// A timer's lateness is a counter, as that is what people look for, and an instant where it fired.
  private func timer(_ record: gc_insight_record, _ time: UInt64, _ add: (TraceEvent) -> Void) {
    let object = objects.object(record.queue)
    if object.counterTrack == 0 {
      let group = objects.group("Timers", rank: 2)
      object.counterTrack = writer.track("\(object.label) lateness", .counter(of: group, unit: .nanoseconds))
    }
    let late = Double(min(record.word, 1 << 62))
    add(TraceEvent(kind: .counter, time: time, track: object.counterTrack, value: late))
    add(of("fires", record, time, [.integer("late_ns", Int64(late))]))
  }

  private func compensate(_ record: gc_insight_record, _ time: UInt64, _ add: (TraceEvent) -> Void) {
    let reason =
      switch record.detail {
      case 1: "they block in the library"
      case 2: "they were found blocked"
      default: "their items run long"
      }
    add(
      instant("adds workers", time, [.integer("workers", Int64(record.argument)), .text("reason", reason)]))
  }
}
