// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// Something on a track.
struct TraceEvent {
  enum Kind: UInt8 {
    case begin
    case end
    case instant
    case counter
  }

  /// A word more about an event.
  enum Note {
    case integer(StaticString, Int64)
    case text(StaticString, String)
  }

  var kind: Kind
  /// Nanoseconds of CLOCK_MONOTONIC.
  var time: UInt64
  /// 0: the sequence's own.
  var track: UInt64 = 0
  var name: TraceName = .none
  var category: TraceName = .none
  /// Goes on from here at the next event with the same number; 0: none.
  var flow: UInt64 = 0
  /// The flow that ends here; 0: none.
  var endingFlow: UInt64 = 0
  var value: Double = 0
  var notes: [Note] = []
}

/// A text that occurs often: written once, and referred to by its number.
struct TraceName: Equatable {
  let number: UInt32
  static let none = TraceName(number: 0)
}

/// Events of one source, whose times are differences: one for each thread.
final class TraceSequence {
  fileprivate let number: UInt64
  fileprivate let track: UInt64
  /// The time that the next difference counts from.
  fileprivate var last: UInt64 = 0
  fileprivate var isBegun = false
  fileprivate var hasLost = false
  /// Which names have been sent.
  fileprivate var names: [Bool] = []
  fileprivate var categories: [Bool] = []

  fileprivate init(number: UInt64, track: UInt64) {
    self.number = number
    self.track = track
  }

  /// Something is missing before the next event.
  func declareLoss() { hasLost = true }
}

/// Writes a trace in Perfetto's format, packet after packet: what has been written can be read even if the writing ends there.
final class PerfettoWriter {
  private typealias Field = PerfettoField
  private let output: TraceOutput
  private var packets = ProtoBuffer()
  private var texts: [String] = [""]
  private var numbers: [String: UInt32] = [:]
  private var lastTrack: UInt64 = 0
  private var lastSequence: UInt64 = 1
  private(set) var events: UInt64 = 0
  /// From CLOCK_MONOTONIC to the clocks that go on while the machine sleeps, and to that of the calendar.
  private let offsets = ClockOffsets.now()

  private var deflate = Deflate()
  private var nextFlush: UInt64 = 0

  /// The size of one piece of the file.
  private static let piece = 256 << 10
  /// Should the tool be killed, the last second is missing.
  private static let longestWait: UInt64 = 1_000_000_000

  init(_ output: TraceOutput) {
    self.output = output
    packets.reserve(Self.piece + 4096)
  }

  func name(_ text: String) -> TraceName {
    if let number = numbers[text] { return TraceName(number: number) }
    let number = UInt32(texts.count)
    texts.append(text)
    numbers[text] = number
    return TraceName(number: number)
  }

  // MARK: Tracks

  enum Track {
    case process(pid_t)
    case thread(process: pid_t, thread: pid_t)
    case child(of: UInt64, rank: Int = 0)
    /// A group whose children are in the order of their ranks.
    case group(of: UInt64, rank: Int = 0)
    case counter(of: UInt64, unit: Unit)
  }

  enum Unit: UInt64 {
    case none = 0
    case nanoseconds = 1
    case count = 2
    case bytes = 3
  }

  /// A new track.
  func track(_ name: String, _ kind: Track) -> UInt64 {
    lastTrack += 1
    let number = lastTrack
    packet { packet in
      packet.integer(Field.Packet.sequence, 1)
      packet.message(Field.Packet.track) { track in
        track.integer(Field.Track.identifier, number)
        Self.describe(kind, name, &track)
      }
    }
    return number
  }

  private static func describe(_ kind: Track, _ name: String, _ track: inout ProtoBuffer) {
    switch kind {
    case .process(let process):
      track.message(Field.Track.process) {
        $0.integer(Field.Track.processNumber, UInt64(process))
        $0.text(Field.Track.processName, name)
      }
    case .thread(let process, let thread):
      track.message(Field.Track.thread) {
        $0.integer(Field.Track.processNumber, UInt64(process))
        $0.integer(Field.Track.threadNumber, UInt64(thread))
        $0.text(Field.Track.threadName, name)
      }
    case .child(let parent, let rank), .group(let parent, let rank):
      track.text(Field.Track.name, name)
      track.integer(Field.Track.parent, parent)
      if rank != 0 { track.signed(Field.Track.rank, Int64(rank)) }
      if case .group = kind { track.integer(Field.Track.childOrder, Field.Track.explicitOrder) }
    case .counter(let parent, let unit):
      track.text(Field.Track.name, name)
      track.integer(Field.Track.parent, parent)
      track.message(Field.Track.counter) { $0.integer(Field.Track.counterUnit, unit.rawValue) }
    }
  }

  // MARK: Events

  func sequence(of track: UInt64) -> TraceSequence {
    lastSequence += 1
    return TraceSequence(number: lastSequence, track: track)
  }

  func write(_ event: TraceEvent, _ sequence: TraceSequence) {
    if !sequence.isBegun || sequence.hasLost { begin(sequence, at: event.time) }
    events += 1
    let sendsName = Self.isNew(event.name, &sequence.names)
    let sendsCategory = Self.isNew(event.category, &sequence.categories)
    packet { packet in
      if event.time >= sequence.last {
        packet.integer(Field.Packet.timestamp, event.time - sequence.last)
        sequence.last = event.time
      } else {
        // Something that began before what has been written already.
        packet.integer(Field.Packet.timestamp, event.time)
        packet.integer(Field.Packet.clock, Field.ClockNumber.monotonic)
      }
      packet.integer(Field.Packet.sequence, sequence.number)
      if event.name != .none { packet.integer(Field.Packet.flags, Field.Flag.needsState) }
      if sendsName || sendsCategory {
        packet.message(Field.Packet.interned) { interned in
          if sendsCategory { self.intern(Field.Interned.categories, event.category, &interned) }
          if sendsName { self.intern(Field.Interned.names, event.name, &interned) }
        }
      }
      packet.message(Field.Packet.event) { Self.encode(event, &$0) }
    }
  }

