// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// A region that has been checked: what a process shows of itself, as values.
///
/// Nothing in it is trusted. Offsets, counts and strides are checked once against the size, and afterwards read from a copy,
/// because the process may change them.
final class RegionReader {
  static let version: UInt32 = GC_INSIGHT_VERSION
  /// The first version has queues for objects, and nothing else that differs.
  private static let versions = 1...version

  let memory: RegionMemory
  let head: gc_insight_head
  /// The process's number as it has it itself: in a container it is another one here.
  let process: pid_t
  /// Made at its first use, as that may take some milliseconds for a region that is new.
  private(set) lazy var clock = RegionClock(counter: head.counter, uptime: head.uptime)
  /// The library's version.
  let library: String

  init(_ memory: RegionMemory) throws(RegionFailure) {
    guard let head: gc_insight_head = memory.copy(at: 0) else { throw .damaged("it has no head") }
    guard head.magic == UInt64(GC_INSIGHT_MAGIC) else { throw .damaged("it does not begin as it should") }
    guard Self.versions.contains(head.version) else { throw .otherVersion(head.version) }
    guard head.size <= UInt64(memory.count) else { throw .damaged("it is shorter than it says") }
    guard head.pid <= UInt32(Int32.max) else { throw .damaged("no process has the number \(head.pid)") }
    try Self.check(head.threads, MemoryLayout<gc_insight_thread>.size, memory, "threads", most: 1 << 14)
    try Self.check(head.objects, MemoryLayout<gc_insight_object>.size, memory, "objects", most: 1 << 20)
    try Self.check(head.names, MemoryLayout<gc_insight_name>.size, memory, "names", most: 1 << 20)
    try Self.check(head.chunks, Int(GC_INSIGHT_CHUNK_SIZE), memory, "chunks", most: 1 << 13)
    self.memory = memory
    self.head = head
    process = pid_t(head.pid)
    library = RegionText.text(head.library)
  }

  /// - Parameter most: More than any library has. Each look goes over all, and a file with holes in it costs its process nothing.
  private static func check(
    _ part: gc_insight_part, _ size: Int, _ memory: RegionMemory, _ name: String, most: UInt32
  ) throws(RegionFailure) {
    guard part.count <= most else { throw .damaged("its \(name) are too many") }
    guard part.stride >= size, part.stride % 8 == 0, part.offset % 64 == 0 else {
      throw .damaged("its \(name) are of another size")
    }
    // 32 bits each: the product has at most 64.
    let length = UInt64(part.count) * UInt64(part.stride)
    guard length <= UInt64(Int.max), memory.holds(Int(length), at: part.offset) else {
      throw .damaged("its \(name) do not fit into it")
    }
  }

  /// The list of mapped files that the process has written behind the region, as exact text; empty in most.
  var listOfFiles: String {
    let length = min(UInt64(memory.count) - head.size, 2 << 20)
    var bytes = [UInt8](repeating: 0, count: Int(length))
    let isCopied = bytes.withUnsafeMutableBytes { memory.copy(from: head.size, to: $0) }
    return isCopied ? ExactText.text(bytes) : ""
  }

  // MARK: Places

  /// How many entries of a part have ever been used.
  private func used(_ field: PartialKeyPath<gc_insight_head>, of part: gc_insight_part) -> Int {
    guard let offset = MemoryLayout<gc_insight_head>.offset(of: field) else { return 0 }
    return Int(min(memory.word32(at: UInt64(offset)) ?? 0, part.count))
  }

  /// The caller has checked the index against the count.
  private func place(_ index: Int, in part: gc_insight_part) -> UInt64 {
    part.offset + UInt64(index) * UInt64(part.stride)
  }

  private static func offset(_ field: PartialKeyPath<gc_insight_head>) -> UInt64 {
    UInt64(MemoryLayout<gc_insight_head>.offset(of: field) ?? 0)
  }

  // MARK: Threads

  /// The threads that have met the engine and live. A thread whose entry changes all the time is left out.
  func threads() -> [RegionThread] {
    var torn = 0
    return threads(&torn)
  }

