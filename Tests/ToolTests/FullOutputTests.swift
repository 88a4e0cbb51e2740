// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc
import Testing

@testable import gcd

/// A descriptor does not block if any process that has the file asks for that: what reads the pipe, for example, or what had the terminal.
@Suite("An output that does not block, and is full")
struct FullOutputTests {
  /// What the tool writes where its output blocks, and where it does not.
  private func outputs(_ arguments: [String], _ folder: borrowing TemporaryFolder) -> [String] {
    let process = ToolProcess(arguments, folder: folder.path, outputBlocks: false)
    #expect(process.waitUntilFull())
    return [ToolProcess.run(arguments, folder: folder.path).output, process.wait().output]
  }

  @Test("what a program has written that ran in a schedule is told whole")
  func terminal() throws {
    let folder = TemporaryFolder()
    let library = try MadeUpLibrary.make(in: folder)
    let outputs = outputs(["sim", "--runs", "1", "--library", library, "--", "seq", "20000"], folder)
    #expect(outputs[0].hasSuffix("\n20000\n") && outputs[1] == outputs[0], "\(outputs[1].utf8.count) bytes")
  }

  @Test("K2: a trace that is converted is written whole")
  func trace() throws {
    let folder = TemporaryFolder()
    var made = MadeUpRegion()
    made.object(1, "queue")
    let begin = RegionClock.now().counter - 10_000_000
    let items = (0..<1_000).map {
      MadeUpRegion.record(Int(GC_RECORD_ITEM), at: begin + UInt64($0) * 1_000, length: 500, queue: 1)
    }
    made.chunk(0, 0, 10, items)
    folder.file("trace", try MadeUpTrace.collect(made.reader()).bytes)
    let outputs = outputs(["trace", "convert", "trace", "--format", "csv", "-o", "-"], folder)
    #expect(outputs[0].utf8.count > 10_000 && outputs[1] == outputs[0], "\(outputs[1].utf8.count) bytes")
  }
}
