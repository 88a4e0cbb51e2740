// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// A file descriptor and the duty to close it.
///
/// Calls return what the kernel does: a count that is not negative, or the negated error number, which
/// `Errno(result:)` decodes. Interrupted calls are repeated.
struct FileDescriptor: ~Copyable, Sendable {
  /// -1 once the duty has been given away.
  private(set) var raw: Int32

  /// Takes over an open descriptor.
  init(owning raw: Int32) {
    self.raw = raw
  }

  /// Takes over what a shim returned; nil when that is an error.
  init?(result: Int32) {
    if result < 0 { return nil }
    self.raw = result
  }

  deinit {
    if raw >= 0 { _ = gc_close(raw) }
  }

  /// Opens an existing file; nil when that fails.
  static func openForReading(_ path: String) -> FileDescriptor? {
    FileDescriptor(result: path.withCString { gc_open_read($0) })
  }

  /// A descriptor that stands for what is at `path`, of whatever kind, without opening it: nothing blocks, and the
  /// other end of a pipe does not notice. Nil when that fails.
  static func openForWatching(_ path: String) -> FileDescriptor? {
    FileDescriptor(result: path.withCString { gc_open_path($0) })
  }

  /// Gives the duty to close to the caller.
  consuming func take() -> Int32 {
    let taken = raw
    raw = -1
    return taken
  }

  borrowing func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard let start = buffer.baseAddress else { return 0 }
    return gc_read(raw, start, buffer.count)
  }

  borrowing func write(_ buffer: UnsafeRawBufferPointer) -> Int {
    guard let start = buffer.baseAddress else { return 0 }
    return gc_write(raw, start, buffer.count)
  }

  /// Reads the eight bytes that an event or timer descriptor counts in; `.again` when there is nothing to read.
  borrowing func readCounter() -> Result<UInt64, Errno> {
    var counter: UInt64 = 0
    // unsafe: the buffer is the variable, valid for the call.
    let count = withUnsafeMutableBytes(of: &counter) { read(into: $0) }
    if let error = Errno(result: count) { return .failure(error) }
    return .success(counter)
  }

  /// The first `limit` bytes of a file, such as those under `/proc`; nil when it cannot be opened or read.
  static func contents(of path: String, limit: Int = 1 << 20) -> [UInt8]? {
    guard let file = openForReading(path) else { return nil }
    var bytes = [UInt8]()
    var chunk = [UInt8](repeating: 0, count: 4096)
    while bytes.count < limit {
      let count = chunk.withUnsafeMutableBytes { file.read(into: $0) }
      if count < 0 { return nil }
      if count == 0 { break }
      bytes.append(contentsOf: chunk[..<min(count, limit - bytes.count)])
    }
    return bytes
  }
}
