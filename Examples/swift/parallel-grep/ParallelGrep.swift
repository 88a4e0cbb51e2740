// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Prints the lines that have a text in them, of all files below a folder, as `grep -rnaF` does; files in the order of their names.
//
//   swift run -c release parallel-grep TEXT [FOLDER]
//
//   channel of a file ──▶ queue of the file: finds ──▶ printing (serial): keeps the order
//        a permit for each file ◀───────────┘
//
// Shows: channels, which read without a thread that waits, and hand over data piece by piece; data, of which lines are cut
// and joined without copying; and a serial queue that puts the results of parallel work in order.

import Glibc

#if TWIN
  import Dispatch
#else
  import GrandCentral
#endif

@main
enum ParallelGrep {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count == 2 || arguments.count == 3, !arguments[1].isEmpty else {
      complain("usage: parallel-grep TEXT [FOLDER]")
      exit(2)
    }
    let run = GrepRun(Array(arguments[1].utf8))
    run.start(arguments.count == 3 ? arguments[2] : ".")
    dispatchMain()
  }
}

/// Writes to standard error.
func complain(_ text: String) { _ = "\(text)\n".withCString { write(STDERR_FILENO, $0, strlen($0)) } }

final class GrepRun: @unchecked Sendable {  // why: the variables are touched on `printing` only
  private let text: [UInt8]
  private let printing = DispatchQueue(label: "parallel-grep.printing")
  private let permits = DispatchSemaphore(value: 16)
  private let work = DispatchGroup()
  /// What was found in files whose turn to be printed has not come.
  private var waiting: [Int: [UInt8]] = [:]
  private var next = 0
  private var hasFound = false

  init(_ text: [UInt8]) { self.text = text }

  func start(_ folder: String) {
    DispatchQueue.global().async(group: work) {
      var count = 0
      for path in filesBelow(folder) {
        self.permits.wait()
        self.search(path, number: count)
        count += 1
      }
    }
    work.notify(queue: printing) { exit(self.hasFound ? EXIT_SUCCESS : EXIT_FAILURE) }
  }

  private func search(_ path: String, number: Int) {
    work.enter()
    let search = FileSearch(path, for: text) { lines in
      self.printing.async {
        self.finish(number, lines)
        self.permits.signal()
        self.work.leave()
      }
    }
    search.start()
  }

  /// Prints what is next in order, on `printing`.
  private func finish(_ number: Int, _ lines: [UInt8]) {
    waiting[number] = lines
    while let lines = waiting.removeValue(forKey: next) {
      hasFound = hasFound || !lines.isEmpty
      print(String(decoding: lines, as: UTF8.self), terminator: "")
      next += 1
    }
  }
}

/// Searches one file.
final class FileSearch: @unchecked Sendable {  // why: the variables are touched on `queue` only
  private let path: String
  private let text: [UInt8]
  private let then: @Sendable ([UInt8]) -> Void
  private let queue = DispatchQueue(label: "parallel-grep.file")
  private var channel: DispatchIO?
  /// The end of what was read, which has no end of a line yet.
  private var rest = DispatchData.empty
  private var lineNumber = 0
  private var found: [UInt8] = []

  init(_ path: String, for text: [UInt8], then: @escaping @Sendable ([UInt8]) -> Void) {
    self.path = path
    self.text = text
    self.then = then
  }

  func start() {
    // A channel takes a full path: it opens the file when it first reads.
    channel = DispatchIO(type: .stream, path: fullPath(path), oflag: O_RDONLY, mode: 0, queue: queue) { _ in }
    guard let channel else { return then([]) }
    // A piece is as large as it is handed over, and has to be searched before the next one: memory stays bounded.
    channel.setLimit(highWater: 1 << 20)
    channel.read(offset: 0, length: .max, queue: queue) { isDone, data, error in
      if let data { self.take(data) }
      if error != 0 { complain("parallel-grep: \(self.path): \(String(cString: strerror(error)))") }
      if isDone { self.end() }
    }
  }

  /// Searches all lines that have come to their end.
  private func take(_ piece: DispatchData) {
    guard let end = piece.lastIndex(of: UInt8(ascii: "\n")) else { return rest.append(piece) }
    rest.append(piece.subdata(in: 0..<end + 1))
    searchLines(rest)
    rest = piece.subdata(in: end + 1..<piece.count)
  }

  private func end() {
    if !rest.isEmpty { searchLines(rest) }
    channel?.close()
    channel = nil
    then(found)
  }

  private func searchLines(_ lines: DispatchData) {
    // One region of memory; it is copied only if a line began in another piece.
    lines.withUnsafeBytes { (begin: UnsafePointer<UInt8>) in
      var rest = UnsafeBufferPointer(start: begin, count: lines.count)[...]
      while !rest.isEmpty {
        let line = rest.prefix { $0 != UInt8(ascii: "\n") }
        lineNumber += 1
        if has(line) { found += Array("\(path):\(lineNumber):".utf8) + line + [UInt8(ascii: "\n")] }
        rest = rest[line.endIndex...].dropFirst()
      }
    }
  }

  private func has(_ line: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    var rest = line
    while rest.count >= text.count, let begin = rest.firstIndex(of: text[0]) {
      if rest[begin...].starts(with: text) { return true }
      rest = rest[(begin + 1)...]
    }
    return false
  }
}

/// The path from the root.
func fullPath(_ path: String) -> String {
  if path.hasPrefix("/") { return path }
  guard let here = getcwd(nil, 0) else { return "/" + path }
  defer { free(here) }
  return String(cString: here) + "/" + path
}

/// The regular files below a folder, in the order of their names. Links are not followed.
func filesBelow(_ folder: String) -> [String] {
  guard let stream = opendir(folder) else {
    complain("parallel-grep: \(folder): \(String(cString: strerror(errno)))")
    return []
  }
  defer { closedir(stream) }
  var names: [String] = []
  while let entry = readdir(stream) {
    let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    if name != ".", name != ".." { names.append(folder + "/" + name) }
  }
  return names.sorted().flatMap { path -> [String] in
    var about = stat()
    guard lstat(path, &about) == 0 else { return [] }
    switch about.st_mode & S_IFMT {
    case S_IFDIR: return filesBelow(path)
    case S_IFREG: return [path]
    default: return []
    }
  }
}
