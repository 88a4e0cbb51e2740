// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Counts the words of all files below a folder, and prints the most frequent ones.
//
//   swift run -c release word-index [FOLDER [TOP]]
//
//   walking (serial) ──▶ reading (concurrent) ──▶ merging (serial)
//        a permit for each file ◀──┘
//
// The queues divide the work. The semaphore bounds how many files are open, the group tells when all is done, and a timer
// shows the progress on a terminal. A word is a run of letters, digits and underscores; bytes beyond ASCII count as letters.

import Glibc
import GrandCentral

@main
enum WordIndex {
  static func main() {
    let arguments = CommandLine.arguments
    let run = IndexRun(
      folder: arguments.count > 1 ? arguments[1] : ".", top: arguments.count > 2 ? Int(arguments[2]) ?? 10 : 10)
    run.start()
    dispatchMain()
  }
}

/// What one file adds to the result.
private struct Words: Sendable {
  var files = 0
  var bytes = 0
  var counts: [String: Int] = [:]

  mutating func merge(_ other: Words) {
    files += other.files
    bytes += other.bytes
    counts.merge(other.counts, uniquingKeysWith: +)
  }

  /// Counts the words of one file's bytes.
  init(of text: [UInt8]) {
    (files, bytes) = (1, text.count)
    var begin = 0
    for (index, byte) in text.enumerated() where !Self.isLetter(byte) {
      add(text[begin..<index])
      begin = index + 1
    }
    add(text[begin...])
  }

  init() {}

  private mutating func add(_ word: ArraySlice<UInt8>) {
    if word.isEmpty { return }
    counts[String(decoding: word.map(Self.lowercased), as: UTF8.self), default: 0] += 1
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...: true
    default: (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(lowercased(byte))
    }
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}

private final class IndexRun: @unchecked Sendable {  // why: `total` and `hasFailed` are touched on `merging` only
  private let folder: String
  private let top: Int
  private let walking = DispatchQueue(label: "word-index.walking")
  private let reading = DispatchQueue(label: "word-index.reading", attributes: .concurrent)
  private let merging = DispatchQueue(label: "word-index.merging")
  private let permits = DispatchSemaphore(value: 2 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
  private let work = DispatchGroup()
  private let timer: any DispatchSourceTimer
  private var total = Words()
  private var hasFailed = false

  init(folder: String, top: Int) {
    self.folder = folder
    self.top = top
    timer = DispatchSource.makeTimerSource(queue: merging)
  }

  func start() {
    walking.async(group: work) { self.walk(self.folder) }
    work.notify(queue: merging) { self.finish() }
    timer.schedule(deadline: .now() + .milliseconds(150), repeating: .milliseconds(80))
    timer.setEventHandler { if isatty(STDERR_FILENO) == 1 { tell("\r\(self.total.files) files") } }
    timer.activate()
  }

  /// Visits a folder, on `walking`. Links are not followed.
  private func walk(_ path: String) {
    guard let stream = opendir(path) else { return failed(path) }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name == "." || name == ".." { continue }
      let child = path + "/" + name
      var about = stat()
      guard lstat(child, &about) == 0 else {
        failed(child)
        continue
      }
      switch about.st_mode & S_IFMT {
      case S_IFDIR: walk(child)
      case S_IFREG:
        permits.wait()
        reading.async(group: work) {
          self.read(child)
          self.permits.signal()
        }
      default: break
      }
    }
  }

  /// Reads and counts one file, on `reading`: many of these run at a time.
  private func read(_ path: String) {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return failed(path) }
    defer { close(file) }
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = Glibc.read(file, &buffer, buffer.count)
      if count < 0 { return failed(path) }
      if count == 0 { break }
      text += buffer[..<count]
    }
    let words = Words(of: text)
    merging.async(group: work) { self.total.merge(words) }
  }

  private func failed(_ path: String) {
    tell("word-index: \(path): \(String(cString: strerror(errno)))\n")
    merging.async(group: work) { self.hasFailed = true }
  }

  /// Runs on `merging` when the group is empty: nobody counts any more.
  private func finish() {
    timer.cancel()
    if isatty(STDERR_FILENO) == 1 { tell("\r\u{1B}[K") }
    let most = total.counts.sorted { $0.value != $1.value ? $0.value > $1.value : $0.key < $1.key }.prefix(max(0, top))
    for (word, count) in most { print(count, word) }
    print("\(total.files) files, \(total.bytes) bytes, \(total.counts.values.reduce(0, +)) words")
    exit(hasFailed ? EXIT_FAILURE : EXIT_SUCCESS)
  }
}

/// Writes to standard error.
private func tell(_ text: String) { _ = text.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) } }
