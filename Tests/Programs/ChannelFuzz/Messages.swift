// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

extension Life {
  /// Two ends of what keeps each write a message of its own.
  private func messageEnds() -> (reading: Int32, writing: Int32) {
    let isDatagram = random.oneIn(2)
    tell(isDatagram ? "datagrams" : "packets")
    let kind = isDatagram ? SOCK_DGRAM : SOCK_SEQPACKET
    var ends: [Int32] = [-1, -1]
    precondition(
      socketpair(AF_UNIX, Int32(kind.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0, "socketpair: \(errno)")
    return (ends[0], ends[1])
  }

  /// Messages are written, of one region or of many, and a thread of the program's receives them: each comes as a whole, in order,
  /// or not at all, and then the write says so.
  func sentMessages() -> () -> Void {
    let ends = messageEnds()
    // The empty message that is the last one.
    let last = fcntl(ends.writing, F_DUPFD_CLOEXEC, 0)
    let member = Member(self, Family([ends.writing], members: 1)) {
      DispatchIO(type: .stream, fileDescriptor: ends.writing, queue: $0, cleanupHandler: $1)
    }
    // A high water mark is the most that one write hands over.
    member.setLimits()
    let (received, isOver) = (Guarded<[[UInt8]]>([]), Latch())
    let receiver = PlainThread {
      var room = [UInt8](repeating: 0, count: 1 << 18)
      while true {
        let count = Glibc.read(ends.reading, &room, room.count)
        if count <= 0 { break }
        received.with { $0.append(Array(room[..<count])) }
      }
      isOver.open()
    }
    let sent = Guarded<[(bytes: [UInt8], isSent: Bool)]>([])
    for _ in 0..<1 + random.below(12) {
      let count = 1 + random.below(min(member.highWater, random.oneIn(3) ? 150_000 : 3_000))
      let bytes = message(count)
      let index = sent.with {
        $0.append((bytes, false))
        return $0.count - 1
      }
      var errors: Set<Int32> = [ECANCELED]
      if isFilled { errors.insert(ENOSPC) }
      member.write(bytes, on: queue, errors: errors) { written, error in
        if written != 0, written != count { self.fail("\(written) bytes of a message of \(count), error \(error)") }
        sent.with { $0[index].isSent = written == count }
      }
      if random.oneIn(8) { member.barrier() }
      if random.oneIn(8) { member.pause() }
      if random.oneIn(30) { member.close(stop: random.oneIn(2)) }
    }
    member.close(stop: random.oneIn(5))
    return {
      var nothing: UInt8 = 0
      if Glibc.write(last, &nothing, 0) != 0 { self.fail("the last message: error \(errno)") }
      if !isOver.wait(seconds: 60) { return self.fail("the last message does not arrive") }
      receiver.join()
      Glibc.close(last)
      Glibc.close(ends.reading)
      let (expected, found) = (sent.with { $0.filter(\.isSent).map(\.bytes) }, received.with { $0 })
      if found != expected { self.fail("messages of \(found.map(\.count)) bytes, sent were \(expected.map(\.count))") }
    }
  }

  /// A thread of the program's sends messages, and a channel reads them: none is cut.
  func readMessages() -> () -> Void {
    let ends = messageEnds()
    let member = Member(self, Family([ends.reading], members: 1)) {
      DispatchIO(type: .stream, fileDescriptor: ends.reading, queue: $0, cleanupHandler: $1)
    }
    member.setLimits()
    let messages = (0..<1 + random.below(30)).map { _ in
      // The room of a read is the high water mark at most: the rest of a longer message is lost.
      message(1 + random.below(min(member.highWater, random.oneIn(3) ? 150_000 : 3_000)))
    }
    let (read, isWhole) = (Unprotected<[UInt8]>([]), Counter())
    let places = DispatchQueue(label: "places")
    member.read(.max, on: places, errors: [ECANCELED]) { data, done, error in
      read.value.append(contentsOf: data)
      if done, error == 0 { isWhole.add() }
    }
    let isStopped = random.oneIn(4)
    let stopsAfter = isStopped ? random.below(messages.count) : messages.count
    for (index, bytes) in messages.enumerated() {
      if index == stopsAfter { member.close(stop: true) }
      if random.oneIn(8) { member.pause() }
      // After the stop nobody may read.
      let count = index < stopsAfter ? Glibc.write(ends.writing, bytes, bytes.count) : bytes.count
      if count != bytes.count { fail("a message of \(bytes.count): \(count), error \(errno)") }
    }
    if !isStopped {
      // The end, for a datagram socket has no other one.
      if Glibc.write(ends.writing, messages[0], 0) != 0 { fail("the last message: error \(errno)") }
      member.close(stop: false)
    }
    return {
      Glibc.close(ends.writing)
      let found = places.sync { read.value }
      var (expected, ends): ([UInt8], Set<Int>) = ([], [0])
      for message in messages {
        expected.append(contentsOf: message)
        ends.insert(expected.count)
      }
      if !expected.starts(with: found) { self.fail("other bytes than were sent") }
      if !ends.contains(found.count) { self.fail("a message is cut: \(found.count) of \(messages.map(\.count))") }
      if isWhole.value == 1, found.count != expected.count {
        self.fail("the end after \(found.count) of \(expected.count)")
      }
      if !isStopped, isWhole.value != 1 { self.fail("no end") }
    }
  }

  private func message(_ count: Int) -> [UInt8] {
    let seed = UInt8(truncatingIfNeeded: random.next())
    return (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) &+ seed }
  }
}
