// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The records of a region of the last seconds, for the key t.
struct TopHistory {
  static let seconds = 10.0
  /// 64 megabytes: a process that records faster than that fills has fewer seconds.
  static let mostChunks = 1024

  private var chunks: [SavedChunk] = []
  /// Chunks were left out that were not old yet.
  private(set) var isCut = false

  var count: Int { chunks.count }

  /// A chunk is full, or about to be given back.
  mutating func add(_ chunk: SavedChunk) {
    if chunk.number == chunks.last?.number { return }
    let oldest = chunk.time &- min(UInt64(Self.seconds * 1e9), chunk.time)
    let old = chunks.prefix { $0.time < oldest }.count
    if old > 0 {
      chunks.removeFirst(old)
      isCut = false
    }
    if chunks.count >= Self.mostChunks {
      chunks.removeFirst(chunks.count - Self.mostChunks + 1)
      isCut = true
    }
    chunks.append(chunk)
  }

  /// The region with what has been kept, and what it has itself.
  func image(_ region: RegionReader) throws(RegionFailure) -> RegionReader {
    let known = Set(chunks.map(\.number))
    let own = (0..<region.chunkCount).compactMap { region.saved($0) }.filter { !known.contains($0.number) }
    return try region.image(with: chunks + own)
  }
}
