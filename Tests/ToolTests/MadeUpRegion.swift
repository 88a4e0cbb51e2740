// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc

@testable import gcd

/// The bytes of a region that a test makes up: a head, and little of everything.
struct MadeUpRegion {
  static let threads = 4
  static let objects = 8
  static let names = 4
  static let chunks = 3

  private(set) var bytes: [UInt8]
  var head = gc_insight_head()
  private var nextChunk: UInt64 = 1

  init(process: pid_t = getpid()) {
    var offset: UInt64 = 4096
    func part(_ count: Int, _ stride: Int) -> gc_insight_part {
      defer { offset += UInt64(count * stride) }
      return gc_insight_part(offset: offset, count: UInt32(count), stride: UInt32(stride))
    }
    head.version = GC_INSIGHT_VERSION
    head.magic = UInt64(GC_INSIGHT_MAGIC)
    head.pid = UInt32(process)
    head.threads = part(Self.threads, 256)
    head.objects = part(Self.objects, 128)
    head.names = part(Self.names, 64)
    head.chunks = part(Self.chunks, Int(GC_INSIGHT_CHUNK_SIZE))
    head.size = offset
    head.objects_used = 1
    head.names_used = 1
    // One step of the counter is one nanosecond, for a test.
    head.counter = 1
    head.uptime = 1
    bytes = [UInt8](repeating: 0, count: Int(offset))
  }

  /// A region as a reader sees it.
  func reader() throws -> RegionReader { try RegionReader(RegionMemory(bytes: complete)) }

  /// With its head.
  var complete: [UInt8] {
    var all = bytes
    withUnsafeBytes(of: head) { all.replaceSubrange(0..<$0.count, with: $0) }
    return all
  }

  /// A file without a name, sealed as the library seals it; the caller closes it.
  func file(sealed: Bool = true) -> Int32 {
    // Swift's module of the C library leaves it out. MFD_CLOEXEC and MFD_ALLOW_SEALING.
    typealias Function = @convention(c) (UnsafePointer<CChar>, UInt32) -> Int32
    guard let address = dlsym(nil, "memfd_create") else { fatalError("no memfd_create") }
    let descriptor = unsafeBitCast(address, to: Function.self)("grandcentral", 1 | 2)
    let all = complete
    guard descriptor >= 0, write(descriptor, all, all.count) == all.count else { fatalError("no file: \(errno)") }
    // F_ADD_SEALS; F_SEAL_SHRINK and F_SEAL_GROW.
    if sealed, fcntl(descriptor, 1033, 2 | 4) != 0 { fatalError("no seals: \(errno)") }
    return descriptor
  }

  // MARK: What is in it

  /// The table of workers without an entry, behind the head.
  mutating func workers(_ numbers: [UInt32]) {
    head.workers = gc_insight_part(offset: UInt64(GC_INSIGHT_WORKERS_OFFSET), count: UInt32(numbers.count), stride: 4)
    for (index, number) in numbers.enumerated() {
      let place = Int(GC_INSIGHT_WORKERS_OFFSET) + index * 4
      withUnsafeBytes(of: number) { bytes.replaceSubrange(place..<place + 4, with: $0) }
    }
  }

  private mutating func put<Value>(_ value: Value, _ index: Int, _ part: gc_insight_part) {
    let place = Int(part.offset) + index * Int(part.stride)
    withUnsafeBytes(of: value) { bytes.replaceSubrange(place..<place + $0.count, with: $0) }
  }

  private static func copy<Field>(_ text: String, _ field: inout Field) {
    withUnsafeMutableBytes(of: &field) { room in
      for (index, byte) in text.utf8.prefix(room.count).enumerated() { room[index] = byte }
    }
  }

  mutating func thread(_ index: Int, _ identifier: pid_t, _ change: (inout gc_insight_thread) -> Void = { _ in }) {
    var thread = gc_insight_thread()
    thread.tid = UInt32(identifier)
    thread.sequence = 2
    change(&thread)
    put(thread, index, head.threads)
    head.threads_used = max(head.threads_used, UInt32(index) + 1)
  }

  mutating func object(
    _ number: Int, _ label: String, _ kind: Int = Int(GC_OBJECT_SERIAL),
    _ change: (inout gc_insight_object) -> Void = { _ in }
  ) {
    var object = gc_insight_object()
    object.sequence = 2
    object.kind = UInt32(kind)
    object.width = 1
    Self.copy(label, &object.label)
    change(&object)
    put(object, number, head.objects)
    head.objects_used = max(head.objects_used, UInt32(number) + 1)
  }

