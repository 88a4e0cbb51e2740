// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc
import Testing

@testable import gcd

@Suite("What gcd top sees of a process")
struct TopSessionTests {
  @Test("a process that becomes another program is seen as that")
  func exec() throws {
    let folder = TemporaryFolder()
    folder.fifo("gate")
    let gate = folder.path + "/gate"
    let process = ToolProcess([gate], shell: "exec \"${0%/*}/traced\" replaced \"$1\"")
    let session = TopSession(process.identifier, FindingRules(), wantsRecords: true)
    defer {
      session.end()
      kill(process.identifier, SIGKILL)
      _ = process.wait()
    }
    #expect(process.read { output, _ in output == "begun\n" })
    // Where the pool's first thread has had no time to rest yet, the process has no region.
    #expect(untilFound { try? session.look() } != nil)
    #expect(session.isRecording)
    close(open(gate, O_WRONLY))
    #expect(process.read { output, _ in output == "begun\nbegun\n" })
    #expect(untilFound { (try? session.look())?.rates.flatMap { $0.items > 0 ? true : nil } } == true)
  }
}

@Suite("The last seconds that gcd top writes")
struct TopTraceTests {
  /// The number of a chunk, and when it was copied.
  private func chunk(_ number: UInt64, at seconds: Double) -> SavedChunk {
    SavedChunk(number: number, time: UInt64(seconds * 1e9), bytes: [])
  }

  @Test("chunks are kept for ten seconds, each once, and no more than there is room for")
  func history() {
    var history = TopHistory()
    for number in 1...30 { history.add(chunk(UInt64(number), at: Double(number))) }
    // Those of the moments 20 to 30.
    #expect(history.count == 11 && !history.isCut)
    history.add(chunk(30, at: 30))
    #expect(history.count == 11)
    for number in 31...(31 + TopHistory.mostChunks) { history.add(chunk(UInt64(number), at: 30)) }
    #expect(history.count == TopHistory.mostChunks && history.isCut)
    history.add(chunk(1 << 40, at: 100))
    #expect(history.count == 1 && !history.isCut)
  }

  @Test("chunks that were given back and those of the region are one trace, in their order")
  func image() throws {
    var made = MadeUpRegion()
    made.object(1, "com.example.queue")
    made.thread(0, 7)
    func records(_ range: Range<Int>) -> [gc_insight_record] {
      range.map { MadeUpRegion.record(Int(GC_RECORD_ITEM), at: UInt64(1_000 + $0 * 100), length: 50, queue: 1) }
    }
    made.chunk(0, 0, 7, records(0..<3), isFull: true)
    let first = try made.reader()
    let saved = try #require(first.saved(0))
    var history = TopHistory()
    history.add(saved)
    // The same place, used again.
    made.chunk(0, 0, 7, records(3..<5))
    let second = try made.reader()
    let image = try history.image(second)
    #expect(image.chunkCount == 2)
    let trace = try MadeUpTrace.collect(image)
    #expect(trace.slices.count { $0.category == "item" } == 5)
    #expect(!trace.isDamaged)
    // A chunk that is there twice counts once.
    history = TopHistory()
    history.add(try #require(second.saved(0)))
    #expect(try history.image(second).chunkCount == 1)
    #expect(second.saved(1) == nil && second.saved(-1) == nil && second.saved(.max) == nil)
  }

  @Test("where no file may grow, the key t says so, and the screen goes on")
  func limit() {
    let folder = TemporaryFolder()
    let process = ToolProcess([], shell: "exec \"${0%/*}/traced\" steady")
    defer {
      kill(process.identifier, SIGKILL)
      _ = process.wait()
    }
    #expect(process.read { output, _ in output == "begun\n" })
    #expect(untilFound { try? RegionFinder.regions(of: process.identifier).first } != nil)
    // The terminal is the input as well.
    let line = "ulimit -f 0; exec \"$0\" top --interval 0.1 \"$1\" <&1"
    let top = ToolProcess([String(process.identifier)], shell: line, folder: folder.path, onTerminal: true)
    #expect(top.read { output, _ in output.contains("t trace") })
    top.type("t")
    #expect(top.read { output, _ in output.contains(".pftrace: File too large") })
    top.type("q")
    let result = top.wait()
    #expect(result.code == 0 && result.output.hasSuffix("\u{1B}[?1049l"), "\(result)")
    #expect(access(folder.path + "/gcd-\(process.identifier)-1.pftrace", F_OK) != 0)
  }
}
