// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral
import Testing

/// Waits until `condition` holds, and fails the test if it never does.
func waitFor(_ location: SourceLocation = #_sourceLocation, _ condition: () -> Bool) {
  let held = eventually(condition)
  #expect(held, sourceLocation: location)
}

/// What a slow handler does: keeps its thread busy for longer than a channel calls quick.
func takeLong() {
  let begin = monotonicNanoseconds()
  while monotonicNanoseconds() - begin < 1_000_000 {}
}

/// The processor time that the calling thread needs for `body`, in nanoseconds.
func processorTime(_ body: () -> Void) -> UInt64 {
  let begin = threadNanoseconds()
  body()
  return threadNanoseconds() - begin
}

/// One call of a channel's handler.
struct Call: Sendable, Equatable {
  let done: Bool
  let bytes: [UInt8]?
  let error: Int32

  init(_ done: Bool, _ bytes: [UInt8]?, _ error: Int32) {
    (self.done, self.bytes, self.error) = (done, bytes, error)
  }

  init(_ done: Bool, _ text: String?, _ error: Int32 = 0) { self.init(done, text.map { Array($0.utf8) }, error) }
}

/// What the handler of one operation was called with.
final class Calls: Sendable {
  private let recorder = Recorder<Call>()
  let done = Latch()

  var handler: @Sendable (Bool, DispatchData?, Int32) -> Void {
    { done, data, error in
      self.recorder.note(Call(done, data.map { Array($0) }, error))
      if done { self.done.open() }
    }
  }

  var all: [Call] { recorder.values }
  var last: Call? { all.last }
  var bytes: [UInt8] { all.flatMap { $0.bytes ?? [] } }
  var text: String { String(decoding: bytes, as: UTF8.self) }
  var count: Int { recorder.count }

  /// Waits for the end; the last call, and no other, is the one with `done`.
  func end(_ location: SourceLocation = #_sourceLocation) -> Call? {
    #expect(done.wait(), "no end", sourceLocation: location)
    #expect(all.filter(\.done).count == 1 && last?.done == true, sourceLocation: location)
    return last
  }
}

/// A channel's cleanup handler, and what it was called with.
final class Cleanup: Sendable {
  private let errors = Recorder<Int32>()
  private let latch = Latch()
  private let descriptors: [Int32]

  /// Closes `descriptors` when it is called.
  init(closing descriptors: [Int32] = []) { self.descriptors = descriptors }

  var handler: @Sendable (Int32) -> Void {
    { error in
      self.errors.note(error)
      for descriptor in self.descriptors { close(descriptor) }
      self.latch.open()
    }
  }

  var isDone: Bool { latch.isOpen }

  /// Waits for it; what it was called with.
  func error() -> Int32? { latch.wait() ? errors.values.first : nil }
  var count: Int { errors.count }
}

/// Two connected descriptors that block, as programs have them. The processes that other tests start do not inherit them:
/// they would keep the descriptors open.
struct Ends {
  let reading: Int32
  let writing: Int32

  static func pipe() -> Ends {
    var ends: [Int32] = [0, 0]
    precondition(gc_pipe(&ends) == 0, "no pipe")
    for end in ends { _ = fcntl(end, F_SETFL, flags(end) & ~O_NONBLOCK) }
    return Ends(reading: ends[0], writing: ends[1])
  }

  static func socketPair() -> Ends {
    var ends: [Int32] = [0, 0]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    precondition(socketpair(AF_UNIX, kind, 0, &ends) == 0, "socketpair: \(errno)")
    return Ends(reading: ends[0], writing: ends[1])
  }

  func write(_ text: String) {
    let bytes = Array(text.utf8)
    #expect(Glibc.write(writing, bytes, bytes.count) == bytes.count)
  }
}

/// A file without a name, with `bytes` in it and its position at the start.
func temporaryFile(_ bytes: [UInt8] = [], in folder: String = "/tmp") -> Int32 {
  var template = Array("\(folder)/gc-io-XXXXXX".utf8CString)
  let descriptor = mkstemp(&template)
  precondition(descriptor >= 0, "mkstemp: \(errno)")
  unlink(template)
  precondition(write(descriptor, bytes, bytes.count) == bytes.count)
  lseek(descriptor, 0, SEEK_SET)
  return descriptor
}

/// A name that nothing has yet.
func temporaryName() -> String {
  var template = Array("/tmp/gc-io-XXXXXX".utf8CString)
  let descriptor = mkstemp(&template)
  precondition(descriptor >= 0)
  close(descriptor)
  unlink(template)
  return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Bytes that differ from their neighbours, wherever one looks: the one at `i` is `i ^ i >> 8 ^ i >> 16`.
func pattern(_ count: Int, from start: Int = 0) -> [UInt8] { Array(patterns[start..<start + count]) }

/// All of them, made once and by words: without optimisation, and under a sanitizer, a byte at a time takes minutes.
private let patterns = [UInt8](unsafeUninitializedCapacity: 1 << 22) { bytes, count in
  let all = UnsafeMutableRawBufferPointer(bytes)
  for at in 0..<8 { all[at] = UInt8(at) }
  count = 8
  // What the bits of a position give is put together by exclusive or: each half is the one before it, with one bit more.
  while count < all.count {
    let bit = UInt64(truncatingIfNeeded: (count ^ count >> 8 ^ count >> 16) & 255) &* 0x0101_0101_0101_0101
    var at = 0
    while at < count {
      all.storeBytes(of: all.load(fromByteOffset: at, as: UInt64.self) ^ bit, toByteOffset: count + at, as: UInt64.self)
      at += 8
    }
    count *= 2
  }
}

func data(_ bytes: [UInt8]) -> DispatchData { bytes.withUnsafeBytes { DispatchData(bytes: $0) } }
func data(_ text: String) -> DispatchData { data(Array(text.utf8)) }

/// Everything that `descriptor` brings up to its end, `limit` bytes at most.
func drain(_ descriptor: Int32, _ limit: Int = .max) -> [UInt8] {
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 65536)
  while bytes.count < limit {
    let count = read(descriptor, &buffer, min(buffer.count, limit - bytes.count))
    if count <= 0 { return bytes }
    bytes.append(contentsOf: buffer[..<count])
  }
  return bytes
}

func flags(_ descriptor: Int32) -> Int32 { fcntl(descriptor, F_GETFL) }

extension DispatchIO {
  /// A stream on `descriptor` that closes it at its end.
  static func stream(_ descriptor: Int32, _ cleanup: Cleanup? = nil) -> DispatchIO {
    DispatchIO(
      type: .stream, fileDescriptor: descriptor, queue: .global(),
      cleanupHandler: (cleanup ?? Cleanup(closing: [descriptor])).handler)
  }

  func read(_ length: Int = .max, at offset: Int = 0, on queue: DispatchQueue = .global()) -> Calls {
    let calls = Calls()
    read(offset: offset, length: length, queue: queue, ioHandler: calls.handler)
    return calls
  }

  func write(_ data: DispatchData, at offset: Int = 0, on queue: DispatchQueue = .global()) -> Calls {
    let calls = Calls()
    write(offset: offset, data: data, queue: queue, ioHandler: calls.handler)
    return calls
  }
}