  /// An object that is no queue.
  mutating func watched(
    _ number: Int, _ kind: Int, _ what: String, _ change: (inout gc_insight_state) -> Void
  ) {
    object(number, "", kind) { object in
      var state = gc_insight_state()
      Self.copy(what, &state.what)
      change(&state)
      withUnsafeMutablePointer(to: &object) { gc_insight_object_state($0).pointee = state }
    }
  }

  mutating func name(_ number: Int, _ text: String) {
    var name = gc_insight_name()
    name.length = UInt32(min(56, text.utf8.count))
    Self.copy(text, &name.text)
    put(name, number, head.names)
    head.names_used = max(head.names_used, UInt32(number) + 1)
  }

  /// The next chunk, in the order of their numbers.
  mutating func chunk(
    _ index: Int, _ thread: Int, _ identifier: pid_t, _ records: [gc_insight_record], isFull: Bool = false,
    lost: UInt64 = 0, begun: UInt64 = 0
  ) {
    var chunk = RegionChunk.Head()
    chunk.state = UInt32(isFull ? GC_CHUNK_FULL : GC_CHUNK_WRITTEN)
    chunk.count = UInt32(records.count)
    chunk.number = nextChunk
    chunk.tid = UInt32(identifier)
    chunk.thread = UInt32(thread)
    chunk.lost = lost
    chunk.counter = begun
    Self.copy("thread \(identifier)", &chunk.name)
    nextChunk += 1
    head.next_chunk = nextChunk
    put(chunk, index, head.chunks)
    let start = Int(head.chunks.offset) + index * Int(head.chunks.stride) + Int(GC_INSIGHT_CHUNK_HEAD)
    records.withUnsafeBytes { bytes.replaceSubrange(start..<start + $0.count, with: $0) }
    head.chunks_used = max(head.chunks_used, UInt32(index) + 1)
  }

  static func record(
    _ kind: Int, at time: UInt64, length: UInt32 = 0, queue: UInt32 = 0, argument: UInt32 = 0, word: UInt64 = 0,
    detail: UInt16 = 0
  ) -> gc_insight_record {
    gc_insight_record(
      time: time, length: length, kind: UInt8(kind), qos: 0, detail: detail, queue: queue, argument: argument,
      word: word)
  }
}

/// A trace of made-up regions, read again.
struct MadeUpTrace {
  private(set) var slices: [ReadFact.Slice] = []
  private(set) var instants: [ReadFact.Slice] = []
  private(set) var counters: [(track: UInt64, time: UInt64, value: Double)] = []
  let tracks: [UInt64: ReadTrack]
  let isDamaged: Bool
  let unfinished: Int
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    var facts: [ReadFact] = []
    let reader = TraceReader { facts.append($0) }
    var proto = ProtoReader(bytes[...])
    while let (_, value) = proto.next() { reader.packet(value.data) }
    reader.finish()
    tracks = reader.tracks
    isDamaged = reader.isDamaged || proto.isDamaged
    unfinished = reader.unfinished
    for fact in facts {
      switch fact {
      case .slice(let slice): slices.append(slice)
      case .instant(let slice): instants.append(slice)
      case .counter(let track, let time, let value): counters.append((track, time, value))
      }
    }
  }

  /// What a collector makes of a region.
  static func collect(
    _ region: RegionReader, passes: Int = 1, limit: UInt64 = .max, since: UInt64 = 0,
    seen: (Collector) -> Void = { _ in }
  ) throws -> MadeUpTrace {
    let folder = TemporaryFolder()
    let output = try TraceOutput(folder.path + "/trace")
    let writer = PerfettoWriter(output)
    let collector = Collector(region, writer, number: 0, TracedProcess(running: getpid()), since: since)
    for pass in 0..<passes { collector.pass(limit: limit, isLast: pass == passes - 1) }
    collector.finish()
    seen(collector)
    return MadeUpTrace(ProcessFile.bytes(folder.path + "/trace") ?? [])
  }

  func name(_ slice: ReadFact.Slice) -> String { tracks[slice.track]?.name ?? "" }

  /// Slices of one track overlap, which readers cannot draw.
  var overlaps: Int {
    var count = 0
    for (_, slices) in Dictionary(grouping: slices, by: { $0.track }) {
      let sorted = slices.sorted { ($0.begin, $0.end) < ($1.begin, $1.end) }
      for (one, next) in zip(sorted, sorted.dropFirst()) where next.begin < one.end { count += 1 }
    }
    return count
  }
}
