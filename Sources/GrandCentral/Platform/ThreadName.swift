// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// The name of a thread: at most 15 bytes are kept, the kernel's limit. It is made without an allocation, and without the library's code
/// for strings, which is cold when a process starts its first thread.
struct ThreadName: ExpressibleByStringLiteral {
  private var words: (UInt64, UInt64) = (0, 0)
  private var count: UInt64 = 0

  @_optimize(size)
  init(_ name: String) {
    append(name)
  }

  @_optimize(size)
  init(stringLiteral name: String) {
    append(name)
  }

  /// `gc-` and a word and a number.
  @_optimize(size)
  init(_ word: String, number: UInt32) {
    append("gc-")
    append(word)
    append(UInt8(ascii: "-"))
    var (power, rest) = (UInt32(1), number)
    while rest / power > 9 { power *= 10 }
    while power > 0 {
      append(UInt8(ascii: "0") + UInt8(rest / power))
      (rest, power) = (rest % power, power / 10)
    }
  }

  @inline(never)
  @_optimize(size)
  private mutating func append(_ text: String) {
    for byte in text.utf8 { append(byte) }
  }

  @inline(never)
  @_optimize(size)
  private mutating func append(_ byte: UInt8) {
    if count == 15 { return }
    if count < 8 { words.0 |= UInt64(byte) << (8 * count) } else { words.1 |= UInt64(byte) << (8 * (count - 8)) }
    count += 1
  }

  var text: String {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: ($0 < 8 ? words.0 : words.1) >> (8 * ($0 % 8))) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Gives the name to the calling thread.
  @_optimize(size)
  func apply() {
    withUnsafeBytes(of: (words.0.littleEndian, words.1.littleEndian)) { buffer in
      gc_thread_set_name(buffer.baseAddress!.assumingMemoryBound(to: CChar.self))
    }
  }
}
