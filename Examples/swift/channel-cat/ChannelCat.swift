// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Writes files to standard output, one after the other.
//
//   swift run channel-cat [FILE…]          "-", or no file at all, is standard input
//
// One channel reads while another one writes, so no thread waits for either. What has been read and not yet been written is
// bounded: above the bound the reading channel is suspended, and resumed when half of it has been written.

import Glibc
import GrandCentral

@main
enum ChannelCat {
  static func main() {
    let files = Array(CommandLine.arguments.dropFirst())
    let run = CatRun(files.isEmpty ? ["-"] : files)
    run.start()
    dispatchMain()
  }
}

private final class CatRun: @unchecked Sendable {  // why: the variables are touched on `queue` only
  /// The most bytes on their way between the two channels.
  private static let bound = 8 << 20

  private let queue = DispatchQueue(label: "channel-cat")
  private let output: DispatchIO
  private var files: ArraySlice<String>
  private var input: DispatchIO?
  private var name = ""
  private var onTheWay = 0
  private var isSuspended = false
  private var isAtEnd = false
  private var code = EXIT_SUCCESS

  init(_ files: [String]) {
    self.files = files[...]
    output = DispatchIO(type: .stream, fileDescriptor: STDOUT_FILENO, queue: queue) { _ in }
  }

  func start() { queue.async { self.readNext() } }

  private func readNext() {
    guard let next = files.popFirst() else { exit(code) }
    name = next
    isAtEnd = false
    let descriptor = next == "-" ? dup(STDIN_FILENO) : open(next, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      complain(errno)
      return readNext()
    }
    let input = DispatchIO(type: .stream, fileDescriptor: descriptor, queue: queue) { _ in close(descriptor) }
    self.input = input
    input.read(offset: 0, length: .max, queue: queue) { isDone, data, error in
      if let data, !data.isEmpty { self.write(data) }
      if error != 0 { self.complain(error) }
      self.isAtEnd = self.isAtEnd || isDone
      self.goOn()
    }
  }

  private func write(_ data: DispatchData) {
    let count = data.count
    onTheWay += count
    if onTheWay > Self.bound, !isSuspended {
      isSuspended = true
      input?.suspend()
    }
    output.write(offset: 0, data: data, queue: queue) { isDone, _, error in
      if !isDone { return }
      if error != 0 {
        // As usual in a pipe that nobody reads any more, nothing is said.
        if error != EPIPE { tell("channel-cat: standard output: \(String(cString: strerror(error)))\n") }
        exit(EXIT_FAILURE)
      }
      self.onTheWay -= count
      if self.isSuspended, self.onTheWay <= Self.bound / 2 {
        self.isSuspended = false
        self.input?.resume()
      }
      self.goOn()
    }
  }

  /// Begins the next file when this one has been read and written.
  private func goOn() {
    guard isAtEnd, onTheWay == 0 else { return }
    isAtEnd = false
    input?.close()
    input = nil
    readNext()
  }

  private func complain(_ error: Int32) {
    tell("channel-cat: \(name): \(String(cString: strerror(error)))\n")
    code = EXIT_FAILURE
  }
}

/// Writes to standard error.
private func tell(_ text: String) { _ = text.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) } }
