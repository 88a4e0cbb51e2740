// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// The kernel's rings of requests: reads and writes that the kernel carries out by itself, several at a time.
///
///   submissions   we write entry `tail`, publish `tail + 1`, and tell the kernel; it has taken it when the call returns
///   completions   the kernel publishes `tail`; we read up to it, and publish `head` so that it may write there again
///
/// One thread at a time submits, and one at a time takes completions; the user's locks see to that. The descriptor is
/// readable while there are completions.
struct IORing: ~Copyable, @unchecked Sendable {  // the memory is shared with the kernel; callers hold their locks
  private typealias Word = UnsafeMutablePointer<Atomic<UInt32>>

  private let ring: gc_ring
  private let submitTail: Word
  private let completeHead: Word
  private let completeTail: Word

  /// What the kernel says about a request that is over.
  struct Completion {
    let token: UInt64
    /// A count, or the negated error number.
    let result: Int
  }

  var descriptor: Int32 { ring.fd }

  /// How many requests may be on their way: the kernel has room for the completions of twice as many.
  var entries: Int { Int(ring.entries) }

  /// Nil when the kernel has none, or none for us; says why.
  init?(entries: Int, or error: inout Errno?) {
    var ring = gc_ring()
    error = Errno(result: Int(gc_ring_open(UInt32(entries), &ring)))
    if error != nil { return nil }
    self.ring = ring
    // unsafe: an atomic is laid out as what it holds; the kernel's words stay where they are as long as the process.
    submitTail = Self.word(ring.submit_tail)
    completeHead = Self.word(ring.complete_head)
    completeTail = Self.word(ring.complete_tail)
  }

  private static func word(_ address: UnsafeMutablePointer<UInt32>) -> Word {
    // unsafe: see `init`.
    UnsafeMutableRawPointer(address).assumingMemoryBound(to: Atomic<UInt32>.self)
  }

  /// Hands one request to the kernel. The spans and what they cover stay in place until its completion.
  ///
  /// - Returns: false if the kernel does not take it now.
  borrowing func submit(
    writes: Bool, _ descriptor: Int32, _ spans: UnsafePointer<IOSpan>, _ count: Int, at offset: Int64, token: UInt64
  ) -> Bool {
    // relaxed: only the submitter writes it.
    let tail = submitTail.pointee.load(ordering: .relaxed)
    withUnsafePointer(to: ring) {
      gc_ring_prepare($0, tail & ring.submit_mask, writes, descriptor, spans, Int32(count), offset, token)
    }
    // relaxed: the kernel looks in the call below, on this thread; no kernel thread polls the ring.
    submitTail.pointee.store(tail &+ 1, ordering: .relaxed)
    if withUnsafePointer(to: ring, { gc_ring_submit($0, 1) }) == 1 { return true }
    // relaxed: as above. There is no request after all.
    submitTail.pointee.store(tail, ordering: .relaxed)
    return false
  }

  /// No more requests. In a forked child the program may have closed the parent's ring by its number, and have a file there.
  func close(inChild: Bool) {
    if inChild { withUnsafePointer(to: ring) { gc_ring_leave($0) } } else { FileReading.close(descriptor) }
  }

  /// The next completion, if there is one.
  borrowing func take() -> Completion? {
    // relaxed: only the taker writes it.
    let head = completeHead.pointee.load(ordering: .relaxed)
    // pairs with: the kernel's own store – publishes the completion
    if completeTail.pointee.load(ordering: .acquiring) == head { return nil }
    // unsafe: 16 bytes for each completion, as many as the mask says.
    let entry = ring.completions + Int(head & ring.complete_mask) * 16
    let completion = Completion(
      token: entry.load(as: UInt64.self), result: Int(entry.load(fromByteOffset: 8, as: Int32.self)))
    // pairs with: the kernel's own load – publishes that the entry was read, and may be written again
    completeHead.pointee.store(head &+ 1, ordering: .releasing)
    return completion
  }
}
