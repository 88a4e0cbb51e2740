// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("One read, one write")
struct SingleTests {
  /// What a read brings.
  private func read(_ descriptor: Int32, _ length: Int = .max) -> Calls {
    let calls = Calls()
    DispatchIO.read(fromFileDescriptor: descriptor, maxLength: length, runningHandlerOn: .global()) { data, error in
      calls.handler(true, data, error)
    }
    return calls
  }

  private func write(_ descriptor: Int32, _ data: DispatchData) -> Calls {
    let calls = Calls()
    DispatchIO.write(toFileDescriptor: descriptor, data: data, runningHandlerOn: .global()) { data, error in
      calls.handler(true, data, error)
    }
    return calls
  }

  @Test("I3: another user of the open file writes between the records, and over none", arguments: ["/tmp", "/dev/shm"])
  func sharedPosition(folder: String) {
    let file = temporaryFile(in: folder)
    let files = [file, dup(file)]
    let records = [UInt8(ascii: "A"), UInt8(ascii: "B")].map { [UInt8](repeating: $0, count: 1000) }
    let writes = (0..<1000).map { write(files[$0 % 2], data(records[$0 % 2])) }
    for one in writes { #expect(one.end() == Call(true, nil as String?)) }
    lseek(file, 0, SEEK_SET)
    let all = drain(file)
    #expect(all.count == 1_000_000)
    var counts = [0, 0]
    for start in stride(from: 0, to: all.count, by: 1000) {
      if let found = records.firstIndex(of: Array(all[start..<min(start + 1000, all.count)])) { counts[found] += 1 }
    }
    #expect(counts == [500, 500])
    for file in files { close(file) }
  }

  @Test("I6: a read brings what is there, or waits until something is")
  func readPipe() {
    let ends = Ends.pipe()
    let first = read(ends.reading)
    #expect(first.count == 0)
    ends.write("abc")
    #expect(first.end() == Call(true, "abc"))
    ends.write("def")
    #expect(read(ends.reading, 2).end() == Call(true, "de"))
    #expect(read(ends.reading, 2).end() == Call(true, "f"))
    close(ends.writing)
    #expect(read(ends.reading).end() == Call(true, ""))
    close(ends.reading)
  }

  @Test("I6: a read brings all lines that a terminal has")
  func readTerminal() {
    let (terminal, user) = Kernel.openTerminal()
    #expect(Glibc.write(terminal, "ls\n", 3) == 3 && Glibc.write(terminal, "cd ..\n", 6) == 6)
    waitFor {
      var there: Int32 = 0
      return ioctl(user, UInt(FIONREAD), &there) == 0 && there == 9
    }
    #expect(read(user).end() == Call(true, "ls\ncd ..\n"))
    close(terminal)
    close(user)
  }

  @Test("I6: a read brings all messages that are there, as far as its length has room for the largest")
  func readMessages() {
    var ends: [Int32] = [0, 0]
    precondition(socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    func send() { for text in ["one", "two", "three"] { #expect(Glibc.write(ends[1], text, text.utf8.count) > 0) } }
    send()
    #expect(read(ends[0]).end() == Call(true, "onetwothree"))
    send()
    // The second one might have more than is left.
    for text in ["one", "two", "three"] { #expect(read(ends[0], 5).end() == Call(true, text)) }
    for end in ends { close(end) }
  }

  @Test("I6: a file is read to its end in one piece")
  func readFile() {
    let bytes = pattern(1_500_000)
    let file = temporaryFile(bytes)
    #expect(read(file, 1000).end()?.bytes == Array(bytes[..<1000]))
    let rest = read(file)
    #expect(rest.end()?.error == 0)
    #expect(rest.count == 1 && rest.bytes == Array(bytes[1000...]))
    close(file)
  }

  @Test("I6: reads of one descriptor come in order")
  func order() {
    let ends = Ends.pipe()
    let reads = (0..<10).map { _ in read(ends.reading, 1) }
    ends.write("0123456789")
    for (index, read) in reads.enumerated() { #expect(read.end() == Call(true, "\(index)")) }
    close(ends.reading)
    close(ends.writing)
  }

  @Test("I6: a write writes everything")
  func writePipe() {
    let ends = Ends.pipe()
    let bytes = pattern(300_000)
    let calls = write(ends.writing, data(bytes))
    #expect(drain(ends.reading, 300_000) == bytes)
    #expect(calls.end() == Call(true, nil as String?))
    close(ends.reading)
    #expect(Kernel.waitForHangUp(ends.writing))
    #expect(write(ends.writing, data("text")).end() == Call(true, "text", EPIPE))
    close(ends.writing)
  }

  @Test("I6, I7: a bad descriptor gives EBADF")
  func bad() {
    #expect(read(-1).end() == Call(true, "", EBADF))
    #expect(write(-1, data("text")).end() == Call(true, "text", EBADF))
  }

  @Test("I6: the descriptor is the program's again when the handler runs: it may close it and use the number")
  func reuse() {
    let rounds = 200
    let (ended, wrong) = (Latch(), Counter())
    @Sendable func round(_ left: Int) {
      if left == 0 { return ended.open() }
      let ends = left % 2 == 0 ? Ends.pipe() : Ends.socketPair()
      DispatchIO.read(fromFileDescriptor: ends.reading, maxLength: 10, runningHandlerOn: .global()) { data, error in
        if error != 0 || Array(data) != [UInt8(left)] { wrong.add() }
        close(ends.reading)
        close(ends.writing)
        round(left - 1)
      }
      var byte = UInt8(left)
      precondition(Glibc.write(ends.writing, &byte, 1) == 1)
    }
    round(rounds)
    #expect(ended.wait())
    #expect(wrong.value == 0)
  }

  @Test("I6: the descriptor is the program's again when the handlers of two reads have run")
  func reuseAfterTwo() {
    for _ in 0..<500 {
      var ends = Ends.pipe()
      let two = [read(ends.reading, 1), read(ends.reading, 1)]
      ends.write("ab")
      #expect(two.map { $0.end()?.bytes } == [Array("a".utf8), Array("b".utf8)])
      close(ends.reading)
      close(ends.writing)
      ends = Ends.socketPair()
      let next = read(ends.reading, 1)
      ends.write("c")
      #expect(next.end() == Call(true, "c"))
      close(ends.reading)
      close(ends.writing)
    }
  }
}
