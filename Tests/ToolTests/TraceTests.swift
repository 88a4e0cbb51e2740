// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc
import Testing

@testable import gcd

private typealias Made = MadeUpRegion

@Suite("The collector of a trace")
struct TraceTests {
  /// The region's times are those of the clock: the newest one is now.
  private func clock() -> UInt64 { RegionClock.now().counter }

  private func record(
    _ kind: Int32, _ time: UInt64, length: UInt32 = 0, queue: UInt32 = 0, argument: UInt32 = 0, word: UInt64 = 0
  ) -> gc_insight_record {
    MadeUpRegion.record(Int(kind), at: time, length: length, queue: queue, argument: argument, word: word)
  }

  private var item: Int32 { Int32(GC_RECORD_ITEM) }
  private var submit: Int32 { Int32(GC_RECORD_SUBMIT) }

  @Test("a function that only calls a closure is not told for the closure")
  func thunks() {
    let thunk =
      "reabstraction thunk helper from @escaping @callee_guaranteed () -> () to @escaping @convention(block) () -> ()"
    for name in [thunk, "partial apply forwarder for " + thunk] {
      #expect(ProcessCode.words(name) == "a Swift closure (thunk)")
    }
    #expect(ProcessCode.words("partial apply forwarder for closure #1 in f()") == "closure #1 in f()")
    #expect(ProcessCode.words("main") == "main")
  }

  @Test("an item is a slice on its queue's track, with the flow of its submission")
  func items() throws {
    let now = clock()
    var made = MadeUpRegion()
    made.object(1, "one")
    made.object(2, "two")
    made.chunk(
      0, 0, 10,
      [
        record(submit, now - 90_000_000, queue: 1, argument: 7),
        record(submit, now - 80_000_000, queue: 2, argument: 8),
      ])
    made.chunk(
      1, 1, 11,
      [
        record(item, now - 60_000, length: 10_000, queue: 1, argument: 7, word: 0),
        record(item, now - 30_000, length: 20_000, queue: 2, argument: 8, word: 1),
      ])
    let trace = try MadeUpTrace.collect(try made.reader())
    let items = trace.slices.filter { $0.category == "item" }
    #expect(items.map { trace.name($0) } == ["one", "two"])
    #expect(items.map(\.name) == ["item", "0x1"])
    #expect(items.allSatisfy { $0.begin < $0.end })
    let submitted = trace.instants.filter { $0.name == "submit" }
    #expect(submitted.map(\.flow) == items.map(\.endingFlow) && submitted.count == 2)
    #expect(!submitted.contains { $0.flow == 0 } && submitted[0].flow != submitted[1].flow)
    // What the thread served.
    let served = trace.slices.filter { $0.category == "serves" }
    #expect(served.map(\.name) == ["one", "two"] && served.allSatisfy { trace.tracks[$0.track]?.thread == 11 })
    // Both had an item waiting for a while.
    for queue in ["one depth", "two depth"] {
      let values = trace.counters.filter { trace.tracks[$0.track]?.name == queue }.map(\.value)
      #expect(values.last == 0)
    }
    #expect(!trace.isDamaged && trace.unfinished == 0 && trace.overlaps == 0)
  }

  @Test("items that follow each other are one slice of the thread; nested ones overlap nowhere")
  func runs() throws {
    let now = clock()
    var made = MadeUpRegion()
    made.object(1, "main", Int(GC_OBJECT_MAIN))
    made.object(2, "inner")
    let begin = now - 10_000_000
    // An item of the main queue that runs the main queue, which runs an item that waits.
    let nested = [
      record(Int32(GC_RECORD_WAIT), begin + 50_000, length: 10_000),
      record(item, begin + 60_000, length: 30_000, queue: 1),
      record(Int32(GC_RECORD_SYNC_BEGIN), begin + 70_000, queue: 2),
      record(Int32(GC_RECORD_SYNC_END), begin + 80_000, queue: 2),
      record(item, begin + 100_000, length: 90_000, queue: 1),
    ]
    let following = (0..<10).map { record(item, begin + 200_000 + UInt64($0) * 2_000, length: 1_000, queue: 2) }
    let sleep = [record(Int32(GC_RECORD_SLEEP), begin + 400_000, length: 100_000)]
    made.chunk(0, 0, 10, nested + following + sleep)
    let region = try made.reader()
    let trace = try MadeUpTrace.collect(region)
    #expect(trace.slices.count { $0.category == "item" } == 12 && trace.slices.count { $0.category == "sync" } == 1)
    #expect(trace.slices.count { $0.category == "wait" } == 1 && trace.slices.count { $0.name == "asleep" } == 1)
    let served = trace.slices.filter { $0.category == "serves" }
    #expect(served.map(\.name) == ["main", "inner"])
    #expect(served[1].end - served[1].begin > region.clock.nanoseconds(steps: 18_000))
    #expect(trace.overlaps == 0 && trace.unfinished == 0)
  }

