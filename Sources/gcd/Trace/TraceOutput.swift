// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// Where a trace, or what is made of one, is written: a file, or standard output.
final class TraceOutput {
  struct Failure: Error {
    let code: Int32
  }

  /// As people see it.
  let name: String
  private let path: Path?
  private let descriptor: Int32
  private var buffer: [UInt8] = []
  private(set) var written: UInt64 = 0
  private(set) var failure: Failure?
  /// The file holds nothing but what is written here: it is new, or has been emptied. Until there is something to write, a
  /// file that was there before stays as it was.
  private var isOwn: Bool

  private static let chunk = 1 << 16

  /// What writing raises: a pipe has no reader, a file may not grow. Both are errors to tell, and do not end the tool.
  static let signals = [SIGPIPE, SIGXFSZ]

  static func ignoreSignals() { for number in signals { signal(number, SIG_IGN) } }

  /// "-" is standard output. Signals are the caller's to ignore.
  init(_ file: String) throws(Failure) {
    buffer.reserveCapacity(Self.chunk * 2)
    if file == "-" {
      (name, path, descriptor, isOwn) = ("standard output", nil, 1, true)
    } else {
      let path = Path(exactly: file)
      let flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY
      let made = path.withCString { open($0, flags | O_EXCL, 0o644) }
      let opened = made < 0 && errno == EEXIST ? path.withCString { open($0, flags, 0o644) } : made
      guard opened >= 0 else { throw Failure(code: errno) }
      (name, self.path, descriptor, isOwn) = (path.shown, path, opened, made >= 0)
    }
  }

  deinit {
    if path != nil { close(descriptor) }
  }

  /// Adds bytes; false once something could not be written.
  @discardableResult
  func write(_ bytes: some Collection<UInt8>) -> Bool {
    guard failure == nil else { return false }
    buffer.append(contentsOf: bytes)
    return buffer.count < Self.chunk || flush()
  }

  @discardableResult
  func write(_ text: String) -> Bool { write(text.utf8) }

  /// Hands everything to the kernel.
  @discardableResult
  func flush() -> Bool {
    guard failure == nil, takeOver() else { return false }
    var done = 0
    while done < buffer.count {
      let count = buffer.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + done, $0.count - done) }
      if count < 0, Terminal.isToBeRepeated(descriptor) { continue }
      guard count > 0 else {
        failure = Failure(code: count < 0 ? errno : EIO)
        buffer.removeAll()
        return false
      }
      done += count
      written += UInt64(count)
    }
    buffer.removeAll(keepingCapacity: true)
    return true
  }

  /// Empties a file that was there before; false if that fails.
  private func takeOver() -> Bool {
    if isOwn { return true }
    if isRegular, ftruncate(descriptor, 0) != 0 {
      failure = Failure(code: errno)
      buffer.removeAll()
      return false
    }
    isOwn = true
    return true
  }

  /// The message about a failure. Removes a file to which nothing has been written, and a file that is of no use unless it is
  /// whole.
  func report(_ failure: Failure, whole: Bool) -> String {
    let reason = String(cString: strerror(failure.code))
    if whole || written == 0 {
      discard()
      return "\(name): \(reason)" + (path == nil || !isOwn ? "" : "; nothing is left there")
    }
    return "\(name): \(reason) after \(NumberFormat.grouped(written)) bytes: it is cut off, and can be read up to there"
  }

  /// Nothing will be written: removes a file that was made or emptied for it. One that was there before stays.
  func discard() {
    if let path, isOwn, isRegular { _ = path.withCString { unlink($0) } }
  }

  private var isRegular: Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }
}
