// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Copies a file, or a folder with all that is in it, several files at a time.
//
//   swift run channel-copy SOURCE DESTINATION        DESTINATION is the name of the copy
//
// Each file is copied by two channels of random access. A hole in a file stays a hole: only the parts that have data are
// read and written, each at its own offset. Permissions and times are kept, links stay links.

import Glibc
import GrandCentral

@main
enum ChannelCopy {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 else {
      tell("usage: channel-copy SOURCE DESTINATION\n")
      exit(2)
    }
    let run = CopyRun()
    run.start(arguments[1], arguments[2])
    dispatchMain()
  }
}

private final class CopyRun: @unchecked Sendable {  // why: the variables are touched on `counting` only
  /// How many files are copied at a time.
  private static let filesAtATime = 4

  private let walking = DispatchQueue(label: "channel-copy.walking")
  private let counting = DispatchQueue(label: "channel-copy.counting")
  private let permits = DispatchSemaphore(value: filesAtATime)
  private let work = DispatchGroup()
  private var files = 0
  private var bytes = 0
  private var failures = 0

  func start(_ source: String, _ destination: String) {
    walking.async(group: work) { self.copy(source, destination) }
    work.notify(queue: counting) {
      print("\(self.files) files, \(self.bytes) bytes" + (self.failures == 0 ? "" : ", \(self.failures) failures"))
      exit(self.failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE)
    }
  }

  /// Runs on `walking`, which waits while enough files are being copied.
  private func copy(_ source: String, _ destination: String) {
    var about = stat()
    guard lstat(source, &about) == 0 else { return failed(source, errno) }
    switch about.st_mode & S_IFMT {
    case S_IFDIR: copyFolder(source, destination, about)
    case S_IFLNK: copyLink(source, destination)
    case S_IFREG:
      permits.wait()
      work.enter()
      let copy = FileCopy(source, destination) { error, bytes in
        if error != 0 { self.failed(destination, error) }
        self.counting.async(group: self.work) {
          self.files += 1
          self.bytes += bytes
        }
        self.permits.signal()
        self.work.leave()
      }
      copy.start()
    default: tell("channel-copy: \(source): neither a file nor a folder\n")
    }
  }

  private func copyFolder(_ source: String, _ destination: String, _ about: stat) {
    guard mkdir(destination, about.st_mode & 0o7777 | 0o700) == 0 || errno == EEXIST else {
      return failed(destination, errno)
    }
    guard let stream = opendir(source) else { return failed(source, errno) }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { copy(source + "/" + name, destination + "/" + name) }
    }
  }

  private func copyLink(_ source: String, _ destination: String) {
    var target = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    guard readlink(source, &target, Int(PATH_MAX)) >= 0 else { return failed(source, errno) }
    guard symlink(target, destination) == 0 else { return failed(destination, errno) }
  }

  private func failed(_ path: String, _ error: Int32) {
    tell("channel-copy: \(path): \(String(cString: strerror(error)))\n")
    counting.async(group: work) { self.failures += 1 }
  }
}

/// Copies one file.
private final class FileCopy: @unchecked Sendable {  // why: the variables are touched on `queue` only
  // SEEK_DATA and SEEK_HOLE, which Swift does not import.
  private static let seekData: Int32 = 3
  private static let seekHole: Int32 = 4
  /// The most bytes that are read before they are written.
  private static let piece = 4 << 20

  private let names: (source: String, destination: String)
  private let queue = DispatchQueue(label: "channel-copy.file")
  private let end: @Sendable (_ error: Int32, _ bytes: Int) -> Void
  private var source: Int32 = -1
  private var destination: Int32 = -1
  private var input: DispatchIO?
  private var output: DispatchIO?
  private var about = stat()
  private var error: Int32 = 0
  private var copied = 0

  init(_ source: String, _ destination: String, _ end: @escaping @Sendable (_ error: Int32, _ bytes: Int) -> Void) {
    names = (source, destination)
    self.end = end
  }

  func start() { queue.async { self.begin() } }

  private func begin() {
    source = open(names.source, O_RDONLY | O_CLOEXEC)
    guard source >= 0 else { return end(errno, 0) }
    fstat(source, &about)
    destination = open(names.destination, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard destination >= 0 else {
      let error = errno
      close(source)
      return end(error, 0)
    }
    input = DispatchIO(type: .random, fileDescriptor: source, queue: queue) { [source] _ in close(source) }
    output = DispatchIO(type: .random, fileDescriptor: destination, queue: queue) { _ in self.finish() }
    if ftruncate(destination, about.st_size) != 0 { return stop(errno) }
    copyParts(from: 0)
  }

  /// Copies the next part that has data, and the parts after it.
  private func copyParts(from offset: Int) {
    let begin = lseek(source, offset, Self.seekData)
    // ENXIO: there is a hole up to the end. Any other error: the file system does not tell, and all is data.
    if begin < 0 { return errno == ENXIO ? stop(0) : copyPart(from: offset, to: Int(about.st_size)) }
    let hole = lseek(source, begin, Self.seekHole)
    copyPart(from: begin, to: hole < 0 ? Int(about.st_size) : hole)
  }

  private func copyPart(from offset: Int, to limit: Int) {
    if offset >= limit { return offset < about.st_size ? copyParts(from: offset) : stop(0) }
    let length = min(Self.piece, limit - offset)
    var piece = DispatchData.empty
    input?.read(offset: offset, length: length, queue: queue) { isDone, data, error in
      if let data { piece.append(data) }
      if error != 0 { return self.stop(error) }
      if !isDone { return }
      // The file has become shorter.
      if piece.isEmpty { return self.stop(0) }
      self.write(piece, at: offset) { self.copyPart(from: offset + $0, to: limit) }
    }
  }

  private func write(_ piece: DispatchData, at offset: Int, _ then: @escaping @Sendable (_ count: Int) -> Void) {
    output?.write(offset: offset, data: piece, queue: queue) { isDone, _, error in
      if error != 0 { return self.stop(error) }
      if !isDone { return }
      self.copied += piece.count
      then(piece.count)
    }
  }

  private func stop(_ error: Int32) {
    if self.error == 0 { self.error = error }
    input?.close()
    output?.close()
    input = nil
    output = nil
  }

  /// The channel has let go of the destination.
  private func finish() {
    if error == 0 {
      fchmod(destination, about.st_mode & 0o7777)
      let times = [about.st_atim, about.st_mtim]
      futimens(destination, times)
    }
    close(destination)
    end(error, copied)
  }
}

/// Writes to standard error.
private func tell(_ text: String) { _ = text.withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) } }
