// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Prints the lines of a log file as they are written, across rotations, as `tail -F` does.
//
//   swift run log-follower FILE [LAST]        ends after a line that is LAST; else by a signal
//
// Shows: two file system object sources. One watches the file: it was written to, cut off, renamed or deleted. The other one
// watches the folder, where a new file of the name may appear. Both have the same queue as their target, so the variables need
// no lock. A source tells that something has happened, not how often: the handler looks, and does what there is to do.
//
// The toolchain's Dispatch has no such sources on Linux: the twin of this program reads from inotify.

import Glibc

#if TWIN
  import Dispatch
#else
  import GrandCentral
#endif

@main
enum LogFollower {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count == 2 || arguments.count == 3 else {
      complain("usage: log-follower FILE [LAST]")
      exit(2)
    }
    let follower = Follower(path: arguments[1], last: arguments.count == 3 ? arguments[2] : nil)
    follower.start()
    dispatchMain()
  }
}

final class Follower: @unchecked Sendable {  // why: the variables are touched on `queue` only
  private let path: String
  private let last: String?
  private let queue = DispatchQueue(label: "log-follower")
  private var folderSource: (any DispatchSourceProtocol)?
  private var fileSource: (any DispatchSourceProtocol)?
  /// The file that is being read; -1 if there is none.
  private var file: Int32 = -1
  /// How much of it has been read.
  private var offset = 0
  /// The beginning of a line whose end has not been written yet.
  private var rest: [UInt8] = []

  init(path: String, last: String?) {
    self.path = path
    self.last = last
  }

  func start() {
    queue.async {
      self.watchFolder()
      self.catchUp()
    }
  }

  private func watchFolder() {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return stop("\(folder): \(String(cString: strerror(errno)))") }
    // The handlers keep the follower; it lives as long as the program.
    folderSource = watch(descriptor, isFolder: true) { isGone in
      if isGone { return self.stop("\(folder): the folder is gone") }
      self.catchUp()
    }
  }

  /// Reads what is new, and goes on to the next file when there is one of the same name.
  private func catchUp() {
    while true {
      if file >= 0 { readOn() }
      var now = stat()
      var mine = stat()
      guard stat(path, &now) == 0 else { return }  // The name is free. The folder tells when it is used again.
      if file >= 0, fstat(file, &mine) == 0, (mine.st_dev, mine.st_ino) == (now.st_dev, now.st_ino) { return }
      // What was written between the last reading and the renaming is still in the old file.
      if file >= 0 { readOn() }
      guard openFile() else { return }
    }
  }

  private func openFile() -> Bool {
    // The old source closes the old file, when it no longer uses it.
    fileSource?.cancel()
    fileSource = nil
    (file, offset, rest) = (open(path, O_RDONLY | O_CLOEXEC), 0, [])
    guard file >= 0 else { return false }
    fileSource = watch(file, isFolder: false) { _ in self.catchUp() }
    return true
  }

  private func readOn() {
    var about = stat()
    // A file that is shorter than what was read of it has been cut off: it begins anew.
    if fstat(file, &about) == 0, about.st_size < offset { (offset, rest) = (0, []) }
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = pread(file, &buffer, buffer.count, offset)
      if count < 0 { return stop("\(path): \(String(cString: strerror(errno)))") }
      if count == 0 { break }
      offset += count
      rest += buffer[..<count]
      printLines()
    }
    // The lines are wanted now, also if the output is a pipe.
    fflush(nil)
  }

  private func printLines() {
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      let line = String(decoding: rest[..<end], as: UTF8.self)
      rest.removeSubrange(...end)
      print(line)
      if line == last { exit(EXIT_SUCCESS) }
    }
  }

  private func stop(_ message: String) {
    complain("log-follower: \(message)")
    exit(EXIT_FAILURE)
  }
}

extension Follower {
  /// Calls the handler when the file was written to, or when a name in the folder has changed, and says whether the file or folder
  /// itself was deleted or renamed. The cancelled source closes the descriptor.
  private func watch(
    _ descriptor: Int32, isFolder: Bool, handler: @escaping (_ isGone: Bool) -> Void
  ) -> any DispatchSourceProtocol {
    #if TWIN
      let notifier = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
      // Inotify does not tell that a folder is deleted before the last file in it is closed: the twin finds a renamed folder only.
      let mask = UInt32(IN_MOVE_SELF | (isFolder ? IN_CREATE | IN_DELETE | IN_MOVE : IN_MODIFY))
      if inotify_add_watch(notifier, "/proc/self/fd/\(descriptor)", mask) < 0 {
        stop("inotify: \(String(cString: strerror(errno)))")
      }
      let source = DispatchSource.makeReadSource(fileDescriptor: notifier, queue: queue)
      source.setEventHandler { handler(takeEvents(notifier) & UInt32(IN_MOVE_SELF) != 0) }
      source.setCancelHandler {
        close(notifier)
        close(descriptor)
      }
    #else
      let source = DispatchSource.makeFileSystemObjectSource(
        fileDescriptor: descriptor, eventMask: [.extend, .write, .rename, .delete], queue: queue)
      source.setEventHandler { handler(!source.data.isDisjoint(with: [.rename, .delete])) }
      source.setCancelHandler { close(descriptor) }
    #endif
    source.activate()
    return source
  }
}

#if TWIN
  /// All that has happened since the last call, as inotify's bits.
  private func takeEvents(_ notifier: Int32) -> UInt32 {
    var buffer = [UInt8](repeating: 0, count: 1 << 12)
    var found: UInt32 = 0
    while case let count = read(notifier, &buffer, buffer.count), count > 0 {
      var offset = 0
      while offset < count {
        // The name that the event is about stands behind it.
        let event = buffer.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: inotify_event.self) }
        found |= event.mask
        offset += MemoryLayout<inotify_event>.size + Int(event.len)
      }
    }
    return found
  }
#endif

/// Writes to standard error.
private func complain(_ text: String) { _ = "\(text)\n".withCString { write(STDERR_FILENO, $0, strlen($0)) } }
