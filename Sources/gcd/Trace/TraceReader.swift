// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// A track of a trace that is read.
struct ReadTrack {
  enum Kind {
    case process
    case thread
    case counter
    case plain
  }

  var kind = Kind.plain
  var name = ""
  var parent: UInt64 = 0
  var process: UInt64 = 0
  var thread: UInt64 = 0
}

/// What stands in a trace, one thing after the other.
enum ReadFact {
  /// A word more.
  struct Note {
    var name = ""
    var number: Int64?
    var text = ""
  }

  struct Slice {
    var track: UInt64
    var begin: UInt64
    var end: UInt64
    var name: String
    var category: String
    /// Flows that leave it, and that end at it.
    var flow: UInt64
    var endingFlow: UInt64
    var notes: [Note]
  }

  case slice(Slice)
  case instant(Slice)
  case counter(track: UInt64, time: UInt64, value: Double)
}

/// Reads a trace as `PerfettoWriter` writes it, packet after packet.
final class TraceReader {
  private typealias Field = PerfettoField
  private let body: (ReadFact) -> Void
  private(set) var tracks: [UInt64: ReadTrack] = [:]
  private var sequences: [UInt64: Sequence] = [:]
  private var open: [UInt64: [ReadFact.Slice]] = [:]
  private(set) var packets = 0
  private(set) var isDamaged = false
  /// Slices without an end.
  private(set) var unfinished = 0

  private struct Sequence {
    var names: [UInt64: String] = [:]
    var categories: [UInt64: String] = [:]
    var track: UInt64 = 0
    var time: UInt64 = 0
    var isIncremental = false
  }

  init(_ body: @escaping (ReadFact) -> Void) { self.body = body }

  /// A whole packet. Only a damaged file has a compressed piece in another one.
  func packet(_ bytes: ArraySlice<UInt8>, isInPiece: Bool = false) {
    packets += 1
    var reader = ProtoReader(bytes)
    var (timestamp, clock): (UInt64?, UInt64?) = (nil, nil)
    var (number, flags): (UInt64, UInt64) = (0, 0)
    var messages: [(UInt64, ProtoReader.Value)] = []
    while let (field, value) = reader.next() {
      switch UInt32(truncatingIfNeeded: field) {
      case Field.Packet.timestamp: timestamp = value.integer
      case Field.Packet.clock: clock = value.integer
      case Field.Packet.sequence: number = value.integer
      case Field.Packet.flags: flags = value.integer
      default: messages.append((field, value))
      }
    }
    if reader.isDamaged { isDamaged = true }
    var sequence = sequences[number] ?? Sequence()
    if flags & Field.Flag.cleared != 0 { sequence = Sequence() }
    for (field, value) in messages {
      switch UInt32(truncatingIfNeeded: field) {
      case Field.Packet.track: track(value.message)
      case Field.Packet.interned: intern(value.message, &sequence)
      case Field.Packet.defaults: defaults(value.message, &sequence)
      case Field.Packet.clockSnapshot: clocks(value.message, &sequence)
      case Field.Packet.compressed:
        if !isInPiece, let plain = Inflate.zlib(value.data) { self.packets(plain) } else { isDamaged = true }
      default: break
      }
    }
    if let event = messages.first(where: { $0.0 == UInt64(Field.Packet.event) }) {
      var time = timestamp ?? 0
      if clock == nil, sequence.isIncremental {
        time &+= sequence.time
        sequence.time = time
      }
      self.event(event.1.message, at: time, sequence)
    }
    sequences[number] = sequence
  }

  /// The packets of a piece that was compressed.
  private func packets(_ bytes: [UInt8]) {
    var reader = ProtoReader(bytes[...])
    while let (field, value) = reader.next() {
      if field == UInt64(Field.Trace.packet) { packet(value.data, isInPiece: true) }
    }
    if reader.isDamaged { isDamaged = true }
  }

  /// What has begun and has no end is written with what is known.
  func finish() {
    for (_, slices) in open.sorted(by: { $0.key < $1.key }) {
      unfinished += slices.count
      for slice in slices { body(.slice(slice)) }
    }
    open.removeAll()
  }

  // MARK: Parts of a packet

  private func track(_ message: ProtoReader) {
    var message = message
    var (number, track): (UInt64, ReadTrack) = (0, ReadTrack())
    while let (field, value) = message.next() {
      switch UInt32(truncatingIfNeeded: field) {
      case Field.Track.identifier: number = value.integer
      case Field.Track.name: track.name = value.text
      case Field.Track.parent: track.parent = value.integer
      case Field.Track.counter: track.kind = .counter
      case Field.Track.process:
        track.kind = .process
        owner(value.message, &track)
      case Field.Track.thread:
        track.kind = .thread
        owner(value.message, &track)
      default: break
      }
    }
    tracks[number] = track
  }