  @Test("a piece is read as far as it is written, and the rest later")
  func pieces() throws {
    let now = clock()
    var made = MadeUpRegion()
    made.object(1, "queue")
    let records = (0..<5).map { record(item, now - 100_000 + UInt64($0) * 1_000, length: 500, queue: 1) }
    made.chunk(0, 0, 10, records)
    let descriptor = made.file()
    defer { close(descriptor) }
    let region = try RegionReader(RegionMemory(descriptor: descriptor, writable: true))
    let folder = TemporaryFolder()
    let collector = Collector(
      region, PerfettoWriter(try TraceOutput(folder.path + "/trace")), number: 0, TracedProcess(running: getpid()),
      since: 0)
    #expect(collector.pass().records == 5)
    #expect(collector.pass().records == 0)
    var more = made
    more.chunk(0, 0, 10, records + records)
    // The chunk keeps its number, so the collector takes it for the same one and not for the next one.
    let place = Int(made.head.chunks.offset)
    var bytes = Array(more.complete[place..<place + 65_536])
    bytes.replaceSubrange(8..<16, with: made.complete[place + 8..<place + 16])
    #expect(pwrite(descriptor, bytes, bytes.count, place) == bytes.count)
    #expect(collector.pass().records == 5)
    // The chunk is full, so the collector gives it back, and does not read its old contents again.
    bytes[0] = UInt8(GC_CHUNK_FULL)
    #expect(pwrite(descriptor, bytes, bytes.count, place) == bytes.count)
    #expect(collector.pass().fullChunks == 1)
    #expect(region.memory.word32(at: UInt64(place)) == UInt32(GC_CHUNK_FREE))
    #expect(region.memory.exchange(UInt32(GC_CHUNK_FREE), for: UInt32(GC_CHUNK_WRITTEN), at: UInt64(place)))
    #expect(collector.pass().records == 0)
    #expect(collector.taken == 10 && collector.items == 10)
  }

  @Test("losses are counted exactly, and told where they are")
  func losses() throws {
    let now = clock()
    var made = MadeUpRegion()
    made.thread(0, 10) { $0.lost = 7 }
    made.thread(1, 11) { $0.lost = 2 }
    made.head.lost = 30
    made.chunk(0, 0, 10, [record(item, now - 90_000, length: 10)])
    made.chunk(1, 0, 10, [record(item, now - 50_000, length: 10)], lost: 5)
    var lost: UInt64 = 0
    let trace = try MadeUpTrace.collect(try made.reader(), passes: 2) { lost = $0.lost }
    #expect(lost == 39)
    #expect(trace.counters.filter { trace.tracks[$0.track]?.name == "lost records" }.last?.value == 39)
    // The names are sent again after the gap.
    #expect(trace.slices.filter { $0.category == "item" }.map(\.name) == ["item", "item"])
  }

  @Test("losses of threads that nobody has seen count, and those from before the trace do not")
  func formerLosses() throws {
    var made = MadeUpRegion()
    // An entry that is free: its threads have come and gone.
    made.thread(0, 0) { $0.lost = 7 }
    made.head.lost = 30
    let reader = try made.reader()
    var lost: UInt64 = 0
    _ = try MadeUpTrace.collect(reader) { lost = $0.lost }
    #expect(lost == 37)
    _ = try MadeUpTrace.collect(reader, since: clock()) { lost = $0.lost }
    #expect(lost == 0)
  }

