// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral

/// One kind of source at work: what happens to it, and what must have been reported in the end.
protocol FuzzLoad: Sendable {
  var subjects: [FuzzSubject] { get }
  /// Something happens.
  func step(_ random: inout SeededRandom)
  /// Whether everything that has happened was reported. Loads that are not cancelled ask until it was; nothing more happens then.
  func isSettled() -> Bool
  /// For messages: what has happened, and what was reported.
  var account: String { get }
  /// All sources have ended.
  func tidyUp()
}

/// Bytes through a pipe or a socket, or a count through an event descriptor, with up to three sources that read.
///
/// Each load has a byte of its own: reading another one shows that descriptors were mixed up.
final class FuzzReading: FuzzLoad {
  enum Kind: Int, Sendable { case pipe, stream, datagram, event }

  let subjects: [FuzzSubject]
  private let kind: Kind
  private let writing: Int32
  private let byte: UInt8
  private let written: Counter

  private let taken: Counter

  init(_ random: inout SeededRandom, _ name: String, _ report: FuzzReport, _ queues: FuzzQueues) {
    let kind = Kind(rawValue: random.below(4))!
    let (reading, writing) = Self.open(kind)
    let (byte, taken) = (UInt8(truncatingIfNeeded: random.next()), Counter())
    let readers = random.oneIn(3) ? 2 + random.below(2) : 1
    let open = Counter(readers)
    let appetite = 1 + random.below(random.oneIn(2) ? 16 : 8192)
    let stopsAfter = random.oneIn(5) ? 1 + random.below(20) : Int.max
    let forgets = random.oneIn(2)
    self.kind = kind
    self.writing = writing
    self.byte = byte
    self.taken = taken
    written = Counter()
    subjects = (0..<readers).map { index in
      FuzzSubject(
        "\(name) reading \(kind) \(reading) \(index)", report,
        DispatchSource.makeReadSource(fileDescriptor: reading, queue: queues.any(&random)),
        onEvent: { subject, source in
          Self.read(kind, reading, byte, appetite, into: taken, subject, Int(source.data), isAlone: readers == 1)
          if subject.events.value >= stopsAfter { subject.cancelInside(forgets: forgets) }
        },
        onEnd: { if open.add(-1) == 0 { close(reading) } })
    }
  }

  private static func open(_ kind: Kind) -> (Int32, Int32) {
    var ends: (Int32, Int32)
    switch kind {
    case .pipe:
      guard let made = Kernel.closeOnExecPipe() else { preconditionFailure("pipe: \(errno)") }
      ends = made
    case .stream:
      guard let made = Kernel.closeOnExecSockets() else { preconditionFailure("sockets: \(errno)") }
      ends = made
    case .datagram:
      var made: [Int32] = [0, 0]
      precondition(socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &made) == 0)
      ends = (made[0], made[1])
    case .event:
      let made = gc_eventfd()
      ends = (made, dup(made))
      _ = fcntl(ends.1, F_SETFD, FD_CLOEXEC)
    }
    for end in [ends.0, ends.1] { _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK) }
    return ends
  }

  private static func read(
    _ kind: Kind, _ descriptor: Int32, _ byte: UInt8, _ appetite: Int, into taken: Counter, _ subject: FuzzSubject,
    _ data: Int, isAlone: Bool
  ) {
    if data < 1 { subject.fail("data is \(data)") }
    var buffer = [UInt8](repeating: 0, count: max(8, kind == .datagram ? 8192 : appetite))
    let wanted = kind == .event ? 8 : kind == .datagram ? 8192 : appetite
    let count = Glibc.read(descriptor, &buffer, wanted)
    guard count > 0 else {
      if isAlone { subject.fail("nothing to read though data is \(data): \(count), \(errno)") }
      return
    }
    if kind == .event {
      taken.add(Int(buffer.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }))
      return
    }
    taken.add(count)
    if buffer[..<count].contains(where: { $0 != byte }) { subject.fail("bytes of another descriptor") }
    if isAlone, kind != .datagram, count < min(wanted, data) { subject.fail("\(count) bytes, data \(data)") }
  }

  func step(_ random: inout SeededRandom) {
    if kind == .event {
      var value = UInt64(1 + random.below(100))
      if write(writing, &value, 8) == 8 { written.add(Int(value)) }
      return
    }
    let bytes = [UInt8](repeating: byte, count: 1 + random.below(random.oneIn(3) ? 5000 : 20))
    written.add(max(0, write(writing, bytes, bytes.count)))
  }

  func isSettled() -> Bool { taken.value == written.value }

  var account: String { "\(taken.value) of \(written.value) bytes" }

  func tidyUp() { close(writing) }
}