  /// - Parameter torn: Counts those that are left out.
  func threads(_ torn: inout Int) -> [RegionThread] {
    var found: [RegionThread] = []
    for index in 0..<used(\.threads_used, of: head.threads) {
      guard let raw = entry(index) else {
        torn += 1
        continue
      }
      if raw.tid != 0 { found.append(RegionThread(index: index, raw)) }
    }
    return found
  }

  /// Nil if the entry is free, or changes all the time.
  func thread(_ index: Int) -> RegionThread? {
    guard (0..<Int(head.threads.count)).contains(index) else { return nil }
    return entry(index).flatMap { $0.tid == 0 ? nil : RegionThread(index: index, $0) }
  }

  /// Nil if it changes all the time. The caller has checked the index against the count.
  private func entry(_ index: Int) -> gc_insight_thread? {
    let sequence = UInt64(MemoryLayout<gc_insight_thread>.offset(of: \.sequence) ?? 0)
    var tries = RegionMemory.tries
    return memory.stable(gc_insight_thread.self, at: place(index, in: head.threads), sequence: sequence, &tries)
  }

  /// Records that had no room, of each entry that has ever been used, whether its thread lives or not.
  func lostByThreads() -> [UInt64] {
    let field = UInt64(MemoryLayout<gc_insight_thread>.offset(of: \.lost) ?? 0)
    return (0..<used(\.threads_used, of: head.threads)).map {
      memory.word64(at: place($0, in: head.threads) + field) ?? 0
    }
  }

  /// Records of threads that have no entry.
  var lostWithoutEntry: UInt64 { memory.word64(at: Self.offset(\.lost)) ?? 0 }

  /// Threads that wait in one of the library's calls, and have no entry.
  var waitersWithoutEntry: UInt32 { memory.word32(at: Self.offset(\.unlisted)) ?? 0 }

  /// Workers that have begun and have no entry yet: they have neither slept nor waited. Older libraries do not tell.
  var workersWithoutEntry: [pid_t] {
    let part = head.workers
    // As of the other parts: more than any library has.
    guard part.count <= 1 << 12, part.stride == 4, part.offset % 4 == 0,
      memory.holds(Int(part.count) * 4, at: part.offset)
    else { return [] }
    return (0..<UInt64(part.count)).compactMap { index in
      memory.word32(at: part.offset + index * 4).flatMap { $0 == 0 ? nil : pid_t(exactly: $0) }
    }
  }

  // MARK: Objects and names

  /// The objects that have a number, gone or not. One whose entry changes all the time is left out.
  ///
  /// - Parameter torn: Counts those that are left out.
  func objects(_ torn: inout Int) -> [RegionObject] {
    // In all: few are changed at a time, and the process may say that it changes every one.
    var tries = RegionMemory.tries * 64
    var found: [RegionObject] = []
    for number in 1..<max(1, used(\.objects_used, of: head.objects)) {
      guard let raw = entry(UInt32(number), &tries) else {
        torn += 1
        continue
      }
      if raw.kind != GC_OBJECT_FREE { found.append(RegionObject(number: UInt32(number), raw)) }
    }
    return found
  }

  /// Nil if nothing has the number, or if its entry changes all the time.
  func object(_ number: UInt32) -> RegionObject? {
    guard number > 0, number < head.objects.count else { return nil }
    var tries = RegionMemory.tries
    return entry(number, &tries).flatMap { $0.kind == GC_OBJECT_FREE ? nil : RegionObject(number: number, $0) }
  }

  /// Nil if it changes all the time. The caller has checked the number against the count.
  private func entry(_ number: UInt32, _ tries: inout Int) -> gc_insight_object? {
    let sequence = UInt64(MemoryLayout<gc_insight_object>.offset(of: \.sequence) ?? 0)
    let place = place(Int(number), in: head.objects)
    return memory.stable(gc_insight_object.self, at: place, sequence: sequence, &tries)
  }

