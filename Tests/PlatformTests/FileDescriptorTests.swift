// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import Testing

@testable import GrandCentral

@Suite("An owned descriptor")
struct FileDescriptorTests {
  /// A pipe's two ends.
  private func pipe() -> (reader: Int32, writer: Int32) {
    var ends: [Int32] = [-1, -1]
    #expect(gc_pipe(&ends) == 0)
    return (ends[0], ends[1])
  }

  @Test("is closed when its owner goes")
  func closes() {
    let (reader, writer) = pipe()
    let input = FileDescriptor(owning: reader)
    // The test asks the other end: other threads may open a new file under the old number.
    var byte: UInt8 = 0
    #expect(gc_read(input.raw, &byte, 1) == -Int(EAGAIN))
    do { _ = FileDescriptor(owning: writer) }
    #expect(Kernel.waitForHangUp(input.raw))
    #expect(gc_read(input.raw, &byte, 1) == 0)
  }

  @Test("stays open once it was given away")
  func take() {
    let (reader, writer) = pipe()
    let input = FileDescriptor(owning: reader)
    let taken = FileDescriptor(owning: writer).take()
    var byte: UInt8 = 0
    #expect(gc_read(input.raw, &byte, 1) == -Int(EAGAIN))
    #expect(taken == writer)
    #expect(gc_close(taken) == 0)
  }

  @Test("is not made of an error")
  func failure() {
    let none = FileDescriptor(result: -EMFILE) == nil
    #expect(none)
    let missing = FileDescriptor.openForReading("/proc/no-such-file") == nil
    #expect(missing)
    #expect(FileDescriptor.contents(of: "/proc/no-such-file") == nil)
  }

  @Test("carries bytes")
  func bytes() {
    let (reader, writer) = pipe()
    let input = FileDescriptor(owning: reader)
    let output = FileDescriptor(owning: writer)
    let sent: [UInt8] = [1, 2, 3]
    #expect(sent.withUnsafeBytes { output.write($0) } == 3)
    var received = [UInt8](repeating: 0, count: 8)
    #expect(received.withUnsafeMutableBytes { input.read(into: $0) } == 3)
    #expect(received.prefix(3) == sent[...])
    #expect(Errno(result: received.withUnsafeMutableBytes { input.read(into: $0) }) == .again)
  }

  @Test("yields a whole file, up to the limit")
  func contents() throws {
    let all = try #require(FileDescriptor.contents(of: "/proc/self/status"))
    #expect(all.starts(with: Array("Name:".utf8)))
    let some = try #require(FileDescriptor.contents(of: "/proc/self/status", limit: 7))
    #expect(some.count == 7)
    #expect(some.starts(with: Array("Name:".utf8)))
  }
}
