// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

extension FIFOQueue {
  /// A handle on 64 words of raw memory: 63 slots, then the link to the next segment.
  ///
  /// A slot is nil while it is empty, then the value, then `consumed`.
  struct Segment {
    typealias Word = Atomic<UnsafeMutableRawPointer?>

    let raw: UnsafeMutableRawPointer

    /// Slots in a segment; the place behind the last one, where the link is.
    static let places = 63
    static let lastPlace = places - 1

    /// unsafe: no value has this address, and no code follows it.
    private static var consumed: UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: 1)! }

    /// A ticket's place in its segment.
    @inline(__always)
    static func place(_ ticket: UInt64) -> Int { Int(truncatingIfNeeded: ticket & 63) }

    /// How many slots come before `ticket`'s.
    @inline(__always)
    static func position(_ ticket: UInt64) -> UInt64 { ticket &- ticket &>> 6 }

    @inline(__always)
    init(raw: UnsafeMutableRawPointer) { self.raw = raw }

    /// A new segment, all slots empty.
    static func make() -> Segment {
      let size = (places + 1) * MemoryLayout<Word>.stride
      let segment = Segment(raw: Memory.allocate(size, alignment: 64))
      for place in 0...places { segment.word(place).initialize(to: Word(nil)) }
      return segment
    }

    /// unsafe: `place` is at most 63, and the memory is there while the ticket's owner has not consumed its slot
    /// (FIFOQueue.F4).
    @inline(__always)
    private func word(_ place: Int) -> UnsafeMutablePointer<Word> {
      raw.assumingMemoryBound(to: Word.self) + place
    }

    /// The link to the next segment; of a retired one, to the next one in limbo.
    var next: UnsafeMutablePointer<Word> { word(Self.places) }

    // MARK: One slot

    @inline(__always)
    func write(_ value: UnsafeMutableRawPointer, at place: Int) {
      // pairs with: read – publishes what the value points to
      word(place).pointee.store(value, ordering: .releasing)
    }

    @inline(__always)
    func read(at place: Int) -> UnsafeMutableRawPointer {
      // Written below, by no thread but this one.
      gc_prefetch_write(word(place))
      // pairs with: write – publishes what the value points to
      let value = word(place).pointee.load(ordering: .acquiring) ?? readSlow(at: place)
      // pairs with: isConsumed – publishes that this thread is done with the segment
      word(place).pointee.store(Self.consumed, ordering: .releasing)
      return value
    }

    /// The enqueuer has its ticket and is about to write.
    @inline(never)
    private func readSlow(at place: Int) -> UnsafeMutableRawPointer {
      var backoff = Backoff()
      while true {
        // pairs with: write – publishes what the value points to
        if let value = word(place).pointee.load(ordering: .acquiring) { return value }
        backoff.wait()
      }
    }

    /// The next segment. The thread that took the last ticket at the tail has linked it, or is about to link it.
    func findNext() -> Segment {
      var backoff = Backoff()
      while true {
        // pairs with: enqueueLast – publishes the empty segment
        if let raw = next.pointee.load(ordering: .acquiring) { return Segment(raw: raw) }
        backoff.wait()
      }
    }

    // MARK: All slots

    /// Whether no thread will touch the segment, which has been retired, any more.
    var isConsumed: Bool {
      for place in 0..<Self.places {
        // pairs with: read – publishes that the slot's reader is done with the segment
        if word(place).pointee.load(ordering: .acquiring) != Self.consumed { return false }
      }
      return true
    }

    /// Empties all slots.
    func clear() {
      // relaxed: giveSpare publishes them.
      for place in 0...Self.places { word(place).pointee.store(nil, ordering: .relaxed) }
    }

    static func freeChain(_ first: UnsafeMutableRawPointer?) {
      var rest = first
      while let raw = rest {
        // relaxed: the last thread that knows the queue frees it.
        rest = Segment(raw: raw).next.pointee.load(ordering: .relaxed)
        Memory.free(raw)
      }
    }
  }
}