  /// A name of the program's own marks.
  func name(_ number: UInt32) -> String? {
    guard number > 0, number < head.names.count else { return nil }
    let place = place(Int(number), in: head.names)
    guard let length = memory.word32(at: place), length > 0, let raw: gc_insight_name = memory.copy(at: place) else {
      return nil
    }
    return RegionText.text(raw.text, atMost: Int(length))
  }

  // MARK: Chunks

  /// The number that the next chunk gets that is begun.
  var nextChunk: UInt64 { memory.word64(at: Self.offset(\.next_chunk)) ?? 0 }

  var chunkCount: Int { used(\.chunks_used, of: head.chunks) }

  /// What a chunk holds from a record on; nil if it is free, or has been begun anew while it was read.
  ///
  /// `records` is filled with as many as are whole.
  func chunk(_ index: Int, from first: Int, records: inout [gc_insight_record]) -> RegionChunk? {
    records.removeAll(keepingCapacity: true)
    guard (0..<Int(head.chunks.count)).contains(index) else { return nil }
    let place = place(index, in: head.chunks)
    guard let state = memory.word32(at: place), state != GC_CHUNK_FREE else { return nil }
    let numberPlace = place + UInt64(MemoryLayout<RegionChunk.Head>.offset(of: \.number) ?? 0)
    let countPlace = place + UInt64(MemoryLayout<RegionChunk.Head>.offset(of: \.count) ?? 0)
    guard let number = memory.word64(at: numberPlace), number > 0, let count = memory.word32(at: countPlace),
      let raw: RegionChunk.Head = memory.copy(at: place)
    else { return nil }
    let whole = min(Int(count), RegionChunk.room)
    if first < whole {
      let start = place + UInt64(GC_INSIGHT_CHUNK_HEAD) + UInt64(first * MemoryLayout<gc_insight_record>.stride)
      let length = whole - first
      records.reserveCapacity(RegionChunk.room)
      records.append(contentsOf: repeatElement(gc_insight_record(), count: length))
      guard records.withUnsafeMutableBytes({ memory.copy(from: start, to: $0) }) else { return nil }
    }
    // It is still the same chunk, so the copied records belong to it.
    RegionReader.fence()
    guard memory.word64(at: numberPlace) == number else { return nil }
    return RegionChunk(index: index, state: state, number: number, end: whole, raw)
  }

  /// Gives a chunk back that is full and has been read.
  func release(_ chunk: RegionChunk) -> Bool {
    memory.exchange(UInt32(GC_CHUNK_FULL), for: UInt32(GC_CHUNK_FREE), at: place(chunk.index, in: head.chunks))
  }

  // MARK: Switches

  var switches: UInt32 { memory.word32(at: Self.offset(\.switches)) ?? 0 }

  /// Switches on; returns what was on before, or nil if the region cannot be changed.
  func switchOn(_ bits: UInt32) -> UInt32? { memory.set(bits, at: Self.offset(\.switches)) }

  func switchOff(_ bits: UInt32) { memory.clear(bits, at: Self.offset(\.switches)) }

  /// When a tool that takes the records last said that it is alive; nil if no tool does, or none has begun yet.
  private var lastBeat: UInt64? {
    guard switches & UInt32(GC_SWITCH_COLLECT) != 0, let beat = memory.word64(at: Self.offset(\.heartbeat)) else {
      return nil
    }
    return beat == 0 ? nil : beat
  }

  /// Whether another tool takes the records: two tools would each get a part of them.
  var isCollected: Bool {
    lastBeat.map { RegionClock.now().uptime < $0 &+ UInt64(GC_INSIGHT_PATIENCE) } ?? false
  }

  /// Switches off what a killed tool has left on. What the process's environment asks for stays on; `process` is its number here.
  func dropLeftovers(of process: pid_t) {
    guard lastBeat != nil, !isCollected else { return }
    let records = KernelReading.environment(process, "GRANDCENTRAL_RECORD") != nil
    switchOff(UInt32(GC_SWITCH_COLLECT | (records ? 0 : GC_SWITCH_RECORD)))
  }

  /// Says that a tool that collects is alive.
  func beat() { memory.store(RegionClock.now().uptime, at: Self.offset(\.heartbeat)) }
}
