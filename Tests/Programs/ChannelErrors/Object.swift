// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

#if TOOLCHAIN
  import Dispatch
#else
  import GrandCentral
#endif

/// What a channel is made for, and how.
struct Object: Sendable {
  enum Way: Sendable {
    case path(String, Int32)
    case descriptor(@Sendable () -> Int32)
    /// Made from another channel; the closure makes that one, and brings it into the state that the case wants.
    case channel(@Sendable (DispatchQueue) -> DispatchIO?)
  }

  let name: String
  let isRandom: Bool
  let way: Way
  /// Whether no descriptors are left while the channel is used.
  var isExhausted = false

  /// What the handlers heard, for each of the sequences.
  func line() -> String {
    Sequence.allCases.map { run($0) }.joined(separator: " | ")
  }

  private func run(_ sequence: Sequence) -> String {
    let talk = Talk()
    let taken = isExhausted ? Ground.exhaust() : []
    defer { for descriptor in taken { close(descriptor) } }
    let queue = talk.queue
    let type: DispatchIO.StreamType = isRandom ? .random : .stream
    let cleanup: @Sendable (Int32) -> Void = { talk.cleaned($0) }
    var made: DispatchIO?
    var other: DispatchIO?
    switch way {
    case .path(let path, let flags):
      let full = path.hasPrefix("/") ? path : Object.here + "/" + path
      made = DispatchIO(type: type, path: full, oflag: flags, mode: 0o644, queue: queue, cleanupHandler: cleanup)
    case .descriptor(let open):
      made = DispatchIO(type: type, fileDescriptor: open(), queue: queue, cleanupHandler: cleanup)
    case .channel(let make):
      other = make(queue)
      made = other.map { DispatchIO(type: type, io: $0, queue: queue, cleanupHandler: cleanup) }
    }
    guard let channel = made else { return "no channel" }
    let ended = talk.perform(sequence, channel)
    channel.close()
    other?.close()
    return ended ? talk.summary(sequence) : "hangs"
  }

  static let here: String = {
    let path = getcwd(nil, 0)!
    defer { free(path) }
    return String(cString: path)
  }()
}

/// What is done with a channel before it is closed.
enum Sequence: CaseIterable {
  case nothing, read, write, readAndWrite, readTwice, empty, late
}

/// What the handlers of one channel heard.
final class Talk: @unchecked Sendable {  // why: `heard` and `cleanup` belong to the queue
  let queue = DispatchQueue(label: "handlers")
  private let (ended, closed) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
  private var heard: [String] = []
  private var cleanup: Int32?

  func cleaned(_ error: Int32) {
    cleanup = error
    closed.signal()
  }

  private func read(_ channel: DispatchIO, _ length: Int = 16) -> Bool {
    channel.read(offset: 0, length: length, queue: queue) { self.note("R", $0, $1, $2) }
    return wait(ended)
  }

  private func write(_ channel: DispatchIO, _ text: String = "text") -> Bool {
    let text = Array(text.utf8).withUnsafeBytes { DispatchData(bytes: $0) }
    channel.write(offset: 0, data: text, queue: queue) { self.note("W", $0, $1, $2) }
    return wait(ended)
  }

  private func note(_ name: String, _ done: Bool, _ data: DispatchData?, _ error: Int32) {
    heard.append("\(name) \(data.map { "\($0.count)" } ?? "nil") \(Talk.name(error))\(done ? "" : " …")")
    if done { ended.signal() }
  }

  private func wait(_ semaphore: DispatchSemaphore) -> Bool { semaphore.wait(timeout: .now() + 60) == .success }

  func perform(_ sequence: Sequence, _ channel: DispatchIO) -> Bool {
    switch sequence {
    case .nothing: return true
    case .read: return read(channel)
    case .write: return write(channel)
    case .readAndWrite: return read(channel) && write(channel)
    case .readTwice: return read(channel) && read(channel)
    case .empty: return read(channel, 0) && write(channel, "")
    case .late:
      channel.close()
      return read(channel) && write(channel)
    }
  }

  func summary(_ sequence: Sequence) -> String {
    if !wait(closed) { return "no cleanup" }
    return queue.sync {
      let error = Talk.name(cleanup ?? -1)
      // On libdispatch a closed channel that could not be made reports one of two errors, by chance.
      if sequence == .late, cleanup != 0 {
        heard = heard.map { $0.hasSuffix(error) ? $0.dropLast(error.count) + "ECANCELED" : $0 }
      }
      return (heard + ["cleanup \(error)"]).joined(separator: ", ")
    }
  }

  static func name(_ error: Int32) -> String {
    switch error {
    case 0: "0"
    case ENOENT: "ENOENT"
    case EBADF: "EBADF"
    case EACCES: "EACCES"
    case EEXIST: "EEXIST"
    case ENOTDIR: "ENOTDIR"
    case EISDIR: "EISDIR"
    case EINVAL: "EINVAL"
    case EMFILE: "EMFILE"
    case ENOSPC: "ENOSPC"
    case ESPIPE: "ESPIPE"
    case ELOOP: "ELOOP"
    case ENXIO: "ENXIO"
    case ECANCELED: "ECANCELED"
    case ENAMETOOLONG: "ENAMETOOLONG"
    case EPIPE: "EPIPE"
    default: "\(error)"
    }
  }
}
