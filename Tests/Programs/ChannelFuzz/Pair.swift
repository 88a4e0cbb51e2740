// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

extension Life {
  /// What was written and what was read of one stream.
  private final class Stream: @unchecked Sendable {  // why: `read` belongs to `places`; `written` is guarded
    let places = DispatchQueue(label: "places")
    let written = Guarded<[(bytes: [UInt8], count: Int?)]>([])
    let read = Unprotected<[UInt8]>([])
    let isWhole = Counter()
  }

  private enum Kind: String { case pipe, socket, terminal }

  private func open(_ kind: Kind) -> (reading: Int32, writing: Int32) {
    switch kind {
    case .pipe:
      let ends = Kernel.closeOnExecPipe()!
      return (ends.readEnd, ends.writeEnd)
    case .socket:
      let ends = Kernel.closeOnExecSockets()!
      return (ends.readEnd, ends.writeEnd)
    case .terminal:
      let ends = Kernel.openTerminal()
      var modes = termios()
      tcgetattr(ends.user, &modes)
      cfmakeraw(&modes)
      tcsetattr(ends.user, TCSANOW, &modes)
      return (ends.program, ends.user)
    }
  }

  /// Channels at both ends of a stream, and on duplicates.
  func pair() -> () -> Void {
    let kind: Kind = random.oneIn(3) ? .terminal : random.oneIn(2) ? .pipe : .socket
    let ends = open(kind)
    if random.oneIn(4) { _ = fcntl(ends.reading, F_SETFL, fcntl(ends.reading, F_GETFL) | O_NONBLOCK) }
    let stream = Stream()
    let readers = members(ends.reading), writers = members(ends.writing)
    tell("\(kind.rawValue), \(readers.channels.count) readers, \(writers.channels.count) writers")
    let steps = 1 + random.below(10)
    for _ in 0..<steps {
      write(stream, writers)
      read(stream, readers)
      for side in [readers, writers] {
        act(side)
        if random.oneIn(12) { side.channels[random.below(side.channels.count)].close(stop: random.oneIn(2)) }
      }
    }
    if random.oneIn(2) {
      // To the end.
      if let last = readers.channels.first(where: { !$0.isClosed }) { read(stream, last, .max) }
    }
    for side in [readers, writers] {
      for member in side.channels { member.close(stop: random.oneIn(5)) }
      for member in side.beside { member.close(stop: random.oneIn(3)) }
    }
    let isStopped = (readers.channels + writers.channels).contains { $0.isStopped }
    return {
      let expected = stream.written.with { $0.flatMap { $0.bytes[..<($0.count ?? 0)] } }
      let read = stream.places.sync { stream.read.value }
      if !expected.starts(with: read) {
        let place = zip(expected, read).enumerated().first { $0.element.0 != $0.element.1 }?.offset
        self.fail("read \(read.count) bytes of \(expected.count), other ones from \(place ?? expected.count) on")
      }
      if stream.isWhole.value > 0, !isStopped, read.count != expected.count {
        self.fail("the end after \(read.count) bytes of \(expected.count)")
      }
    }
  }

  private typealias Side = (channels: [Member], beside: [Member])

  /// One or two channels that use the descriptor, and sometimes one on a duplicate of it.
  private func members(_ descriptor: Int32) -> Side {
    let (count, beside) = (random.oneIn(3) ? 2 : 1, random.oneIn(2) ? 1 : 0)
    let duplicates = beside == 0 ? [] : [fcntl(descriptor, F_DUPFD_CLOEXEC, 0)]
    let family = Family([descriptor] + duplicates, members: count + beside)
    let first = Member(self, family) {
      DispatchIO(type: .stream, fileDescriptor: descriptor, queue: $0, cleanupHandler: $1)
    }
    var channels = [first]
    if count == 2 {
      let isShared = random.oneIn(2)
      channels.append(
        Member(self, family, kin: first) {
          isShared
            ? DispatchIO(type: .stream, io: first.io, queue: $0, cleanupHandler: $1)
            : DispatchIO(type: .stream, fileDescriptor: descriptor, queue: $0, cleanupHandler: $1)
        })
    }
    for member in channels { member.setLimits() }
    return (
      channels,
      duplicates.map { duplicate in
        Member(self, family) {
          DispatchIO(type: .stream, fileDescriptor: duplicate, queue: $0, cleanupHandler: $1)
        }
      }
    )
  }

  /// What does not change the stream. With two channels in use, holding one back would change the order.
  private func act(_ side: Side) {
    if side.channels.count == 1, random.oneIn(4) { side.channels[0].barrier() }
    if side.channels.count == 1, random.oneIn(4) { side.channels[0].pause() }
    for member in side.beside where random.oneIn(3) {
      switch random.below(4) {
      case 0: member.barrier()
      case 1: member.close(stop: random.oneIn(2))
      case 2: member.pause()
      default: member.read(0, on: queue, errors: [ECANCELED]) { _, _, _ in }
      }
    }
  }

  private func write(_ stream: Stream, _ side: Side) {
    let member = side.channels[random.below(side.channels.count)]
    let count = random.below(random.oneIn(4) ? 150_000 : 2_000)
    let seed = UInt8(truncatingIfNeeded: random.next())
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) &+ seed }
    let index = stream.written.with {
      $0.append((bytes, nil))
      return $0.count - 1
    }
    var errors: Set<Int32> = [ECANCELED, EPIPE, ECONNRESET, EIO]
    if isFilled { errors.insert(ENOSPC) }
    member.write(bytes, on: queue, errors: errors) { written, _ in
      stream.written.with { $0[index].count = written }
    }
  }

  private func read(_ stream: Stream, _ side: Side) {
    read(
      stream, side.channels[random.below(side.channels.count)],
      random.oneIn(4) ? .max : random.below(random.oneIn(3) ? 200_000 : 2_000))
  }

  private func read(_ stream: Stream, _ member: Member, _ length: Int) {
    member.read(length, on: stream.places, errors: [ECANCELED, ECONNRESET, EIO]) { data, done, error in
      stream.read.value.append(contentsOf: data)
      if done, length == .max, error == 0 { stream.isWhole.add() }
    }
  }
}
