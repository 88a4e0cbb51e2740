// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Writes down what happens, while recording is on: 32 bytes each, into chunks of the insight region.
///
/// Off, it costs a test of a byte at a fixed address, and a branch. On, a record is a reading of the processor's counter, four stores,
/// and one that publishes them; it allocates nothing and calls nothing, except once in 2,046 records.
///
/// Recorder.K1  A chunk is written by the thread that has made it `written`, and by no other, until that thread makes it
///     `full`.
/// Recorder.K2  `count` says how many records are whole. It is published after the last of them.
/// Recorder.K3  A full chunk is taken by exchange: by the tool, which makes it free, or by a thread, which writes it anew. Its
///     `number` changes with each use, so a reader that finds another number at its end has read two chunks.
enum Recorder {
  /// Whether what happens is wanted: by a recording tool, a simulation, or a tracer at the probes.
  @inline(__always)
  static var isOn: Bool { InsightLayout.hears }

  /// Whether records of what happens are kept, or told to a simulation.
  static var keepsRecords: Bool {
    InsightLayout.switches & (InsightLayout.Switch.record | InsightLayout.Switch.simulate) != 0
  }

  /// Whether objects get their numbers when they are made.
  @inline(__always)
  static var numbersObjects: Bool { InsightLayout.lists }

  enum Kind: UInt8 {
    case item = 1
    case submit
    case syncBegin
    case syncEnd
    case wait
    case sleep
    case wake
    case workerBegin
    case workerEnd
    case suspend
    case resume
    case retarget
    case freed
    case timer
    case source
    case signal
    case groupEmpty
    case compensate
    case mark
    case intervalBegin
    case intervalEnd
    case counter
    case transfer
    case apply
    case steal
    case span
  }

  /// Something that happens now.
  @inline(never)
  static func note(_ kind: Kind, detail: UInt16 = 0, queue: UInt32 = 0, argument: UInt32 = 0, word: UInt64 = 0) {
    write(kind.rawValue, Cycles.now, 0, detail, queue, argument, word)
  }

  /// Something that has lasted since `begun`, a reading of the counter.
  @inline(never)
  static func note(
    _ kind: Kind, since begun: UInt64, detail: UInt16 = 0, queue: UInt32 = 0, argument: UInt32 = 0, word: UInt64 = 0
  ) {
    let now = Cycles.now
    note(kind, from: begun, to: now, detail: detail, queue: queue, argument: argument, word: word)
  }

  @inline(__always)
  static func note(
    _ kind: Kind, from begun: UInt64, to ended: UInt64, detail: UInt16 = 0, queue: UInt32, argument: UInt32,
    word: UInt64
  ) {
    // Processors' counters may differ by little: nothing has a negative length.
    let length = ended > begun ? ended &- begun : 0
    if length <= UInt64(UInt32.max) {
      write(kind.rawValue, ended, UInt32(truncatingIfNeeded: length), detail, queue, argument, word)
    } else {
      let coarse = UInt32(truncatingIfNeeded: min(length >> 10, UInt64(UInt32.max)))
      write(kind.rawValue | InsightLayout.coarse, ended, coarse, detail, queue, argument, word)
    }
  }

  @inline(__always)
  private static func write(
    _ kind: UInt8, _ time: UInt64, _ length: UInt32, _ detail: UInt16, _ queue: UInt32, _ argument: UInt32,
    _ word: UInt64
  ) {
    let thread = gc_thread_self()
    if thread.pointee.record_count >= thread.pointee.record_limit, !RecorderChunks.begin(thread, kind, queue) {
      return
    }
    let count = thread.pointee.record_count
    let chunk = thread.pointee.record_chunk.unsafelyUnwrapped
    // unsafe: Recorder.K1; the count is below the limit, which is the chunk's room.
    let place = chunk + InsightLayout.chunkHead + Int(count) * MemoryLayout<InsightLayout.Record>.stride
    place.assumingMemoryBound(to: InsightLayout.Record.self).initialize(
      to: InsightLayout.Record(
        time: time, length: length, kind: kind, qos: UInt8(truncatingIfNeeded: thread.pointee.qos >> 8), detail: detail,
        queue: queue, argument: argument, word: word))
    thread.pointee.record_count = count &+ 1
    // pairs with: readers in other processes – publishes the record (Recorder.K2)
    chunk.assumingMemoryBound(to: InsightLayout.Chunk.self).count.pointee.store(count &+ 1, ordering: .releasing)
  }

  /// The calling thread ends.
  static func giveUpChunk() { RecorderChunks.finish(gc_thread_self()) }
}

/// How threads come to chunks, and leave them.
enum RecorderChunks {
  /// Guarded by the region's lock: chunks behind it have never been used.
  nonisolated(unsafe) private static var used = 0
  /// Guarded by the region's lock: how many chunks have been begun.
  nonisolated(unsafe) private static var begun: UInt64 = 0
  /// How many chunks a thread keeps where no tool takes them away.
  private static let kept = 4
  /// Without room, this many records are lost before a thread looks for room again.
  private static let pause: UInt32 = 64

  private static var limit: UInt32 { InsightLayout.recordsInChunk }
  private static var collects: Bool { InsightLayout.switches & InsightLayout.Switch.collect != 0 }

