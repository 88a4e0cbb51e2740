// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// A file name as the kernel knows it: any bytes but NUL, not necessarily text.
package struct Path: Hashable, Comparable, Sendable {
  package let bytes: [UInt8]

  package init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  package init(_ string: String) {
    bytes = Array(string.utf8)
  }

  /// The path that an argument, or another exact text, names.
  package init(exactly text: String) {
    bytes = ExactText.bytes(text)
  }

  /// The path of `name` in this folder. The current folder, ".", adds nothing to the names in it.
  package func appending(_ name: UnsafeBufferPointer<UInt8>) -> Path {
    if bytes == [UInt8(ascii: ".")] { return Path(bytes: Array(name)) }
    var joined: [UInt8] = []
    joined.reserveCapacity(bytes.count + 1 + name.count)
    joined += bytes
    if bytes.last != UInt8(ascii: "/") { joined.append(UInt8(ascii: "/")) }
    joined += name
    return Path(bytes: joined)
  }

  package func appending(name: [UInt8]) -> Path { name.withUnsafeBufferPointer { appending($0) } }

  /// The part after the last slash; nil if that is no name of a file ("..", for instance).
  package var name: String? {
    guard let last = bytes.split(separator: UInt8(ascii: "/")).last, last != [0x2e], last != [0x2e, 0x2e] else {
      return nil
    }
    return String(decoding: last, as: UTF8.self)
  }

  /// What the kernel knows about the file; nil if there is none.
  package var status: stat? {
    var about = stat()
    return withCString { stat($0, &about) } == 0 ? about : nil
  }

  /// Calls `body` with the path as a C string.
  package func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count + 1) { buffer in
      for (index, byte) in bytes.enumerated() { buffer[index] = CChar(bitPattern: byte) }
      buffer[bytes.count] = 0
      // unsafe: the buffer holds at least the terminator, so it has a base address.
      return body(UnsafePointer(buffer.baseAddress!))
    }
  }

  /// The path as text from which it can be made again.
  package var exactText: String { ExactText.text(bytes) }

  /// The path as people may see it, on a terminal too: what is no text, or would move the cursor, is shown as escapes.
  package var shown: String { TextLayout.printable(exactText) }

  /// The path as text; bytes that are not UTF-8 become U+FFFD.
  package var text: String { String(decoding: bytes, as: UTF8.self) }

  package static func < (left: Path, right: Path) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}

/// A file or folder that could not be read, and why.
package struct Problem: Hashable, Comparable, Sendable {
  package let path: Path
  /// The error number of the call that failed.
  package let code: Int32

  package init(path: Path, code: Int32) {
    self.path = path
    self.code = code
  }

  /// The reason in words.
  package var reason: String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
      // unsafe: strerror_r fills at most the 256 bytes it is given and ends them with a NUL.
      guard strerror_r(code, buffer.baseAddress!, buffer.count) == 0 else { return "error \(code)" }
      return String(cString: UnsafePointer(buffer.baseAddress!))
    }
  }

  package static func < (left: Problem, right: Problem) -> Bool {
    left.path == right.path ? left.code < right.code : left.path < right.path
  }
}
