// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// The packets of a file, read one after the other: a file may have any length.
struct TraceFile: ~Copyable {
  enum Failure: Error {
    case system(Int32)
    case noTrace
  }

  enum End {
    case whole
    /// The last packet is not all there.
    case cut
    case damaged
  }

  private let descriptor: Int32
  private var buffer: [UInt8] = []
  private var start = 0

  /// No packet of ours is longer.
  private static let longest = 1 << 26

  /// "-" is standard input.
  init(_ file: String) throws(Failure) {
    descriptor = file == "-" ? dup(0) : Path(exactly: file).withCString { open($0, O_RDONLY | O_CLOEXEC | O_NOCTTY) }
    guard descriptor >= 0 else { throw .system(errno) }
    var status = stat()
    // `deinit` closes it, as all properties are set.
    if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { throw .system(EISDIR) }
  }

  deinit { close(descriptor) }

  /// Calls `body` with each packet; how the file ends.
  mutating func packets(_ body: (ArraySlice<UInt8>) -> Bool) throws(Failure) -> End {
    var isFirst = true
    while true {
      guard try has(1) else { return .whole }
      // The field's number and kind in one byte, as all files of this format have it.
      guard buffer[start] == UInt8(PerfettoField.Trace.packet << 3 | 2) else {
        if isFirst { throw .noTrace }
        return .damaged
      }
      start += 1
      guard let length = try length() else { return .cut }
      guard length <= Self.longest else {
        if isFirst { throw .noTrace }
        return .damaged
      }
      guard try has(length) else {
        if isFirst { throw .noTrace }
        return .cut
      }
      let packet = buffer[start..<start + length]
      start += length
      isFirst = false
      if !body(packet) { return .whole }
    }
  }

  private mutating func length() throws(Failure) -> Int? {
    var value = 0
    for shift in stride(from: 0, to: 63, by: 7) {
      guard try has(1) else { return nil }
      let byte = buffer[start]
      start += 1
      value |= Int(byte & 0x7f) << shift
      if byte < 0x80 { return value }
    }
    return .max
  }

  /// Whether so many bytes follow; reads what is needed.
  private mutating func has(_ count: Int) throws(Failure) -> Bool {
    while buffer.count - start < count {
      if start > 0 {
        buffer.removeFirst(start)
        start = 0
      }
      var code: Int32 = 0
      let part = [UInt8](unsafeUninitializedCapacity: 1 << 18) { part, count in
        repeat { count = read(descriptor, part.baseAddress, part.count) } while count < 0 && errno == EINTR
        if count < 0 { (count, code) = (0, errno) }
      }
      if code != 0 { throw .system(code) }
      if part.isEmpty { return false }
      buffer += part
    }
    return true
  }
}
