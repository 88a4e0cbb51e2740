// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// A chunk that was copied out of a region: records of one thread.
struct SavedChunk {
  let number: UInt64
  /// When it was copied, in nanoseconds of CLOCK_MONOTONIC.
  let time: UInt64
  let bytes: [UInt8]
}

extension RegionReader {
  /// A copy of a chunk with the records that are whole; nil if it is free, or has been begun anew meanwhile.
  func saved(_ index: Int) -> SavedChunk? {
    guard (0..<Int(head.chunks.count)).contains(index) else { return nil }
    let place = head.chunks.offset + UInt64(index) * UInt64(head.chunks.stride)
    let numberPlace = place + UInt64(MemoryLayout<RegionChunk.Head>.offset(of: \.number) ?? 0)
    let countPlace = place + UInt64(MemoryLayout<RegionChunk.Head>.offset(of: \.count) ?? 0)
    guard let state = memory.word32(at: place), state != GC_CHUNK_FREE, let number = memory.word64(at: numberPlace),
      number > 0, let count = memory.word32(at: countPlace)
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(GC_INSIGHT_CHUNK_SIZE))
    guard bytes.withUnsafeMutableBytes({ memory.copy(from: place, to: $0) }) else { return nil }
    // It is still the same chunk, so what was copied belongs to it.
    RegionReader.fence()
    guard memory.word64(at: numberPlace) == number else { return nil }
    // Records that came meanwhile may be half there.
    bytes.withUnsafeMutableBytes { bytes in
      bytes.storeBytes(of: state, toByteOffset: 0, as: UInt32.self)
      bytes.storeBytes(of: count, toByteOffset: Int(countPlace - place), as: UInt32.self)
    }
    return SavedChunk(number: number, time: RegionClock.now().uptime, bytes: bytes)
  }

  /// The region as it is now, with these chunks in place of its own: what no process changes any more.
  func image(with chunks: [SavedChunk]) throws(RegionFailure) -> RegionReader {
    var head = head
    // Read again: what has been used since the region was found.
    guard let now: gc_insight_head = memory.copy(at: 0) else { throw .damaged("it has no head") }
    var offset = UInt64(4096)
    var bytes = [UInt8](repeating: 0, count: Int(offset))
    func take(_ part: gc_insight_part, _ used: UInt32) -> gc_insight_part {
      let count = min(used, part.count)
      var piece = [UInt8](repeating: 0, count: Int(count) * Int(part.stride))
      if !piece.withUnsafeMutableBytes({ memory.copy(from: part.offset, to: $0) }) { piece = [] }
      bytes += piece + [UInt8](repeating: 0, count: (64 - piece.count % 64) % 64)
      defer { offset = UInt64(bytes.count) }
      return gc_insight_part(offset: offset, count: count, stride: part.stride)
    }
    head.threads = take(head.threads, now.threads_used)
    head.objects = take(head.objects, now.objects_used)
    head.names = take(head.names, now.names_used)
    head.chunks = gc_insight_part(offset: offset, count: UInt32(chunks.count), stride: UInt32(GC_INSIGHT_CHUNK_SIZE))
    bytes.reserveCapacity(bytes.count + chunks.count * Int(GC_INSIGHT_CHUNK_SIZE))
    for chunk in chunks { bytes += chunk.bytes }
    (head.threads_used, head.objects_used, head.names_used) = (head.threads.count, head.objects.count, head.names.count)
    head.chunks_used = UInt32(chunks.count)
    head.next_chunk = now.next_chunk
    head.lost = now.lost
    head.unlisted = now.unlisted
    head.switches = 0
    head.size = UInt64(bytes.count)
    withUnsafeBytes(of: head) { bytes.replaceSubrange(0..<$0.count, with: $0) }
    return try RegionReader(RegionMemory(bytes: bytes))
  }
}
