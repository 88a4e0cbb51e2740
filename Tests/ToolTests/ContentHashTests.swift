// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IndexKit

@Suite("A content hash")
struct ContentHashTests {
  @Test("does not depend on how the contents are cut into chunks")
  func chunks() {
    var random = SeededGenerator.fresh("content hash chunks")
    for length in [0, 1, 63, 64, 65, 127, 128, 1000, 4096, 10_007] {
      let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
      let whole = hash(bytes)
      for limit in [1, 5, 64, 100, 5000] {
        var hasher = ContentHasher()
        var rest = bytes[...]
        while !rest.isEmpty {
          let piece = rest.prefix(Int.random(in: 1...limit, using: &random))
          piece.withUnsafeBytes { hasher.update($0.baseAddress!, count: $0.count) }
          rest = rest.dropFirst(piece.count)
        }
        #expect(hasher.finish() == whole, "length \(length), chunks up to \(limit)")
      }
    }
  }

  @Test("stays what it is from release to release")
  func vectors() {
    #expect(hash([]).hexadecimal == "5f1895eae83f49ed1ad6e1c690ab5e5b")
    #expect(hash(Array("GrandCentral".utf8)).hexadecimal == "4fd84f4b64144919f322194d067e6693")
    #expect(hash((0..<1000).map { UInt8(truncatingIfNeeded: $0) }).hexadecimal == "03233d3d9d0de1750426e75562d47c56")
  }

  @Test("forgets the file before when it is reset")
  func reset() {
    var hasher = ContentHasher()
    update(&hasher, Array("another file, longer than a stripe of sixty-four bytes, to leave all lanes changed".utf8))
    hasher.reset()
    update(&hasher, Array("this".utf8))
    #expect(hasher.finish() == hash(Array("this".utf8)))
  }

  @Test("tells runs of one byte apart by their length")
  func lengths() {
    for byte: UInt8 in [0, 1, 0xff] {
      let hashes = Set((0...2000).map { hash([UInt8](repeating: byte, count: $0)) })
      #expect(hashes.count == 2001)
    }
  }

  @Test("changes about half of its bits when one bit of the contents changes, wherever that is")
  func avalanche() {
    var random = SeededGenerator.fresh("content hash avalanche")
    let bytes = (0..<150).map { _ in UInt8.random(in: 0...255, using: &random) }
    let original = hash(bytes)
    var sum = 0
    for bit in 0..<bytes.count * 8 {
      var changed = bytes
      changed[bit / 8] ^= 1 << (bit % 8)
      let other = hash(changed)
      let flipped = (other.low ^ original.low).nonzeroBitCount + (other.high ^ original.high).nonzeroBitCount
      // 64 are expected with a deviation of 5.7: eight deviations away will not happen by chance.
      #expect((19...109).contains(flipped), "bit \(bit): \(flipped)")
      sum += flipped
    }
    #expect(abs(Double(sum) / Double(bytes.count * 8) - 64) < 1.5)
  }

  @Test("has no collisions among contents that differ in little, not even in half of its bits")
  func collisions() {
    var low: Set<UInt64> = []
    var high: Set<UInt64> = []
    var count = 0
    for first in 0..<64 {
      for second in 0..<64 {
        for values: (UInt8, UInt8) in [(1, 1), (0x80, 1), (1, 0x80), (0xff, 0xff)] where first < second {
          var bytes = [UInt8](repeating: 0, count: 64)
          bytes[first] = values.0
          bytes[second] = values.1
          let result = hash(bytes)
          low.insert(result.low)
          high.insert(result.high)
          count += 1
        }
      }
    }
    #expect(low.count == count && high.count == count)
  }

  private func hash(_ bytes: [UInt8]) -> ContentHash {
    var hasher = ContentHasher()
    update(&hasher, bytes)
    return hasher.finish()
  }

  private func update(_ hasher: inout ContentHasher, _ bytes: [UInt8]) {
    bytes.withUnsafeBytes { buffer in
      if let start = buffer.baseAddress { hasher.update(start, count: buffer.count) }
    }
  }
}