  /// What has been collected goes to the output, if it is much or has waited for long.
  func flush(at time: UInt64) {
    if time >= nextFlush { flush() }
  }

  /// What has been collected goes to the output; false once something could not be written.
  @discardableResult
  func flush() -> Bool {
    writePiece()
    nextFlush = RegionClock.now().uptime + Self.longestWait
    return output.flush()
  }

  private func packet(_ body: (inout ProtoBuffer) -> Void) {
    packets.message(Field.Trace.packet, body)
    if packets.bytes.count >= Self.piece { writePiece() }
  }

  /// A piece of the file is a packet that has others in it, made smaller.
  private func writePiece() {
    if packets.bytes.isEmpty { return }
    let small = deflate.zlib(packets.bytes)
    packets.removeAll()
    packets.message(Field.Trace.packet) { $0.data(Field.Packet.compressed, small) }
    output.write(packets.bytes)
    packets.removeAll()
  }

  @inline(__always)
  private static func isNew(_ name: TraceName, _ sent: inout [Bool]) -> Bool {
    let index = Int(name.number)
    if index == 0 { return false }
    if index >= sent.count { sent += repeatElement(false, count: index + 1 - sent.count) }
    if sent[index] { return false }
    sent[index] = true
    return true
  }

  private func intern(_ field: UInt32, _ name: TraceName, _ buffer: inout ProtoBuffer) {
    buffer.message(field) {
      $0.integer(Field.Interned.identifier, UInt64(name.number))
      $0.text(Field.Interned.name, texts[Int(name.number)])
    }
  }

  private static func encode(_ event: TraceEvent, _ buffer: inout ProtoBuffer) {
    let type =
      switch event.kind {
      case .begin: Field.Event.begin
      case .end: Field.Event.end
      case .instant: Field.Event.instant
      case .counter: Field.Event.counterType
      }
    buffer.integer(Field.Event.type, type)
    if event.track != 0 { buffer.integer(Field.Event.track, event.track) }
    if event.name != .none { buffer.integer(Field.Event.name, UInt64(event.name.number)) }
    if event.category != .none { buffer.integer(Field.Event.category, UInt64(event.category.number)) }
    if event.kind == .counter {
      if let whole = Int64(exactly: event.value) {
        buffer.signed(Field.Event.counter, whole)
      } else {
        buffer.double(Field.Event.doubleCounter, event.value)
      }
    }
    if event.flow != 0 { buffer.fixed(Field.Event.flow, event.flow) }
    if event.endingFlow != 0 { buffer.fixed(Field.Event.endingFlow, event.endingFlow) }
    for note in event.notes {
      buffer.message(Field.Event.annotation) { annotation in
        switch note {
        case .integer(let name, let value):
          annotation.text(Field.Annotation.name, "\(name)")
          annotation.signed(Field.Annotation.integer, value)
        case .text(let name, let value):
          annotation.text(Field.Annotation.name, "\(name)")
          annotation.text(Field.Annotation.text, value)
        }
      }
    }
  }

  /// Says what the times and tracks of a sequence count from, and forgets the names that it has sent: at its begin, and after a
  /// loss, as readers forget them too.
  private func begin(_ sequence: TraceSequence, at time: UInt64) {
    packet { packet in
      if sequence.hasLost { packet.integer(Field.Packet.previousDropped, 1) }
      packet.integer(Field.Packet.sequence, sequence.number)
      packet.integer(Field.Packet.flags, Field.Flag.cleared)
      packet.message(Field.Packet.defaults) { defaults in
        defaults.integer(Field.Defaults.clock, Field.ClockNumber.incremental)
        defaults.message(Field.Defaults.event) { $0.integer(Field.Event.track, sequence.track) }
      }
      packet.message(Field.Packet.clockSnapshot) { snapshot in
        let clocks = [
          (Field.ClockNumber.monotonic, time), (Field.ClockNumber.boottime, offsets.boottime(time)),
          (Field.ClockNumber.realtime, offsets.realtime(time)), (Field.ClockNumber.incremental, time),
        ]
        for (clock, time) in clocks {
          snapshot.message(Field.Clock.entry) { entry in
            entry.integer(Field.Clock.identifier, clock)
            entry.integer(Field.Clock.timestamp, time)
            if clock == Field.ClockNumber.incremental { entry.integer(Field.Clock.isIncremental, 1) }
          }
        }
        snapshot.integer(Field.Clock.primary, Field.ClockNumber.monotonic)
      }
    }
    sequence.names.removeAll(keepingCapacity: true)
    sequence.categories.removeAll(keepingCapacity: true)
    sequence.last = time
    sequence.isBegun = true
    sequence.hasLost = false
  }
}

/// How far the kernel's other clocks are from CLOCK_MONOTONIC.
struct ClockOffsets {
  private let boot: UInt64
  private let real: UInt64

  static func now() -> ClockOffsets {
    func read(_ clock: clockid_t) -> UInt64 {
      var time = timespec()
      clock_gettime(clock, &time)
      return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
    let monotonic = read(CLOCK_MONOTONIC)
    return ClockOffsets(boot: read(CLOCK_BOOTTIME) &- monotonic, real: read(CLOCK_REALTIME) &- monotonic)
  }

  func boottime(_ time: UInt64) -> UInt64 { time &+ boot }
  func realtime(_ time: UInt64) -> UInt64 { time &+ real }
}
