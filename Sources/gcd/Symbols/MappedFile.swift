// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// A file's bytes; every access is checked, as the file may be anything.
final class MappedFile {
  private let bytes: UnsafeRawBufferPointer

  var count: Int { bytes.count }

  /// When its contents were changed, in nanoseconds of the wall clock.
  let changed: UInt64

  /// Nil with `errno` if the file cannot be read; the path is exact text.
  init?(_ path: String) {
    let file = Path(exactly: path).withCString { open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    if file < 0 { return nil }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { return nil }
    guard status.st_mode & S_IFMT == S_IFREG else {
      errno = status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL
      return nil
    }
    changed = Timestamp.nanoseconds(status.st_mtim)
    let size = Int(status.st_size)
    if size == 0 {
      bytes = UnsafeRawBufferPointer(start: nil, count: 0)
      return
    }
    guard let start = mmap(nil, size, PROT_READ, MAP_PRIVATE, file, 0), start != MAP_FAILED else { return nil }
    bytes = UnsafeRawBufferPointer(start: start, count: size)
  }

  deinit {
    if let start = bytes.baseAddress { munmap(UnsafeMutableRawPointer(mutating: start), bytes.count) }
  }

  /// The number at an offset; nil outside of the file.
  func integer<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type = T.self, at offset: UInt64) -> T? {
    guard offset <= UInt64(bytes.count), bytes.count - Int(offset) >= MemoryLayout<T>.size else { return nil }
    return bytes.loadUnaligned(fromByteOffset: Int(offset), as: T.self)
  }

  /// The text from an offset up to a zero byte.
  func text(at offset: UInt64) -> String? {
    guard let length = textLength(at: offset) else { return nil }
    return ExactText.text(bytes[Int(offset)..<Int(offset + length)])
  }

  /// How many bytes there are from an offset up to a zero byte.
  func textLength(at offset: UInt64) -> UInt64? {
    guard offset < UInt64(bytes.count) else { return nil }
    return bytes[Int(offset)...].firstIndex(of: 0).map { UInt64($0) - offset }
  }

  /// Adds the text from an offset, with the zero byte that ends it, to `target`; false outside of the file, and if it has more than `most`
  /// bytes.
  func append(textAt offset: UInt64, to target: inout [UInt8], atMost most: Int) -> Bool {
    guard most > 0, offset < UInt64(bytes.count) else { return false }
    let text = bytes[Int(offset)...].prefix(most)
    guard let end = text.firstIndex(of: 0) else { return false }
    target += text[...end]
    return true
  }

  /// A copy of so many bytes; nil outside of the file.
  func bytes(at offset: UInt64, count: UInt64) -> [UInt8]? {
    guard offset <= UInt64(bytes.count), count <= UInt64(bytes.count) - offset else { return nil }
    return Array(bytes[Int(offset)..<Int(offset + count)])
  }

  /// Whether the text at an offset begins so.
  func hasText(_ prefix: StaticString, at offset: UInt64) -> Bool {
    let length = prefix.utf8CodeUnitCount
    guard offset <= UInt64(bytes.count), bytes.count - Int(offset) >= length else { return false }
    return memcmp(bytes.baseAddress! + Int(offset), prefix.utf8Start, length) == 0
  }

  /// Whether the text stands anywhere in the file.
  func contains(_ text: StaticString) -> Bool {
    guard let start = bytes.baseAddress else { return false }
    var rest = bytes[...]
    while let found = memchr(start + rest.startIndex, Int32(text.utf8Start.pointee), rest.count) {
      let place = UnsafeRawPointer(found) - start
      if hasText(text, at: UInt64(place)) { return true }
      rest = bytes[(place + 1)...]
    }
    return false
  }

  /// The first line, if it is not too long.
  var firstLine: String {
    let head = bytes.prefix(256)
    return ExactText.text(head[..<(head.firstIndex(of: UInt8(ascii: "\n")) ?? head.endIndex)])
  }
}
