// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral
import Testing

/// Data of several regions, written to what takes each write for a message or a value of its own.
@Suite("Data that must be one write")
struct WholeTests {
  /// How the data are written.
  enum Way: CaseIterable { case channel, single }

  /// Data of so many regions.
  private func data(_ regions: [[UInt8]]) -> DispatchData {
    var all = DispatchData.empty
    for region in regions { all.append(region.withUnsafeBytes { DispatchData(bytes: $0) }) }
    return all
  }

  /// Writes the data; the error.
  private func write(_ regions: [[UInt8]], to descriptor: Int32, _ way: Way) -> Int32? {
    let calls = Calls()
    switch way {
    case .channel:
      // It closes its own descriptor.
      DispatchIO.stream(dup(descriptor)).write(
        offset: 0, data: data(regions), queue: .global(), ioHandler: calls.handler)
    case .single:
      DispatchIO.write(toFileDescriptor: descriptor, data: data(regions), runningHandlerOn: .global()) {
        calls.handler(true, $0, $1)
      }
    }
    return calls.end()?.error
  }

  @Test(
    "I3: data of many regions is one message", arguments: [Int32(SOCK_DGRAM.rawValue), Int32(SOCK_SEQPACKET.rawValue)],
    Way.allCases)
  func sockets(_ type: Int32, _ way: Way) {
    var ends: [Int32] = [0, 0]
    precondition(socketpair(AF_UNIX, type | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    var random = SeededRandom(seed: 7)
    // A few bytes, more than are copied for their number's sake alone, few large ones, and any.
    var messages = [
      [Int](repeating: 100, count: 17), [Int](repeating: 1700, count: 40), [Int](repeating: 30_000, count: 3),
      [65_537] + [Int](repeating: 1, count: 16), [70_000] + [Int](repeating: 1000, count: 20),
    ]
    for _ in 0..<50 {
      let most = 1 + random.below(random.oneIn(3) ? 30_000 : 900)
      messages.append((0..<1 + random.below(90_000 / most)).map { _ in 1 + random.below(most) })
    }
    for sizes in messages {
      let bytes = pattern(sizes.reduce(0, +))
      var start = 0
      let regions = sizes.map { size in
        defer { start += size }
        return Array(bytes[start..<start + size])
      }
      #expect(write(regions, to: ends[0], way) == 0)
      var message = [UInt8](repeating: 0, count: 200_000)
      let received = recv(ends[1], &message, message.count, Int32(MSG_DONTWAIT))
      #expect(received == bytes.count, "\(sizes.count) regions")
      let isSame = Array(message[..<max(0, received)]) == bytes
      #expect(isSame)
    }
    for end in ends { close(end) }
  }

  @Test("I3: the number of an eventfd in two regions is one number", arguments: Way.allCases)
  func event(_ way: Way) {
    let event = gc_eventfd()
    #expect(write([[5, 0, 0], [0, 0, 0, 0, 0]], to: event, way) == 0)
    var number: UInt64 = 0
    #expect(read(event, &number, 8) == 8 && number == 5)
    close(event)
  }

  @Test("I3: a file of the kernel's that takes each write for a value gets it whole", arguments: Way.allCases)
  func kernelFile(_ way: Way) {
    let file = open("/proc/self/task/\(Kernel.threadID)/comm", O_RDWR | O_CLOEXEC)
    var before = [UInt8](repeating: 0, count: 32)
    let length = pread(file, &before, before.count, 0)
    #expect(write(["ab", "cd", "ef"].map { Array($0.utf8) }, to: file, way) == 0)
    var name = [UInt8](repeating: 0, count: 32)
    #expect(pread(file, &name, name.count, 0) == 7 && Array(name[..<7]) == Array("abcdef\n".utf8))
    #expect(Glibc.write(file, before, length - 1) == length - 1)
    close(file)
  }

  @Test("I3: records of many regions that are appended to one file lie there whole")
  func records() {
    let file = open(temporaryName(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    let (channels, calls) = ((0..<4).map { _ in DispatchIO.stream(dup(file)) }, (0..<40).map { _ in Calls() })
    for (index, calls) in calls.enumerated() {
      // 4,000 regions of 20 bytes, each with the record's number.
      let regions = (0..<4000).map { _ in [UInt8](repeating: UInt8(index), count: 20) }
      channels[index % 4].write(offset: 0, data: data(regions), queue: .global(), ioHandler: calls.handler)
    }
    for calls in calls { #expect(calls.end()?.error == 0) }
    var bytes = [UInt8](repeating: 0, count: 40 * 80_000)
    #expect(pread(file, &bytes, bytes.count, 0) == bytes.count)
    let areWhole = stride(from: 0, to: bytes.count, by: 80_000).allSatisfy { start in
      bytes[start..<start + 80_000].allSatisfy { $0 == bytes[start] }
    }
    #expect(areWhole)
    close(file)
  }

  @Test("I3: data of regions of all sizes arrives as it was", arguments: 0..<20)
  func mixture(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let regions = (0..<1 + random.below(60)).map { _ in
      pattern(1 + random.below(random.oneIn(4) ? 300_000 : 2000), from: random.below(251))
    }
    let ends = Ends.pipe()
    let channel = DispatchIO.stream(ends.writing)
    channel.setLimit(highWater: 1 << (8 + random.below(13)))
    let calls = Calls()
    channel.write(offset: 0, data: data(regions), queue: .global(), ioHandler: calls.handler)
    let wanted = regions.flatMap { $0 }
    let isSame = drain(ends.reading, wanted.count) == wanted
    #expect(isSame)
    #expect(calls.end()?.error == 0)
    close(ends.reading)
  }
}
