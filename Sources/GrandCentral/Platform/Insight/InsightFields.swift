// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// The fields of the insight region that several threads, or processes, use at once, as the atomic words that they are; and the
// fields with text.
//
// unsafe: a word is laid out as an atomic one, and these are used only so. A field lives as long as its structure, which is never
// freed.

extension UnsafeMutablePointer<InsightLayout.Head> {
  @inline(__always)
  var switches: UnsafeMutablePointer<Atomic<UInt32>> { atomic(gc_insight_head_switches(self)) }

  // Figures for readers in other processes.
  // relaxed: nothing is concluded from them here.
  func show(parallelism: UInt32) {
    atomic(gc_insight_head_parallelism(self)).pointee.store(parallelism, ordering: .relaxed)
  }
  func show(moreUnlisted change: UInt32) {
    atomic(gc_insight_head_unlisted(self)).pointee.wrappingAdd(change, ordering: .relaxed)
  }
  /// Threads that lose records at the same time may come here in any order.
  // relaxed: as above.
  func show(lost: UInt64) { atomic(gc_insight_head_lost(self)).pointee.max(lost, ordering: .relaxed) }
}

extension UnsafeMutablePointer<InsightLayout.ThreadEntry> {
  @inline(__always)
  var tid: UnsafeMutablePointer<Atomic<UInt32>> { atomic(gc_insight_thread_tid(self)) }
  @inline(__always)
  var sequence: UnsafeMutablePointer<Atomic<UInt32>> { atomic(gc_insight_thread_sequence(self)) }
  /// Makes everything behind the sequence zero, but for what is lost.
  func clear() { gc_insight_thread_clear(self) }
  var waitsFor: UnsafeMutableRawBufferPointer { label(gc_insight_thread_waits_for(self)) }
  var inside: UnsafeMutableRawBufferPointer { label(gc_insight_thread_inside(self)) }

  private func label(_ start: UnsafeMutableRawPointer) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(start: start, count: Int(GC_INSIGHT_LABEL))
  }
}

extension UnsafeMutablePointer<InsightLayout.ObjectEntry> {
  @inline(__always)
  var sequence: UnsafeMutablePointer<Atomic<UInt32>> { atomic(gc_insight_object_sequence(self)) }
  var label: UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(
      start: gc_insight_object_label(self), count: MemoryLayout.size(ofValue: pointee.label))
  }
}

extension UnsafeMutablePointer<InsightLayout.ObjectEntry> {
  /// What an object that is no queue has in place of a label.
  @inline(__always)
  var state: UnsafeMutablePointer<InsightLayout.ObjectState> { gc_insight_object_state(self) }
}

extension InsightLayout.ObjectEntry {
  /// The same for a copy of an entry.
  var state: InsightLayout.ObjectState { withUnsafePointer(to: self) { gc_insight_state_of($0) } }
}

extension UnsafeMutablePointer<InsightLayout.ObjectState> {
  @inline(__always)
  var count: UnsafeMutablePointer<Atomic<UInt64>> { atomic(gc_insight_state_count(self)) }
  /// Of a channel: since when a read, or a write, has waited for its descriptor.
  func show(reads: Bool, since moment: UInt64) { gc_insight_state_since(self, reads, moment) }
  /// Of a group: when it last changed.
  func show(change moment: UInt64) { gc_insight_state_since(self, true, moment) }
  func show(due: UInt64, interval: UInt64, leeway: UInt64, clock: UInt32) {
    gc_insight_state_schedule(self, due, interval, leeway, clock)
  }
  func show(descriptor: Int32, operations: UInt64, barriers: UInt32) {
    gc_insight_state_operations(self, descriptor, operations, barriers)
  }
  @inline(__always)
  var bytes: UnsafeMutablePointer<Atomic<UInt64>> { atomic(gc_insight_state_bytes(self)) }
  var what: UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(start: gc_insight_state_what(self), count: MemoryLayout.size(ofValue: pointee.what))
  }
}

extension UnsafeMutablePointer<InsightLayout.NameEntry> {
  @inline(__always)
  var length: UnsafeMutablePointer<Atomic<UInt32>> { atomic(gc_insight_name_length(self)) }
  var text: UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(start: gc_insight_name_text(self), count: MemoryLayout.size(ofValue: pointee.text))
  }
}

extension UnsafeMutablePointer<InsightLayout.Chunk> {
  @inline(__always)
  var state: UnsafeMutablePointer<Atomic<UInt32>> { atomic(gc_insight_chunk_state(self)) }
  @inline(__always)
  var count: UnsafeMutablePointer<Atomic<UInt32>> { atomic(gc_insight_chunk_count(self)) }
  @inline(__always)
  var number: UnsafeMutablePointer<Atomic<UInt64>> { atomic(gc_insight_chunk_number(self)) }
  /// Puts the calling thread's name there.
  func nameCallingThread() { gc_thread_get_name(gc_insight_chunk_name(self).assumingMemoryBound(to: CChar.self)) }
}

extension UnsafeMutablePointer<gc_thread> {
  /// The thread has no chunk any more, and may look for one.
  func forgetChunk() { gc_insight_forget_chunk(self) }
  /// Whether the thread, which has found no free chunk, waits before it looks for one again.
  func pausesRecording() -> Bool { gc_insight_pauses(self) }
}

@inline(__always)
private func atomic<Word>(_ word: UnsafeMutablePointer<Word>) -> UnsafeMutablePointer<Atomic<Word>> {
  UnsafeMutableRawPointer(word).assumingMemoryBound(to: Atomic<Word>.self)
}