  @Test("what has not ended is drawn to the end")
  func unfinished() throws {
    let now = clock()
    var made = MadeUpRegion()
    made.object(2, "stuck")
    made.thread(0, 10) {
      $0.item_begun = now - 1_000_000
      $0.item_queue = 2
      $0.state = UInt32(GC_STATE_WAITS)
      $0.since = now - 500_000
      $0.wait = UInt32(GC_WAIT_SEMAPHORE)
    }
    made.chunk(0, 0, 10, [record(Int32(GC_RECORD_SYNC_BEGIN), now - 2_000, queue: 2)])
    let trace = try MadeUpTrace.collect(try made.reader())
    #expect(
      trace.slices.filter { $0.category == "unfinished" }.map(\.name).sorted() == ["item", "waits for a semaphore"])
    #expect(trace.slices.filter { $0.category == "sync" }.count == 1 && trace.unfinished == 0)
  }

  @Test("a limit is kept exactly")
  func limit() throws {
    let now = clock()
    var made = MadeUpRegion()
    for chunk in 0..<3 {
      made.chunk(chunk, chunk, pid_t(10 + chunk), (0..<10).map { record(item, now - 90_000 + UInt64($0), length: 1) })
    }
    let trace = try MadeUpTrace.collect(try made.reader(), passes: 3, limit: 17)
    #expect(trace.slices.count { $0.category == "item" } == 17)
  }

  @Test("10,000 regions of random bytes do no harm")
  func fuzz() throws {
    var random = SeededGenerator.fresh("regions")
    var good = MadeUpRegion()
    let now = clock()
    good.object(1, "queue")
    good.thread(0, 10)
    good.name(1, "name")
    good.chunk(0, 0, 10, (1..<26).map { record(Int32($0), now, length: 5, queue: 1, argument: 1, word: 1) })
    good.chunk(
      1, 1, 11, (1..<26).map { record(Int32($0), now, length: 5, queue: 2, argument: 1, word: 1) }, isFull: true)
    let output = try TraceOutput("/dev/null")
    var read = 0
    for round in 0..<10_000 {
      var bytes = good.complete
      // Few changes, so that most are taken; those of the arrays more often than those of the head.
      for _ in 0..<Int.random(in: 1...40, using: &random) {
        let inHead = Int.random(in: 0..<8, using: &random) == 0
        let places = inHead ? 0..<256 : 4096..<4096 + 4 * 256 + 8 * 128 + 4 * 64 + 64 + 50 * 32
        bytes[Int.random(in: places, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      if round % 10 == 0 { for index in 4096..<8192 { bytes[index] = UInt8.random(in: 0...255, using: &random) } }
      guard let region = try? RegionReader(RegionMemory(bytes: bytes)) else { continue }
      read += 1
      let collector = Collector(region, PerfettoWriter(output), number: 0, TracedProcess(running: getpid()), since: 0)
      collector.keepRecording()
      collector.pass()
      collector.pass(isLast: true)
      collector.stopRecording()
      collector.finish()
    }
    // About half of them are refused at once: 5,000, give or take 50.
    #expect(read > 4_000)
  }
}

@Suite("Where a trace is written")
struct TraceOutputTests {
  @Test("a mistyped program or input leaves a trace that was there before, and no new file")
  func mistyped() {
    let folder = TemporaryFolder()
    let earlier = Array("an earlier trace".utf8)
    folder.file("earlier", earlier)
    folder.file("notes", "no trace\n")
    for name in ["earlier", "new"] {
      let program = ToolProcess.run(["trace", "-o", name, "--", "./servre"], folder: folder.path)
      #expect(program.code == 127, "\(program.error)")
      let input = ToolProcess.run(["trace", "convert", "notes", "-o", name], folder: folder.path)
      #expect(input.code == 5, "\(input.error)")
    }
    #expect(ProcessFile.bytes(folder.path + "/earlier") == earlier)
    #expect(access(folder.path + "/new", F_OK) != 0)
  }

  @Test("an input that cannot be read is no empty timeline")
  func unreadable() {
    let folder = TemporaryFolder()
    let line = "exec \"$0\" trace convert - -o made 0>/dev/null"
    let result = ToolProcess([], shell: line, folder: folder.path).wait()
    #expect(result.code == 6 && result.error == "gcd: standard input: Bad file descriptor\n", "\(result)")
    #expect(access(folder.path + "/made", F_OK) != 0)
  }

  @Test("what is written replaces all of a file that was there before, and is removed with it")
  func replaces() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/file"
    folder.file("file", "something longer")
    let output = try TraceOutput(path)
    output.write("short")
    #expect(ProcessFile.bytes(path) == Array("something longer".utf8))
    #expect(output.flush() && ProcessFile.bytes(path) == Array("short".utf8))
    output.discard()
    #expect(access(path, F_OK) != 0)
    // Nothing at all is something to write as well.
    folder.file("file", "something longer")
    #expect(try TraceOutput(path).flush() && ProcessFile.bytes(path) == [])
  }
}

@Suite("The format of a trace")
struct TraceFormatTests {
  @Test("integers, texts and messages are encoded as protocol buffers are")
  func encoding() {
    var buffer = ProtoBuffer()
    buffer.integer(1, 150)
    buffer.text(2, "testing")
    buffer.signed(3, -1)
    buffer.fixed(4, 0x0102_0304_0506_0708)
    buffer.message(5) { $0.integer(1, 1) }
    #expect(
      buffer.bytes == [0x08, 0x96, 0x01, 0x12, 0x07] + Array("testing".utf8) + [0x18]
        + [UInt8](repeating: 0xff, count: 9)
        + [0x01, 0x21, 8, 7, 6, 5, 4, 3, 2, 1, 0x2a, 0x02, 0x08, 0x01])
    // A length of more than one byte.
    var long = ProtoBuffer()
    long.message(1) { $0.text(2, String(repeating: "x", count: 300)) }
    #expect(Array(long.bytes.prefix(6)) == [0x0a, 0xaf, 0x02, 0x12, 0xac, 0x02] && long.bytes.count == 306)
  }

  /// Adler-32, as RFC 1950 defines it; its bytes as zlib writes them.
  private func sum(of bytes: [UInt8]) -> [UInt8] {
    var (low, high): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
      low = (low + UInt32(byte)) % 65521
      high = (high + low) % 65521
    }
    return [high >> 8, high, low >> 8, low].map { UInt8(truncatingIfNeeded: $0) }
  }

  @Test("what is made smaller can be read again, and random bytes do no harm")
  func compression() {
    var random = SeededGenerator.fresh("compression")
    var deflate = Deflate()
    for round in 0..<300 {
      let count = [0, 1, 3, 4, 5, 258, 259, 1000, 40_000, 70_000][round % 10]
      let kinds = UInt8([1, 2, 16, 255][round / 10 % 4])
      var bytes = (0..<count).map { _ in UInt8.random(in: 0...kinds, using: &random) }
      if count > 35_000 { bytes.replaceSubrange(33_000..<33_600, with: bytes[..<600]) }
      let small = deflate.zlib(bytes)
      #expect(Inflate.zlib(small[...]) == bytes)
      // Other bytes may have the same sum: with a wrong distance, for example, 0 1 1 0 in place of 1 0 0 1. What is read has the
      // sum that is written behind it, whatever is wrong.
      var broken = small
      for _ in 1...3 where !broken.isEmpty {
        broken[Int.random(in: broken.indices, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        let found = Inflate.zlib(broken[...])
        #expect(found == nil || Array(broken.suffix(4)) == sum(of: found!))
      }
      var wrongSum = small
      wrongSum[small.count - 1 - round % 4] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      #expect(Inflate.zlib(wrongSum[...]) == nil)
    }
    #expect(deflate.zlib([UInt8](repeating: 7, count: 100_000)).count < 1000)
  }

  @Test("lengths of a damaged timeline add up to the largest number")
  func longSlices() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/trace"
    let reader = TraceReader { _ in }
    func track(_ number: UInt64, _ name: String, parent: UInt64, isProcess: Bool = false) {
      var packet = ProtoBuffer()
      packet.message(PerfettoField.Packet.track) {
        $0.integer(PerfettoField.Track.identifier, number)
        $0.integer(PerfettoField.Track.parent, parent)
        if isProcess { $0.message(PerfettoField.Track.process) { $0.text(PerfettoField.Track.processName, name) } }
        if !isProcess { $0.text(PerfettoField.Track.name, name) }
      }
      reader.packet(packet.bytes[...])
    }
    track(1, "program", parent: 0, isProcess: true)
    track(2, "Queues", parent: 1)
    track(3, "queue", parent: 2)
    let names = TrackNames(reader: reader)
    try #require(names.isQueue(3))
    var export = StacksExport()
    let output = try TraceOutput(path)
    for _ in 0..<2 {
      let slice = ReadFact.Slice(
        track: 3, begin: 1, end: .max, name: "f", category: "item", flow: 0, endingFlow: 0, notes: [])
      export.write(.slice(slice), names, output)
    }
    export.end(names, output)
    output.flush()
    #expect(ProcessFile.text(path) == "queue;f \(UInt64.max / 1000)\n")
  }

  @Test("a compressed piece has no other one in it, however often a file says so")
  func nestedPieces() {
    typealias Field = PerfettoField
    var deflate = Deflate()
    func piece(_ content: ProtoBuffer) -> ProtoBuffer {
      let small = deflate.zlib(content.bytes)
      var buffer = ProtoBuffer()
      buffer.message(Field.Trace.packet) { $0.data(Field.Packet.compressed, small) }
      return buffer
    }
    var track = ProtoBuffer()
    track.message(Field.Trace.packet) {
      $0.message(Field.Packet.track) { $0.integer(Field.Track.identifier, 7) }
    }
    let plain = MadeUpTrace(piece(track).bytes)
    #expect(plain.tracks[7] != nil && !plain.isDamaged)
    let nested = MadeUpTrace(piece(piece(track)).bytes)
    #expect(nested.tracks[7] == nil && nested.isDamaged)
  }

  @Test("a file of random bytes is no trace, or one that is cut off or damaged")
  func randomFiles() {
    var random = SeededGenerator.fresh("files")
    for _ in 0..<2000 {
      var bytes = (0..<Int.random(in: 0...300, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      if bytes.count > 2 { bytes.replaceSubrange(0..<2, with: [0x0a, UInt8(min(127, bytes.count - 2))]) }
      _ = MadeUpTrace(bytes)
    }
  }
}
