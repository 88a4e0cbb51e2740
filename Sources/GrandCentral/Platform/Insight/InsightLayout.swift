// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// What lies where in the insight region: the C header's structures and numbers by their names in Swift.
enum InsightLayout {
  typealias Head = gc_insight_head
  typealias Part = gc_insight_part
  typealias ThreadEntry = gc_insight_thread
  typealias ObjectEntry = gc_insight_object
  typealias ObjectState = gc_insight_state
  typealias NameEntry = gc_insight_name
  typealias Record = gc_insight_record
  typealias Chunk = gc_insight_chunk

  static let version = UInt32(GC_INSIGHT_VERSION)
  static let magic = UInt64(GC_INSIGHT_MAGIC)
  static let page = Int(GC_INSIGHT_PAGE)
  static let chunkSize = Int(GC_INSIGHT_CHUNK_SIZE)
  static let chunkHead = Int(GC_INSIGHT_CHUNK_HEAD)
  static let recordsInChunk = UInt32(GC_INSIGHT_RECORDS)
  static let patience = UInt64(GC_INSIGHT_PATIENCE)
  static let coarse = UInt8(GC_RECORD_COARSE)
  static let cancelled = UInt32(GC_OBJECT_CANCELLED)

  enum Switch {
    static let record = UInt32(GC_SWITCH_RECORD)
    static let objects = UInt32(GC_SWITCH_OBJECTS)
    static let collect = UInt32(GC_SWITCH_COLLECT)
    static let simulate = UInt32(GC_SWITCH_SIMULATE)
    static let probe = UInt32(GC_SWITCH_PROBE)
  }

  enum Role: UInt32 {
    case program = 0
    case worker
    case main
    case monitor
    /// The main thread in its loop: see GC_THREAD_MAIN_LOOP.
    case mainLoop
  }

  enum State {
    static let active = UInt32(GC_STATE_ACTIVE)
    static let asleep = UInt32(GC_STATE_ASLEEP)
    static let waits = UInt32(GC_STATE_WAITS)
  }

  enum ChunkState {
    static let free = UInt32(GC_CHUNK_FREE)
    static let written = UInt32(GC_CHUNK_WRITTEN)
    static let full = UInt32(GC_CHUNK_FULL)
  }

  // MARK: The process's own region

  /// The switches that are on: one load from a fixed address.
  @inline(__always)
  static var switches: UInt32 { gc_insight_switches() }

  /// Whether one of those is on with which anything is recorded: an instruction, and a branch.
  @inline(__always)
  static var hears: Bool { gc_insight_hears() }

  /// Whether objects are to be listed: an instruction, and a branch.
  @inline(__always)
  static var lists: Bool { gc_insight_lists() }

  /// Those that the environment has asked for when the program began.
  static var wishes: UInt32 { gc_insight_wishes() }

  /// Whether the process's address space is limited.
  static var isCramped: Bool { gc_insight_is_cramped() }

  /// Where the numbers of workers are that have no entry.
  static var workers: Part {
    Part(
      offset: UInt64(GC_INSIGHT_WORKERS_OFFSET), count: UInt32(GC_INSIGHT_WORKERS),
      stride: UInt32(MemoryLayout<UInt32>.stride))
  }

  /// A worker has begun and has not slept yet, or has ended: see `head.workers`.
  static func show(worker index: Int, _ tid: UInt32) { gc_insight_show_worker(index, tid) }

  /// The code that a job calls in the end: the C library knows; else it is the function that runs the job.
  static func code(of job: UInt, calledBy function: UInt) -> UInt { gc_code_of_job(job, function) }

  static var processID: UInt32 { gc_process_id() }

  /// Where the head is, before and after the region is made.
  @inline(__always)
  static var head: UnsafeMutablePointer<Head> { gc_insight_own_head() }

  /// The region's address and descriptor; nil where the kernel refuses it.
  static func make(_ size: Int, _ head: inout Head) -> (UnsafeMutableRawPointer, descriptor: Int32)? {
    var memory: UnsafeMutableRawPointer?
    let result = gc_insight_make(size, &head, &memory)
    guard result >= 0, let memory else { return nil }
    return (memory, result)
  }

  /// Child of a fork: the parent's region is not the child's.
  static func leave(_ memory: UnsafeMutableRawPointer?, _ size: Int, _ descriptor: Int32, switches: UInt32) {
    gc_insight_leave(memory, size, descriptor, switches)
  }

  /// The region as text, for signal handlers as well; false if there is none, or if it cannot be written.
  static func dump(to descriptor: Int32) -> Bool { gc_insight_dump(descriptor, .max) }

  /// The region as a core file, for signal handlers as well; false if there is none, or if it cannot be written.
  static func writeCore(to descriptor: Int32) -> Bool { gc_insight_write_core(descriptor, 0) }

  // MARK: Which entries of threads are in use (InsightRegion.G3)

  static let mostThreads = Int(GC_INSIGHT_THREADS)

  /// The first entry that is free now; nil if none is. The caller holds the region's lock.
  static func takeEntry(below count: Int) -> Int? {
    let index = gc_insight_take_entry(Int32(count))
    return index < 0 ? nil : Int(index)
  }

  /// The caller holds the region's lock.
  static func giveBackEntry(_ index: Int) { gc_insight_give_back_entry(Int32(index)) }

  /// Child of a fork, which has one thread: it begins with a region of its own.
  static func forgetEntries() { gc_insight_forget_entries() }

  /// The entry as it is; the sums in it change without a lock.
  static func copy(_ entry: UnsafeMutablePointer<ObjectEntry>) -> ObjectEntry {
    var copy = ObjectEntry()
    gc_insight_copy(&copy, entry, MemoryLayout<ObjectEntry>.size)
    return copy
  }

  /// The entry as it is; what its thread changes meanwhile may be half changed.
  static func copy(_ entry: UnsafeMutablePointer<ThreadEntry>) -> ThreadEntry {
    var copy = ThreadEntry()
    gc_insight_copy(&copy, entry, MemoryLayout<ThreadEntry>.size)
    return copy
  }
}
