// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// A stretch of memory to read into or to write from, as the kernel takes it.
typealias IOSpan = gc_span

/// Reads and writes of descriptors that belong to the program.
///
/// Results are what the kernel returns: a count, or the negated error number. Interrupted calls are repeated; SIGPIPE is
/// never raised.
enum FileReading {
  /// Where a call reads or writes.
  enum Offset {
    /// At the file's position, which moves.
    static let position: Int64 = -1
  }

  /// Reads, even if that takes long.
  static func read(_ descriptor: Int32, _ spans: UnsafePointer<IOSpan>, _ count: Int, at offset: Int64) -> Int {
    gc_readv(descriptor, spans, Int32(count), offset, 0)
  }

  /// Reads what is there; `.again` if nothing is, `.notSupported` if the file cannot tell.
  static func readNow(_ descriptor: Int32, _ span: IOSpan, at offset: Int64) -> Int {
    var span = span
    return gc_readv(descriptor, &span, 1, offset, Int32(GC_IO_NOWAIT))
  }

  /// Reads as the descriptor's own flags say.
  static func readPlainly(_ descriptor: Int32, _ span: IOSpan, at offset: Int64) -> Int {
    var span = span
    return gc_readv(descriptor, &span, 1, offset, 0)
  }

  /// Writes, even if that takes long.
  ///
  /// - Parameter mayBreak: The descriptor may be a pipe.
  static func write(
    _ descriptor: Int32, _ spans: UnsafePointer<IOSpan>, _ count: Int, at offset: Int64, mayBreak: Bool
  ) -> Int {
    gc_writev(descriptor, spans, Int32(count), offset, 0, mayBreak)
  }

  /// Writes what goes at once; `.again` if nothing does, `.notSupported` if the file cannot tell.
  static func writeNow(
    _ descriptor: Int32, _ spans: UnsafePointer<IOSpan>, _ count: Int, at offset: Int64, mayBreak: Bool
  ) -> Int {
    gc_writev(descriptor, spans, Int32(count), offset, Int32(GC_IO_NOWAIT), mayBreak)
  }

  /// Reads what a socket has received.
  static func receive(_ socket: Int32, _ span: IOSpan) -> Int { gc_receive(socket, span.start, span.count) }

  /// Gives a socket what it has room for.
  static func send(_ socket: Int32, _ spans: UnsafePointer<IOSpan>, _ count: Int) -> Int {
    gc_send(socket, spans, Int32(count))
  }

  /// Why the path cannot be opened, as far as that can be told without opening it, or whether a file there has a position.
  static func examine(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Result<Bool, Errno> {
    var seeks = true
    if let error = Errno(result: Int(gc_channel_examine(path, flags, &seeks))) { return .failure(error) }
    return .success(seeks)
  }

  /// Opens a file for a channel. What is neither file nor folder is opened so that nothing waits for a peer.
  static func open(_ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: UInt32) -> Int32 {
    gc_channel_open(path, flags, mode)
  }

  /// Moves the file's position forward by `count` bytes.
  static func advance(_ descriptor: Int32, by count: Int) { _ = gc_move_position(descriptor, Int64(count)) }

  static func close(_ descriptor: Int32) { _ = gc_close(descriptor) }

  static func isNonBlocking(_ descriptor: Int32) -> Bool { gc_descriptor_is_nonblocking(descriptor) }

  /// Changes how the open file behaves, in every process that has it.
  @discardableResult
  static func setNonBlocking(_ descriptor: Int32, _ on: Bool) -> Errno? {
    Errno(result: Int(gc_descriptor_set_nonblocking(descriptor, on)))
  }
}

/// What a descriptor is.
struct DescriptorKind {
  let isSocket: Bool
  /// A pipe, with or without a name.
  let isPipe: Bool
  /// A regular file, a folder, a block device.
  let isFile: Bool
  let isFolder: Bool
  var isNonBlocking: Bool
  /// A read that has room for less may lose the end of a message. 0 for a stream of bytes, a page for a pipe, `Int.max` for
  /// what keeps messages of any size.
  let largestMessage: Int
  /// Where reading goes on, or why that cannot be chosen.
  let position: Result<Int64, Errno>

  @_optimize(size)
  static func of(_ descriptor: Int32) -> Result<DescriptorKind, Errno> {
    var found = gc_descriptor_kind()
    if let error = Errno(result: Int(gc_descriptor_describe(descriptor, &found))) { return .failure(error) }
    return .success(
      DescriptorKind(
        isSocket: found.is_socket, isPipe: found.is_pipe, isFile: found.is_file, isFolder: found.is_folder,
        isNonBlocking: found.is_nonblocking, largestMessage: found.largest_message,
        position: Errno(result: Int(found.position)).map { .failure($0) } ?? .success(found.position)))
  }
}

extension Errno {
  /// ENXIO
  static let noSuchDevice = Errno(code: 6)
  /// EFAULT
  static let badAddress = Errno(code: 14)
  /// ESPIPE
  static let illegalSeek = Errno(code: 29)
  /// EOPNOTSUPP
  static let notSupported = Errno(code: 95)
}
