// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// Where the tool writes.
enum Terminal {
  enum Stream: Int32 {
    case output = 1
    case error = 2
  }

  /// Gives a place that is closed to a file that cannot be written. The next file that the tool opens would have it, and what the tool
  /// says would be written there. A program that the tool becomes finds the place closed.
  static func fillClosedPlaces() {
    while true {
      let file = open("/dev/null", O_RDONLY | O_CLOEXEC)
      if file > Stream.error.rawValue { close(file) }
      if file < 0 || file > Stream.error.rawValue { return }
    }
  }

  static func isTerminal(_ stream: Stream) -> Bool { isatty(stream.rawValue) == 1 }

  /// What the stream can show.
  static func style(of stream: Stream) -> Style {
    Style(isTerminal: isTerminal(stream), columns: columns(of: stream)) { name in
      getenv(name).map { String(cString: $0) }
    }
  }

  /// Writes all of `text`; false if that fails.
  @discardableResult
  static func write(_ text: String, to stream: Stream) -> Bool { write(Array(text.utf8), to: stream) }

  @discardableResult
  static func write(_ bytes: [UInt8], to stream: Stream) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(stream.rawValue, $0.baseAddress, $0.count) }
      if count < 0, isToBeRepeated(stream.rawValue) { continue }
      if count <= 0 { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Whether a write that has failed is to be tried again. Each process that has the file may have asked for one that does not block: then
  /// the call waits until there is room.
  static func isToBeRepeated(_ descriptor: Int32) -> Bool {
    guard errno == EAGAIN else { return errno == EINTR }
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&entry, 1, -1) > 0 || errno == EINTR
  }

  /// The exit code of a command whose output could not be written.
  static let cannotWrite: Int32 = 6

  /// Writes all of `text` to standard output. If that fails it says so, but for a pipe without a reader.
  static func writeOutput(_ text: String) -> Bool {
    if write(text, to: .output) { return true }
    let problem = Problem(path: Path("standard output"), code: errno)
    if problem.code != EPIPE { write("gcd: standard output: \(problem.reason)\n", to: .error) }
    return false
  }

  private static func columns(of stream: Stream) -> Int? {
    var size = winsize()
    guard ioctl(stream.rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }
}