/// Sources that write until they have written enough, into something that is emptied now and then.
final class FuzzWriting: FuzzLoad {
  let subjects: [FuzzSubject]
  private let reading: Int32
  private let written: Counter
  private let taken = Counter()
  private let quota: Int

  init(_ random: inout SeededRandom, _ name: String, _ report: FuzzReport, _ queues: FuzzQueues) {
    guard let (reading, writing) = random.oneIn(2) ? Kernel.closeOnExecPipe() : Kernel.closeOnExecSockets() else {
      preconditionFailure("descriptors: \(errno)")
    }
    for end in [reading, writing] { _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK) }
    let (written, quota, forgets) = (Counter(), random.below(400_000), random.oneIn(2))
    let writers = random.oneIn(3) ? 2 : 1
    let (open, portion) = (Counter(writers), 1 + random.below(4096))
    self.reading = reading
    self.written = written
    self.quota = quota
    subjects = (0..<writers).map { index in
      FuzzSubject(
        "\(name) writing \(writing) \(index)", report,
        DispatchSource.makeWriteSource(fileDescriptor: writing, queue: queues.any(&random)),
        onEvent: { subject, source in
          if source.data < 1 { subject.fail("no room") }
          if written.value >= quota { return subject.cancelInside(forgets: forgets) }
          let bytes = [UInt8](repeating: 1, count: portion)
          let count = write(writing, bytes, portion)
          if count > 0 { written.add(count) } else if writers == 1 { subject.fail("no room to write: \(errno)") }
        },
        onEnd: { if open.add(-1) == 0 { close(writing) } })
    }
  }

  private func drain(_ limit: Int) {
    var buffer = [UInt8](repeating: 0, count: limit)
    let count = read(reading, &buffer, limit)
    if count > 0 { taken.add(count) }
  }

  func step(_ random: inout SeededRandom) { drain(1 + random.below(65536)) }

  var account: String { "\(written.value) of \(quota) written, \(taken.value) drained" }

  func isSettled() -> Bool {
    drain(65536)
    return written.value >= quota && taken.value == written.value
  }

  func tidyUp() { close(reading) }
}

/// A descriptor whose number is given to another file under its sources, which must hear nothing of that one and end.
final class FuzzStealing: FuzzLoad {
  let subjects: [FuzzSubject]
  private let (first, second): ((Int32, Int32), (Int32, Int32))
  private let isStolen = Counter()
  private let newcomer: FuzzSubject
  private let (written, taken): (Counter, Counter)

  init(_ random: inout SeededRandom, _ name: String, _ report: FuzzReport, _ queues: FuzzQueues) {
    guard let first = Kernel.closeOnExecPipe(), let second = Kernel.closeOnExecPipe() else {
      preconditionFailure("descriptors: \(errno)")
    }
    for end in [first.0, second.0] { _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK) }
    self.first = first
    self.second = second
    let victims = (0..<1 + random.below(3)).map { index in
      FuzzSubject(
        "\(name) stolen \(first.0) \(index)", report,
        DispatchSource.makeReadSource(fileDescriptor: first.0, queue: queues.any(&random)),
        onEvent: { subject, _ in
          // One may have been on its way.
          if subject.stolen.value > 0, subject.stolen.add() > 2 { return subject.fail("events of another file") }
          var byte: UInt8 = 0
          if subject.stolen.value == 0 { _ = read(first.0, &byte, 0) }
        })
    }
    let taken = Counter()
    self.taken = taken
    written = Counter()
    newcomer = FuzzSubject(
      "\(name) thief \(first.0)", report,
      DispatchSource.makeReadSource(fileDescriptor: first.0, queue: queues.any(&random)),
      onEvent: { _, _ in
        var byte: UInt8 = 0
        if read(first.0, &byte, 1) == 1 { taken.add() }
      })
    subjects = victims
  }

  func step(_ random: inout SeededRandom) {
    var byte: UInt8 = 1
    if isStolen.value == 0 {
      if random.oneIn(2) { _ = write(first.1, &byte, 1) }
      if random.oneIn(4) {
        isStolen.add()
        precondition(dup2(second.0, first.0) == first.0)
        newcomer.activate()
        for victim in subjects { victim.stolen.add() }
      }
    } else if write(second.1, &byte, 1) == 1 {
      written.add()
    }
  }

  var account: String { "stolen \(isStolen.value), \(taken.value) of \(written.value) bytes" }

  func isSettled() -> Bool {
    if isStolen.value > 0 { return taken.value == written.value && subjects.allSatisfy { $0.ended.isOpen } }
    return true
  }

  func tidyUp() {
    newcomer.activate()
    newcomer.cancel()
    newcomer.expectEnd()
    for end in [first.0, first.1, second.0, second.1] { close(end) }
  }
}
