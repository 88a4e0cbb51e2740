// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Testing

@testable import GrandCentral

// Glibc's module does not have it.
@_silgen_name("malloc_usable_size")
private func usableSize(_ address: UnsafeMutableRawPointer) -> Int

@Suite("A lane in memory")
struct LaneLayoutTests {
  private static func words(of queue: DispatchQueue) -> [UInt] {
    let address = Unmanaged.passUnretained(queue).toOpaque()
    return (0..<usableSize(address) / 8).map { address.load(fromByteOffset: 8 * $0, as: UInt.self) }
  }

  /// In sixteenths of bytes: an object begins at any multiple of 16.
  private static func granule(of word: UInt?, in queue: DispatchQueue) throws -> Int {
    let word = try #require(word)
    let places = words(of: queue).indices.filter { words(of: queue)[$0] == word }
    #expect(places.count == 1)
    return try #require(places.last) * 8 / 16
  }

  @Test(
    "what pushers write for each item is far from what the drainer reads, and from what syncers of the next queue write"
  )
  func lines() throws {
    let queue = DispatchQueue(label: "laid out", attributes: .initiallyInactive)
    queue.async {}
    queue.async {}
    let newest = try Self.granule(of: UInt(bitPattern: queue.items.newestNode), in: queue)
    let state = try Self.granule(of: UInt(queue.state.load().rawValue), in: queue)
    // The word that begins with the lane's QoS, and has its kind behind that.
    let word = Self.words(of: queue)[5]
    #expect(UInt16(truncatingIfNeeded: word) == queue.ownQoS.rawValue)
    let kind = try Self.granule(of: word, in: queue)
    // Four granules are a cache line: never in one with the next queue, and with its own state and kind at one and two of four places.
    #expect(newest - state == 3 && newest - kind == 2)
    #expect(state + 112 / 16 - newest == 4)
    queue.activate()
    queue.sync {}
  }

  @Test("tools find a lane's state where the library says, and its fields where the header says")
  func word() {
    let queue = DispatchQueue(label: "read", attributes: .initiallyInactive)
    queue.async {}
    let address = UnsafeRawPointer(Unmanaged.passUnretained(queue).toOpaque())
    let word = address.load(fromByteOffset: Int(queue.placeOfState), as: UInt64.self)
    #expect(word == queue.state.load().rawValue)
    #expect(LaneState.ownerMask == UInt64(GC_QUEUE_OWNER_MASK))
    #expect(LaneState.readerMask == UInt64(GC_QUEUE_OWNER_MASK) << UInt64(GC_QUEUE_READERS_SHIFT))
    #expect(LaneState.enqueued == 1 << UInt64(GC_QUEUE_ON_ITS_WAY_SHIFT))
    queue.activate()
    queue.sync {}
  }

  @Test("a queue needs 112 bytes of the allocator's, of which it has 104")
  func size() {
    // Where the C library has just the room of something larger that was freed, it gives that: so there are many.
    let queues = (0..<1000).map { _ in DispatchQueue(label: "small") }
    // A sanitizer's allocator says what was asked for, which is less.
    #expect(queues.map { usableSize(Unmanaged.passUnretained($0).toOpaque()) }.min()! <= 104)
  }
}
