// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc
import GrandCentral
import Testing

@testable import gcd

@Suite("The reader of regions")
struct RegionReaderTests {
  @Test("gives what is in a region as values")
  func values() throws {
    var made = MadeUpRegion()
    made.thread(1, 77) {
      $0.role = UInt32(GC_THREAD_WORKER)
      $0.state = UInt32(GC_STATE_WAITS)
      $0.wait = UInt32(GC_WAIT_GROUP)
      $0.timed = 1
      $0.owner = 12
    }
    made.object(3, "com.example.queue", Int(GC_OBJECT_CONCURRENT)) { $0.width = 0xffff }
    made.object(4, "", Int(GC_OBJECT_TIMER)) { $0.ended = 5 }
    made.name(1, String(repeating: "n", count: 60))
    let region = try made.reader()
    let threads = region.threads()
    #expect(threads.count == 1)
    #expect(threads[0].identifier == 77 && threads[0].index == 1 && threads[0].role == .worker)
    #expect(threads[0].state == .waits && threads[0].wait == .group && threads[0].hasDeadline && threads[0].owner == 12)
    var torn = 0
    let objects = region.objects(&torn)
    #expect(torn == 0)
    #expect(objects.map(\.shown) == ["com.example.queue", "timer 4"])
    #expect(objects[0].width == nil && objects[0].ended == nil && objects[1].ended == 5)
    #expect(region.object(0) == nil && region.object(5) == nil && region.object(.max) == nil)
    #expect(region.name(1) == String(repeating: "n", count: 56))
    #expect(region.name(0) == nil && region.name(2) == nil && region.name(.max) == nil)
  }

