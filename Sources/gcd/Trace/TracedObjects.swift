// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// A queue, or something else with a number, as it is in the trace.
final class TracedObject {
  /// What the program calls it.
  fileprivate let text: String
  /// That, with a number behind it where another object that lives has it.
  let label: String
  let name: TraceName
  fileprivate let made: UInt64
  fileprivate var generation = 0
  fileprivate(set) var depth = DepthCounter()
  fileprivate var depthTrack: UInt64 = 0
  /// The track of a counter that belongs to it, made when there is something to count.
  var counterTrack: UInt64 = 0

  fileprivate init(_ text: String, label: String, name: TraceName, made: UInt64) {
    self.text = text
    self.label = label
    self.name = name
    self.made = made
  }

  /// In the place of one that is gone, whose label and tracks it has.
  fileprivate convenience init(after former: TracedObject, made: UInt64) {
    self.init(former.text, label: former.label, name: former.name, made: made)
    (depthTrack, counterTrack) = (former.depthTrack, former.counterTrack)
  }

  /// An item was put into it, or has begun.
  func count(_ change: Int, at time: UInt64) { depth.add(change, at: time) }
}

/// The objects of a process that occur in its records, and the tracks that belong to the process.
final class TracedObjects {
  let writer: PerfettoWriter
  let region: RegionReader
  /// The number that the process has here.
  let process: pid_t
  let processTrack: UInt64
  /// What belongs to no thread.
  let sequence: TraceSequence
  private var objects: [UInt32: TracedObject] = [:]
  /// Numbers are used again: what is known is looked up anew in each pass.
  private var generation = 1
  private var labels: [String: Int] = [:]
  /// By their text: objects that are gone, and after which no other one has been called yet.
  private var gone: [String: [TracedObject]] = [:]
  private var groups: [String: UInt64] = [:]
  private var marks: [UInt32: (name: TraceName, text: String, counter: UInt64)] = [:]
  private var spans: [String: Lanes] = [:]
  private var last: (number: UInt32, object: TracedObject)?

  init(_ writer: PerfettoWriter, _ region: RegionReader, process: pid_t, name: String) {
    self.writer = writer
    self.region = region
    self.process = process
    processTrack = writer.track(name, .process(process))
    sequence = writer.sequence(of: processTrack)
  }

  /// The object of a number; number 0 and others that no object has are work without a queue.
  func object(_ number: UInt32) -> TracedObject {
    if let last, last.number == number { return last.object }
    let object = find(number)
    last = (number, object)
    return object
  }

  private func find(_ number: UInt32) -> TracedObject {
    if let known = objects[number], known.generation == generation { return known }
    let entry = region.object(number)
    if let known = objects[number], entry == nil || known.made == entry?.made {
      known.generation = generation
      return known
    }
    let text = entry.map { $0.shown } ?? (number == 0 ? "no queue" : "queue \(number)")
    // An object that will not be asked for again need not be kept: its last counts are written first.
    if let old = objects[number] {
      write(old, now: 0, everything: true)
      gone[old.text, default: []].append(old)
    }
    let object = make(text, entry?.made ?? 0)
    object.generation = generation
    objects[number] = object
    return object
  }

  /// A program may make a queue for each of its requests: as many labels are made up as live at once.
  private func make(_ text: String, _ made: UInt64) -> TracedObject {
    if let former = gone[text]?.popLast() { return TracedObject(after: former, made: made) }
    let label = distinct(text)
    return TracedObject(text, label: label, name: writer.name(label), made: made)
  }

  /// Queues of the same label would be one track.
  private func distinct(_ label: String) -> String {
    let count = labels[label, default: 0] + 1
    labels[label] = count
    return count == 1 ? label : "\(label) (\(count))"
  }

  /// A group of tracks of the process.
  func group(_ name: String, rank: Int) -> UInt64 {
    if let track = groups[name] { return track }
    let track = writer.track(name, .child(of: processTrack, rank: rank))
    groups[name] = track
    return track
  }

  var queues: UInt64 { group("Queues", rank: 1) }

  /// The name of the program's own mark.
  func mark(_ number: UInt32) -> (name: TraceName, text: String) {
    if let known = marks[number] { return (known.name, known.text) }
    let text = region.name(number) ?? "mark \(number)"
    let name = writer.name(text)
    // A name that is not ready yet is asked for again.
    if region.name(number) != nil { marks[number] = (name, text, 0) }
    return (name, text)
  }

  /// The track of the program's own counter.
  func counter(_ number: UInt32) -> UInt64 {
    let (name, text) = mark(number)
    if let known = marks[number], known.counter != 0 { return known.counter }
    let track = writer.track(text, .counter(of: group("Counters", rank: 4), unit: .none))
    marks[number] = (name, text, track)
    return track
  }

  /// A track for a span of the program's own.
  func span(_ name: UInt32, from begin: UInt64, to end: UInt64) -> UInt64 {
    let text = mark(name).text
    return spans[text, default: Lanes()].take(from: begin, to: end) {
      writer.track(text, .child(of: group("Spans", rank: 3)))
    }
  }

  /// Begins a pass: times up to `now` have been seen.
  func begin() {
    generation += 1
    last = nil
  }

  /// Writes the depths of the queues.
  func settle(now: UInt64, everything: Bool = false) {
    for object in objects.values { write(object, now: now, everything: everything) }
  }

  private func write(_ object: TracedObject, now: UInt64, everything: Bool) {
    object.depth.settle(now, everything: everything) { time, depth in
      if object.depthTrack == 0 {
        object.depthTrack = writer.track("\(object.label) depth", .counter(of: queues, unit: .count))
      }
      writer.write(
        TraceEvent(kind: .counter, time: time, track: object.depthTrack, value: Double(depth)), sequence)
    }
  }
}