  /// Gives the thread a chunk with room for a record; false if it has none. A simulated thread never has: the simulation is told of
  /// the record instead, and may let another thread go on.
  @inline(never)
  static func begin(_ thread: UnsafeMutablePointer<gc_thread>, _ kind: UInt8, _ queue: UInt32) -> Bool {
    let switches = InsightLayout.switches
    if switches & InsightLayout.Switch.simulate != 0 {
      World.note(kind & ~InsightLayout.coarse, queue)
      if World.isSimulated { return false }
    }
    if switches & InsightLayout.Switch.record == 0 { return false }
    // Without an entry, no chunk: a reader must be able to say which thread's it is.
    guard let memory = InsightRegion.awaited, let me = InsightThread.ready else {
      InsightRegion.noteLoss()
      return false
    }
    if thread.pausesRecording() {
      me.countLoss()
      return false
    }
    finish(thread)
    InsightRegion.lock.lock()
    let index = choose(me, memory)
    if let index { prepare(InsightRegion.chunk(index, memory), me, memory) }
    InsightRegion.lock.unlock()
    guard let index else {
      me.countLoss()
      thread.pointee.record_count = pause - 1
      // There is no room: the tool that has asked for records may have died without turning them off.
      if collects { InsightRegion.lookAfterTool() }
      return false
    }
    thread.pointee.record_chunk = UnsafeMutableRawPointer(InsightRegion.chunk(index, memory))
    thread.pointee.record_count = 0
    thread.pointee.record_limit = limit
    return true
  }

  /// The thread's chunk, if it has one, is full, or the thread ends.
  static func finish(_ thread: UnsafeMutablePointer<gc_thread>) {
    guard let raw = thread.pointee.record_chunk else { return }
    thread.forgetChunk()
    // pairs with: choose – publishes the records (Recorder.K1)
    raw.assumingMemoryBound(to: InsightLayout.Chunk.self).state.pointee
      .store(InsightLayout.ChunkState.full, ordering: .releasing)
  }

  /// The caller holds the lock.
  private static func prepare(
    _ chunk: UnsafeMutablePointer<InsightLayout.Chunk>, _ me: InsightThread, _ memory: UnsafeMutableRawPointer
  ) {
    let (counter, uptime) = Cycles.moment()
    begun += 1
    InsightRegion.head.pointee.next_chunk = begun + 1
    // relaxed: published with the number.
    chunk.count.pointee.store(0, ordering: .relaxed)
    // pairs with: readers in other processes – publishes that none of the old chunk's records is there any more
    chunk.number.pointee.store(begun, ordering: .releasing)
    // seq-cst: as a fence that releases, see InsightSequence; a reader's copy would have records of this use, and its second look the
    // former number.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    chunk.pointee.tid = Thread.id
    chunk.pointee.thread = UInt32(me.entry - InsightRegion.threads(memory))
    chunk.pointee.counter = counter
    chunk.pointee.uptime = uptime
    chunk.pointee.lost = me.entry.pointee.lost
    chunk.nameCallingThread()
  }

  /// A chunk that is the caller's from now on. The caller holds the lock.
  @_optimize(size)
  private static func choose(_ me: InsightThread, _ memory: UnsafeMutableRawPointer) -> Int? {
    let mine = UInt32(me.entry - InsightRegion.threads(memory))
    var own = 0
    var oldestOfMine: Int?
    var oldest: Int?
    for index in 0..<used {
      let chunk = InsightRegion.chunk(index, memory)
      // pairs with: finish – publishes the records, and which thread's they are
      let seen = chunk.state.pointee.load(ordering: .acquiring)
      if seen == InsightLayout.ChunkState.free, take(chunk, from: seen) { return index }
      guard !collects, seen == InsightLayout.ChunkState.full else { continue }
      if older(index, oldest, memory) { oldest = index }
      guard chunk.pointee.thread == mine else { continue }
      own += 1
      if older(index, oldestOfMine, memory) { oldestOfMine = index }
    }
    if own < kept || collects, let fresh = takeUnused(memory) { return fresh }
    if collects { return nil }
    for index in [oldestOfMine, oldest] {
      if let index, take(InsightRegion.chunk(index, memory), from: InsightLayout.ChunkState.full) { return index }
    }
    return nil
  }

  private static func older(_ index: Int, _ other: Int?, _ memory: UnsafeMutableRawPointer) -> Bool {
    guard let other else { return true }
    return InsightRegion.chunk(index, memory).pointee.number < InsightRegion.chunk(other, memory).pointee.number
  }

  private static func takeUnused(_ memory: UnsafeMutableRawPointer) -> Int? {
    if used == InsightRegion.layout.chunks { return nil }
    // relaxed: no other thread looks at it before the count says so, and then at its state first.
    InsightRegion.chunk(used, memory).state.pointee.store(InsightLayout.ChunkState.written, ordering: .relaxed)
    used += 1
    InsightRegion.head.pointee.chunks_used = UInt32(used)
    return used - 1
  }

  private static func take(_ chunk: UnsafeMutablePointer<InsightLayout.Chunk>, from seen: UInt32) -> Bool {
    // pairs with: finish – publishes the old records, which are overwritten
    // relaxed: a thread that fails looks at another chunk.
    chunk.state.pointee.compareExchange(
      expected: seen, desired: InsightLayout.ChunkState.written, successOrdering: .acquiring, failureOrdering: .relaxed
    ).exchanged
  }

  /// Child of a fork: it begins with a region of its own.
  static func resetAfterFork() {
    used = 0
    begun = 0
  }
}