  private func owner(_ message: ProtoReader, _ track: inout ReadTrack) {
    var message = message
    while let (field, value) = message.next() {
      switch UInt32(truncatingIfNeeded: field) {
      case Field.Track.processNumber: track.process = value.integer
      case Field.Track.threadNumber: track.thread = value.integer
      case Field.Track.threadName, Field.Track.processName: track.name = value.text
      default: break
      }
    }
  }

  private func intern(_ message: ProtoReader, _ sequence: inout Sequence) {
    var message = message
    while let (field, value) = message.next() {
      var (entry, number, text): (ProtoReader, UInt64, String) = (value.message, 0, "")
      while let (part, value) = entry.next() {
        if part == UInt64(Field.Interned.identifier) { number = value.integer }
        if part == UInt64(Field.Interned.name) { text = value.text }
      }
      if field == UInt64(Field.Interned.names) { sequence.names[number] = text }
      if field == UInt64(Field.Interned.categories) { sequence.categories[number] = text }
    }
  }

  private func defaults(_ message: ProtoReader, _ sequence: inout Sequence) {
    var message = message
    while let (field, value) = message.next() {
      switch UInt32(truncatingIfNeeded: field) {
      case Field.Defaults.clock: sequence.isIncremental = value.integer == Field.ClockNumber.incremental
      case Field.Defaults.event:
        var event = value.message
        while let (part, value) = event.next() {
          if part == UInt64(Field.Event.track) { sequence.track = value.integer }
        }
      default: break
      }
    }
  }

  private func clocks(_ message: ProtoReader, _ sequence: inout Sequence) {
    var message = message
    while let (field, value) = message.next() {
      if field != UInt64(Field.Clock.entry) { continue }
      var (clock, number, time): (ProtoReader, UInt64, UInt64) = (value.message, 0, 0)
      while let (part, value) = clock.next() {
        if part == UInt64(Field.Clock.identifier) { number = value.integer }
        if part == UInt64(Field.Clock.timestamp) { time = value.integer }
      }
      if number == Field.ClockNumber.incremental { sequence.time = time }
    }
  }

  // MARK: Events

  private func event(_ message: ProtoReader, at time: UInt64, _ sequence: Sequence) {
    var message = message
    var (type, value): (UInt64, Double) = (0, 0)
    var slice = ReadFact.Slice(
      track: sequence.track, begin: time, end: time, name: "", category: "", flow: 0, endingFlow: 0, notes: [])
    while let (field, part) = message.next() {
      switch UInt32(truncatingIfNeeded: field) {
      case Field.Event.type: type = part.integer
      case Field.Event.track: slice.track = part.integer
      case Field.Event.name: slice.name = sequence.names[part.integer] ?? ""
      case Field.Event.category: slice.category = sequence.categories[part.integer] ?? ""
      case Field.Event.counter: value = Double(Int64(bitPattern: part.integer))
      case Field.Event.doubleCounter: value = Double(bitPattern: part.integer)
      case Field.Event.flow: slice.flow = part.integer
      case Field.Event.endingFlow: slice.endingFlow = part.integer
      case Field.Event.annotation: note(part.message, &slice)
      default: break
      }
    }
    switch type {
    case Field.Event.begin:
      // Only a damaged file nests deeper.
      if open[slice.track, default: []].count < 1000 { open[slice.track, default: []].append(slice) }
    case Field.Event.end:
      guard var begun = open[slice.track]?.popLast() else { return }
      begun.end = max(begun.begin, time)
      begun.notes += slice.notes
      if slice.endingFlow != 0 { begun.endingFlow = slice.endingFlow }
      body(.slice(begun))
    case Field.Event.instant: body(.instant(slice))
    case Field.Event.counterType: body(.counter(track: slice.track, time: time, value: value.isFinite ? value : 0))
    default: break
    }
  }

  private func note(_ message: ProtoReader, _ slice: inout ReadFact.Slice) {
    var message = message
    var note = ReadFact.Note()
    while let (field, value) = message.next() {
      switch UInt32(truncatingIfNeeded: field) {
      case Field.Annotation.name: note.name = value.text
      case Field.Annotation.integer: note.number = Int64(bitPattern: value.integer)
      case Field.Annotation.text: note.text = value.text
      default: break
      }
    }
    slice.notes.append(note)
  }
}