  @Test("gives what sources, timers, groups and channels watch and have, and the same of numbers that make no sense")
  func objects() throws {
    var made = MadeUpRegion()
    made.watched(1, Int(GC_OBJECT_SOURCE), "read source") { $0.handle = 5 }
    made.watched(2, Int(GC_OBJECT_TIMER), "timer source") {
      ($0.due, $0.interval) = (3_000_000_000, 500_000_000)
    }
    made.watched(3, Int(GC_OBJECT_TIMER), "timer source") { $0.due = .max }
    made.watched(4, Int(GC_OBJECT_GROUP), "") { $0.count = 3 }
    made.watched(5, Int(GC_OBJECT_CHANNEL), "") {
      ($0.handle, $0.count, $0.bytes, $0.flags) = (0xffff_ffff, .max, 4_096, UInt32(GC_OBJECT_CANCELLED))
    }
    made.watched(6, Int(GC_OBJECT_SOURCE), "user data source") { $0.handle = 0 }
    made.watched(7, Int(GC_OBJECT_TIMER), "timer source") { ($0.due, $0.clock) = (.max - 1, .max) }
    let snapshot = Snapshot(pid: 1, regions: [try made.reader()], at: 1_000_000_000)
    let objects = snapshot.objects
    #expect(
      objects.map(\.watches) == [
        "descriptor 5", "in 2.00 s, every 500 ms", "never", "3 members", "4,096 bytes to write", "", "never",
      ])
    let kinds = ["read source", "timer", "timer", "group", "channel", "user data source", "timer"]
    #expect(objects.map(\.kindWords) == kinds)
    #expect(objects.map(\.stateWords) == ["", "", "", "", "closed", "", ""])
    let json = try JSON.parse(snapshot.json.text)["objects"]?.array ?? []
    #expect(json.count == 7 && json[0]["descriptor"]?.number == 5 && json[1]["nextSeconds"]?.number == 2)
    #expect(json[1]["intervalSeconds"]?.number == 0.5 && json[3]["members"]?.number == 3)
    #expect(json[4]["bytesToWrite"]?.number == 4_096)
  }

  @Test("gives since when a channel waits, a timer's leeway, and when a group has changed")
  func states() throws {
    var made = MadeUpRegion()
    made.watched(1, Int(GC_OBJECT_CHANNEL), "") {
      ($0.handle, $0.due, $0.interval, $0.count, $0.clock) = (5, 1_000_000_000, 2_000_000_000, 2, 1)
    }
    // Operations that have ended wait no more, and a number that makes no sense is a moment to come.
    made.watched(2, Int(GC_OBJECT_CHANNEL), "") { ($0.due, $0.interval) = (1_000_000_000, .max) }
    made.watched(3, Int(GC_OBJECT_TIMER), "timer source") { ($0.due, $0.bytes) = (9_000_000_000, 250_000_000) }
    made.watched(4, Int(GC_OBJECT_GROUP), "") { ($0.count, $0.due) = (1, 3_000_000_000) }
    made.watched(5, Int(GC_OBJECT_GROUP), "") { $0.count = 1 }
    let snapshot = Snapshot(pid: 1, regions: [try made.reader()], at: 5_000_000_000)
    let states = snapshot.objects.compactMap(\.state)
    // How long a step of the counter takes, the processor knows.
    let (reads, writes) = (try #require(states[0].reads), try #require(states[0].writes))
    #expect(writes > 0 && reads > writes && reads < 5_000_000_000 && states[0].barriers == 1)
    #expect(states[0].remaining == nil && states[0].interval == 0)
    #expect(states[1].reads == nil && states[1].writes == nil)
    #expect(states[2].leeway == 250_000_000 && states[2].bytes == 0 && states[2].reads == nil)
    #expect((1..<writes).contains(states[3].changed ?? 0) && states[4].changed == nil)
    let watched = snapshot.objects[0].watches
    #expect(watched.hasPrefix("descriptor 5, 2 operations, a barrier waits, nothing to read for "))
    #expect(watched.contains(", no room to write for "))
    let json = try JSON.parse(snapshot.json.text)["objects"]?.array ?? []
    // In milliseconds.
    #expect(abs((json[0]["readsForSeconds"]?.number ?? 0) - Double(reads) / 1e9) < 0.001)
    #expect(abs((json[0]["writesForSeconds"]?.number ?? 0) - Double(writes) / 1e9) < 0.001)
    #expect(json[0]["barriers"]?.number == 1 && json[1]["readsForSeconds"] == nil)
    #expect(json[2]["leewaySeconds"]?.number == 0.25 && json[3]["changedSeconds"]?.number ?? 0 > 0)
  }

  @Test("each copy of the library in a process counts its objects for itself")
  func copies() throws {
    func region(_ name: String, thread: pid_t) throws -> RegionReader {
      var made = MadeUpRegion()
      made.object(1, name + " target")
      made.object(2, name) { $0.target = 1 }
      made.thread(0, thread) {
        ($0.state, $0.wait, $0.number) = (UInt32(GC_STATE_WAITS), UInt32(GC_WAIT_QUEUE), 2)
      }
      return try made.reader()
    }
    let snapshot = Snapshot(pid: 1, regions: [try region("first", thread: 5), try region("second", thread: 6)])
    #expect(snapshot.objects.map(\.shownNumber) == [1, 2, 1, 2])
    let chains = snapshot.threads.map { $0.wait.map { snapshot.chain(of: $0).map(\.label) } }
    #expect(chains == [["first", "first target"], ["second", "second target"]])
  }

  @Test("gives the workers that have no entry yet, if the table is one")
  func workers() throws {
    var made = MadeUpRegion()
    #expect(try made.reader().workersWithoutEntry.isEmpty)
    made.workers([0, 77, .max, 78])
    #expect(try made.reader().workersWithoutEntry == [77, 78])
    for change in [{ $0.offset = .max }, { $0.offset = 2 }, { $0.count = .max }, { $0.stride = 0 }]
      as [(inout gc_insight_part) -> Void]
    {
      var damaged = made
      change(&damaged.head.workers)
      #expect(try damaged.reader().workersWithoutEntry.isEmpty)
    }
    // It fits into the region, and no library has so many.
    made.head.workers.count = 10_000
    #expect(try made.reader().workersWithoutEntry.isEmpty)
  }

  @Test("refuses a head that does not fit its file")
  func heads() throws {
    func failure(_ change: (inout gc_insight_head) -> Void) -> RegionFailure? {
      var made = MadeUpRegion()
      change(&made.head)
      do throws(RegionFailure) {
        _ = try RegionReader(RegionMemory(bytes: made.complete))
        return nil
      } catch { return error }
    }
    #expect(failure { _ in } == nil)
    #expect(failure { $0.version = 1 } == nil)
    for version in [0, 3] as [UInt32] { #expect(failure { $0.version = version } == .otherVersion(version)) }
    let parts: [WritableKeyPath<gc_insight_head, gc_insight_part>] = [\.threads, \.objects, \.names, \.chunks]
    for part in parts {
      for change in [
        { $0.offset = .max }, { $0.offset += 1 }, { $0.offset = 1 << 40 }, { $0.count = .max }, { $0.stride = 0 },
        { $0.stride = .max }, { $0.stride -= 8 }, { $0.stride += 1 }, { $0.count += 1 << 20 },
      ] as [(inout gc_insight_part) -> Void] {
        let found = failure { change(&$0[keyPath: part]) }
        guard case .damaged = found else {
          Issue.record("\(part) was taken")
          continue
        }
      }
    }
    for (part, name) in zip(parts, ["threads", "objects", "names", "chunks"]) {
      #expect(failure { $0[keyPath: part].count = .max } == .damaged("its \(name) are too many"))
    }
    for change in [
      { $0.magic = 0 }, { $0.size = .max }, { $0.pid = .max },
    ] as [(inout gc_insight_head) -> Void] {
      guard case .damaged = failure(change) else {
        Issue.record("a wrong head was taken")
        continue
      }
    }
    for count in [0, 8, 64, 300] {
      #expect(throws: RegionFailure.self) {
        try RegionReader(RegionMemory(bytes: Array(MadeUpRegion().complete[..<count])))
      }
    }
  }

  @Test("leaves out a thread whose entry is always changing, and an index that is nobody's")
  func torn() throws {
    var made = MadeUpRegion()
    made.thread(0, 1) { $0.sequence = 3 }
    made.thread(1, 2)
    made.head.threads_used = .max
    made.head.chunks_used = .max
    let region = try made.reader()
    #expect(region.threads().map(\.identifier) == [2])
    let snapshot = Snapshot(pid: 1, regions: [region, region])
    let json = try JSON.parse(snapshot.json.text)
    #expect(snapshot.torn == 2 && json["torn"]?.number == 2)
    #expect(region.chunkCount == MadeUpRegion.chunks)
    #expect(region.thread(-1) == nil && region.thread(MadeUpRegion.threads) == nil)
    var records: [gc_insight_record] = []
    #expect(region.chunk(-1, from: 0, records: &records) == nil)
    #expect(region.chunk(MadeUpRegion.chunks, from: 0, records: &records) == nil)
  }

  @Test("takes no more records than a chunk holds, and gives a full one back once")
  func chunks() throws {
    var made = MadeUpRegion()
    let records = (0..<3).map { MadeUpRegion.record(Int(GC_RECORD_MARK), at: UInt64($0)) }
    made.chunk(0, 0, 7, records, isFull: true)
    made.chunk(1, 0, 7, records)
    let place = Int(made.head.chunks.offset) + Int(made.head.chunks.stride)
    var bytes = made.complete
    // A count that is not true.
    bytes.replaceSubrange(place + 4..<place + 8, with: [255, 255, 255, 255])
    let region = try RegionReader(RegionMemory(bytes: bytes))
    var read: [gc_insight_record] = []
    let second = try #require(region.chunk(1, from: 0, records: &read))
    #expect(read.count == RegionChunk.room && second.end == RegionChunk.room && !second.isFull)
    #expect(RegionChunk.room == Int(GC_INSIGHT_RECORDS))
    #expect(!region.release(second))
    let first = try #require(region.chunk(0, from: 1, records: &read))
    #expect(read.map(\.time) == [1, 2] && first.isFull && first.thread == 7 && first.name == "thread 7")
    #expect(region.release(first) && !region.release(first))
    #expect(region.chunk(0, from: 0, records: &read) == nil)
  }

  @Test("finds the region of a process, and says why there is none")
  func processes() throws {
    let made = MadeUpRegion(process: getpid())
    let descriptor = made.file()
    defer { close(descriptor) }
    // A second descriptor is the same region. The process may have others: those of the tests that run beside this one.
    let copy = dup(descriptor)
    defer { close(copy) }
    var status = stat()
    fstat(descriptor, &status)
    let found = try RegionFinder.regions(of: getpid(), writable: true)
    #expect(found.filter { $0.memory.identity == UInt64(status.st_ino) }.count == 1)
    let region = try #require(found.first { $0.memory.identity == UInt64(status.st_ino) })
    #expect(region.switchOn(5) == 0 && region.switches == 5)
    region.switchOff(4)
    #expect(region.switches == 1)
    #expect(throws: RegionFailure.noSuchProcess(0)) { try RegionFinder.regions(of: 0) }
    #expect(throws: RegionFailure.noSuchProcess(.max)) { try RegionFinder.regions(of: .max) }
  }

  @Test("a process lives on behind the end of its main thread")
  func leaderless() throws {
    let process = ToolProcess(
      [], shell: "exec \"${0%/*}/traced\" leaderless", environment: ["GRANDCENTRAL_THREAD_BUDGET=77"])
    let pid = process.identifier
    defer {
      kill(pid, SIGKILL)
      _ = process.wait()
    }
    let snapshot = try #require(
      untilFound {
        let snapshot = ProcessFile.isOfZombie("/proc/\(pid)") ? try? Snapshot(process: pid) : nil
        return snapshot?.threads.contains { $0.wait?.kind == .semaphore } == true ? snapshot : nil
      } as Snapshot?)
    #expect(snapshot.program.state != "Z" && snapshot.threadBudget == 77)
    #expect(ProcessCode(pid).program == "traced" && KernelReading.file(pid, 0) == "/dev/null")
    let said = ToolProcess.run(["why", "--after", "0", String(pid)])
    #expect(said.code == 1 && said.output.contains("semaphore"), "\(said)")
  }

  @Test("a region that is being made is waited for a moment; a page that no process has taken is none")
  func unfinished() throws {
    func made(_ change: (inout gc_insight_head) -> Void) -> (descriptor: Int32, path: String) {
      var region = MadeUpRegion()
      change(&region.head)
      let descriptor = region.file()
      return (descriptor, "/proc/self/fd/\(descriptor)")
    }
    func failure(_ path: String) -> RegionFailure? {
      do throws(RegionFailure) {
        _ = try RegionFinder.open(path, getpid(), writable: false)
        return nil
      } catch { return error }
    }
    let offer = made { ($0.magic, $0.pid) = (UInt64(GC_INSIGHT_OFFER), 0) }
    defer { close(offer.descriptor) }
    #expect(failure(offer.path) == .noRegion(getpid()))
    let taken = made { $0.magic = UInt64(GC_INSIGHT_OFFER) }
    defer { close(taken.descriptor) }
    #expect(failure(taken.path) == .unfinished(getpid()))
    let begun = made { $0.magic = 0 }
    defer { close(begun.descriptor) }
    #expect(failure(begun.path) == .unfinished(getpid()))
    // Whether the head is finished before the tool looks or while it waits: it is found.
    let path = begun.path
    let finisher = Thread { [descriptor = begun.descriptor] in
      var magic = UInt64(GC_INSIGHT_MAGIC)
      pwrite(descriptor, &magic, 8, off_t(MemoryLayout<gc_insight_head>.offset(of: \.magic) ?? 0))
    }
    #expect(failure(path) == nil)
    finisher.join()
  }

  @Test("regions that are never finished are waited for together, however many there are")
  func manyUnfinished() {
    var region = MadeUpRegion()
    region.head.magic = 0
    let first = region.file()
    let descriptors = [first] + (0..<100).map { _ in dup(first) }
    defer { for descriptor in descriptors { close(descriptor) } }
    let begun = RegionClock.now().uptime
    _ = try? RegionFinder.regions(of: getpid())
    // A moment for each would be twenty seconds.
    #expect(RegionClock.now().uptime - begun < 10_000_000_000)
  }

  @Test("a process that says that it changes every object at once is read soon")
  func changingObjects() throws {
    var made = MadeUpRegion()
    for number in 1..<MadeUpRegion.objects { made.object(number, "queue") { $0.sequence = UInt32(number) } }
    let region = try made.reader()
    var torn = 0
    #expect(region.objects(&torn).map(\.number) == [2, 4, 6])
    #expect(Snapshot(pid: 1, regions: [region]).torn == 4)
    let sequence = UInt64(MemoryLayout<gc_insight_object>.offset(of: \.sequence) ?? 0)
    let place = made.head.objects.offset + UInt64(made.head.objects.stride)
    var left = 5
    #expect(region.memory.stable(gc_insight_object.self, at: place, sequence: sequence, &left) == nil && left == 0)
    let stable = place + UInt64(made.head.objects.stride)
    #expect(region.memory.stable(gc_insight_object.self, at: stable, sequence: sequence, &left) != nil)
  }

  @Test("a region shows the version of the library, which is that of the tool")
  func version() throws {
    let runtime = GrandCentralRuntime.version
    _ = GrandCentralRuntime.snapshot()
    // Other tests of this process have made up regions of their own.
    #expect(try RegionFinder.regions(of: getpid()).contains { $0.library == runtime })
    #expect(Version.text == runtime)
    #expect(runtime.split(separator: ".").count == 3)
  }

  @Test("does not map a file that may shrink")
  func unsealed() {
    let descriptor = MadeUpRegion().file(sealed: false)
    defer { close(descriptor) }
    #expect(throws: RegionFailure.damaged("its size may change")) { try RegionMemory(descriptor: descriptor) }
  }

  @Test("a tool that collects is known by a sign of life; switches that a dead one has left on are switched off")
  func leftovers() throws {
    let all = UInt32(GC_SWITCH_RECORD | GC_SWITCH_OBJECTS | GC_SWITCH_COLLECT)
    var made = MadeUpRegion()
    made.head.switches = all
    made.head.pid = UInt32(getpid())
    // A command is about to be collected from.
    let fresh = try made.reader()
    fresh.dropLeftovers(of: getpid())
    #expect(!fresh.isCollected && fresh.switches == all)
    // A tool lives.
    fresh.beat()
    fresh.dropLeftovers(of: getpid())
    #expect(fresh.isCollected && fresh.switches == all)
    // It was killed.
    made.head.heartbeat = RegionClock.now().uptime - 4_000_000_000
    let left = try made.reader()
    left.dropLeftovers(of: getpid())
    #expect(!left.isCollected && left.switches == UInt32(GC_SWITCH_OBJECTS))
  }

  @Test("the switches of a region that is only read stay as they are")
  func readOnly() throws {
    let descriptor = MadeUpRegion().file()
    defer { close(descriptor) }
    let region = try RegionReader(RegionMemory(descriptor: descriptor))
    #expect(region.switchOn(1) == nil)
    region.switchOff(1)
    region.beat()
    #expect(region.switches == 0)
  }
}

/// A thread of the C library's.
private struct Thread {
  private final class Body {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }

  private var thread = pthread_t()

  init(_ run: @escaping @Sendable () -> Void) {
    let body = Unmanaged.passRetained(Body(run)).toOpaque()
    pthread_create(
      &thread, nil,
      { raw in
        Unmanaged<Body>.fromOpaque(raw!).takeRetainedValue().run()
        return nil
      }, body)
  }

  func join() { pthread_join(thread, nil) }
}
