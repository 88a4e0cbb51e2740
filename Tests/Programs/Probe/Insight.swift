// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral

// What other processes can see of this one, looked at as they do: through the link in /proc.
extension Scenario {
  static let insight: [String: Body] = [
    "insight-waits": waits, "insight-records": records, "insight-fork": forks, "insight-closed": closed,
    "insight-presence": presence, "insight-queues": queues, "insight-ring": ring, "insight-readers": readers,
    "insight-bands": bands, "insight-many-waits": manyWaits,
    "insight-small-files": smallFiles, "insight-kinds": kinds, "insight-plain-threads": plainThreads,
    "insight-objects": insightObjects, "insight-leftover": insightLeftover,
    "insight-late": insightLate, "insight-late-groups": insightLateGroups, "insight-barrier": insightBarrier,
    "insight-first-item": insightFirstItem, "insight-few-descriptors": insightFewDescriptors,
    "insight-full-table": insightFullTable, "insight-pools": insightPools,
  ]

  private static func waits() {
    // The first thread that needs the region makes it; others wait for that, for a while only.
    _ = GrandCentralRuntime.snapshot()
    let queue = DispatchQueue(label: "held")
    let (isHeld, mayEnd, group) = (Latch(1), DispatchSemaphore(value: 0), DispatchGroup())
    queue.async(group: group) {
      isHeld.open()
      mayEnd.wait()
    }
    isHeld.wait()
    let inner = DispatchQueue(label: "inner")
    inner.async(group: group) { queue.sync {} }
    let region = awaitRegion()
    // Both threads are on their way: the test looks until both say that they wait.
    var seen = [gc_insight_thread]()
    while seen.count < 2 { seen = region.threads.filter { $0.state == UInt32(GC_STATE_WAITS) } }
    let turn = seen.first { $0.wait == UInt32(GC_WAIT_QUEUE) }
    let signal = seen.first { $0.wait == UInt32(GC_WAIT_SEMAPHORE) }
    report("waitsFor", turn.map { text($0.waits_for) } ?? "?")
    report("inside", turn.map { text($0.inside) } ?? "?")
    report("ownerInside", signal.map { text($0.inside) } ?? "?")
    report("ownerIsHolder", turn?.owner == signal?.tid)
    report("numbered", turn.map { text(region.object(Int($0.number)).label) } ?? "?")
    mayEnd.signal()
    group.wait()
    report("wait", region.threads.contains { $0.state == UInt32(GC_STATE_WAITS) })
  }

  /// GRANDCENTRAL_RECORD=collect: nothing is overwritten, and there is room for it all.
  private static func records() {
    let count = 20_000
    let queue = DispatchQueue(label: "counted")
    let group = DispatchGroup()
    for _ in 0..<count { queue.async(group: group) {} }
    group.wait()
    queue.sync {}
    let region = awaitRegion()
    let number = region.number(labelled: "counted")
    let mine = region.records.filter { $0.queue == number }
    let items = mine.filter { $0.kind == UInt8(GC_RECORD_ITEM) }
    let submissions = mine.filter { $0.kind == UInt8(GC_RECORD_SUBMIT) }
    report("items", items.count)
    report("submissions", submissions.count)
    report("functions", Set(items.map(\.word)).count)
    report("sameFunction", Set(items.map(\.word)) == Set(submissions.map(\.word)))
    report("syncs", mine.filter { $0.kind == UInt8(GC_RECORD_SYNC_BEGIN) }.count)
    report("syncEnds", mine.filter { $0.kind == UInt8(GC_RECORD_SYNC_END) }.count)
    let starts = items.map { $0.time - UInt64($0.length) }
    report("overlapping", zip(items.map(\.time).sorted(), starts.sorted().dropFirst()).filter { $0 > $1 }.count)
    report("lost", region.threads.reduce(0) { $0 + $1.lost })
  }

  /// GRANDCENTRAL_RECORD=collect: what happens besides items.
  private static func kinds() {
    let (second, queue) = (DispatchQueue(label: "second"), DispatchQueue(label: "moved"))
    queue.sync {}
    queue.setTarget(queue: second)
    let region = awaitRegion()
    func all(_ kind: Int) -> [gc_insight_record] { region.records.filter { $0.kind == UInt8(kind) } }
    let moved = region.number(labelled: "moved")
    report("retargeted", all(Int(GC_RECORD_RETARGET)).contains { $0.queue == moved && $0.argument != 0 })
    report("target", text(region.object(Int(region.object(Int(moved)).target)).label))

    let (semaphore, group, told) = (DispatchSemaphore(value: 0), DispatchGroup(), Latch(1))
    DispatchQueue.global().async(group: group) { semaphore.wait() }
    while !region.threads.contains(where: { $0.state == UInt32(GC_STATE_WAITS) }) {}
    group.notify(queue: .global()) { told.open() }
    semaphore.signal()
    told.wait()
    report("signals", all(Int(GC_RECORD_SIGNAL)).count)
    report("emptied", all(Int(GC_RECORD_GROUP_EMPTY)).count)

    var ends: [Int32] = [0, 0]
    pipe(&ends)
    let through = Latch(2)
    let bytes = [UInt8]([1, 2, 3]).withUnsafeBytes { DispatchData(bytes: $0) }
    DispatchIO.write(toFileDescriptor: ends[1], data: bytes, runningHandlerOn: .global()) { _, _ in through.open() }
    DispatchIO.read(fromFileDescriptor: ends[0], maxLength: 3, runningHandlerOn: .global()) { _, _ in through.open() }
    through.wait()
    report("written", all(Int(GC_RECORD_TRANSFER)).filter { $0.detail == 2 }.reduce(0) { $0 + $1.word })
    report("read", all(Int(GC_RECORD_TRANSFER)).filter { $0.detail == 1 }.reduce(0) { $0 + $1.word })

    // With one processor no other worker helps, and none steals.
    let isAlone = GrandCentralRuntime.snapshot().parallelism < 2
    repeat {
      DispatchQueue.concurrentPerform(iterations: 64) { _ in spin(microseconds: 100) }
    } while !isAlone && all(Int(GC_RECORD_APPLY)).isEmpty
    report("helped", isAlone || all(Int(GC_RECORD_APPLY)).contains { $0.argument > 0 && $0.length > 0 })
    repeat {
      let fan = DispatchGroup()
      DispatchQueue.global().async(group: fan) {
        for _ in 0..<200 { DispatchQueue(label: "fan").async(group: fan) { spin(microseconds: 50) } }
      }
      fan.wait()
    } while !isAlone && all(Int(GC_RECORD_STEAL)).isEmpty
    let outer = GrandCentralRuntime.beginSpan("outer")
    // 57 bytes, of which the last character has three: it is left out.
    let inner = GrandCentralRuntime.beginSpan(String(repeating: "s", count: 54) + "\u{20ac}", parent: outer)
    DispatchQueue(label: "ends").sync {
      inner.end()
      outer.end()
    }
    let spans = all(Int(GC_RECORD_SPAN))
    report("spans", spans.count)
    report("innerSpans", spans.count { $0.word == outer.number && $0.argument == inner.number })
    report("spanNames", Set(spans.map(\.queue)).count)
    report("stolen", isAlone || all(Int(GC_RECORD_STEAL)).contains { $0.argument > 0 })
  }

  private static func spin(microseconds: UInt64) {
    let end = DispatchTime.now() + .microseconds(Int(microseconds))
    while DispatchTime.now() < end {}
  }

  /// GRANDCENTRAL_RECORD=collect: readers, which go through a global queue or another queue, and a queue below a concurrent one.
  private static func readers() {
    let broad = DispatchQueue(label: "broad", attributes: .concurrent)
    let above = DispatchQueue(label: "above", attributes: .concurrent, target: broad)
    let queues = [broad, above, DispatchQueue(label: "narrow", target: broad)]
    let group = DispatchGroup()
    for _ in 0..<1_000 { for queue in queues { queue.async(group: group) {} } }
    group.wait()
    reportRecords(of: queues)
  }

  /// How many items and submissions are recorded of each queue, and how many functions those name.
  static func reportRecords(of queues: [DispatchQueue]) {
    // The last records are made when their items have left their group.
    for queue in queues { queue.sync(flags: .barrier) {} }
    let region = awaitRegion()
    let records = region.records
    for queue in queues {
      let mine = records.filter { $0.queue == region.number(labelled: queue.label) }
      let items = mine.filter { $0.kind == UInt8(GC_RECORD_ITEM) }
      let submissions = mine.filter { $0.kind == UInt8(GC_RECORD_SUBMIT) }
      report(queue.label + "Items", items.count)
      report(queue.label + "Submissions", submissions.count)
      // A barrier that waits for its turn is recorded for the queue as well, with another word.
      report(queue.label + "Functions", Set((items + submissions).map(\.word).filter { $0 != 0 }).count)
    }
  }

  /// GRANDCENTRAL_RECORD=collect: items of global queues, whose quality of service is another one than the queue's.
  private static func bands() {
    let queue = DispatchQueue.global(qos: .background)
    let group = DispatchGroup()
    for _ in 0..<1_000 {
      queue.async(group: group, qos: .userInteractive, flags: .enforceQoS) {
        dispatchPrecondition(condition: .onQueue(queue))
      }
    }
    group.wait()
    let region = awaitRegion()
    func mine(_ kind: Int32) -> [gc_insight_record] {
      region.records.filter { $0.queue == region.number(labelled: queue.label) && $0.kind == UInt8(kind) }
    }
    // The last records are made when their items have left the group.
    while mine(Int32(GC_RECORD_ITEM)).count < 1_000 { usleep(1_000) }
    report("items", mine(Int32(GC_RECORD_ITEM)).count)
    report("submissions", mine(Int32(GC_RECORD_SUBMIT)).count)
  }

  /// GRANDCENTRAL_RECORD=ring: memory stays what it is.
  private static func ring() {
    let queue = DispatchQueue(label: "endless")
    for _ in 0..<50 {
      for _ in 0..<10_000 { queue.async {} }
      queue.sync {}
    }
    let region = awaitRegion()
    report("chunks", region.head.chunks_used)
    report("full", region.chunks.filter { $0.count == GC_INSIGHT_RECORDS }.count > 2)
    report("newest", region.chunks.map(\.number).max() ?? 0 > 100)
  }

  private static func forks() {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    DispatchQueue.global().sync {}
    let group = DispatchGroup()
    DispatchQueue(label: "parent").async(group: group) {}
    group.wait()
    let parent = awaitRegion()
    let child = fork()
    if child == 0 {
      report("childBefore", Region.link() == nil)
      let group = DispatchGroup()
      let queue = DispatchQueue(label: "child")
      queue.async(group: group) {}
      group.wait()
      let own = awaitRegion()
      report("childOwn", own.head.pid == UInt32(getpid()))
      report("childAlone", own.threads.allSatisfy { $0.tid != UInt32(getppid()) })
      fflush(nil)
      _exit(0)
    }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    report("child", status)
    report("parentStays", parent.head.pid == UInt32(getpid()))
  }

  private static func closed() {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    let group = DispatchGroup()
    DispatchQueue.global().async(group: group) {}
    group.wait()
    _ = awaitRegion()
    if let link = Region.link() { close(link) }
    report("closed", Region.link() == nil)
    for _ in 0..<1_000 { DispatchQueue.global().async(group: group) {} }
    group.wait()
    let child = fork()
    if child == 0 {
      DispatchQueue.global().async(group: group) {}
      group.wait()
      _exit(0)
    }
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    report("child", status)
  }

  private static func presence() {
    report("before", Region.link() != nil)
    let group = DispatchGroup()
    DispatchQueue.global().async(group: group) {}
    group.wait()
    // The worker makes the region before it falls asleep. Where it must not make one, the test looks for a while.
    let isOff = getenv("GRANDCENTRAL_INSIGHT").map { String(cString: $0) } == "off"
    _ = eventually(seconds: isOff ? 0.3 : Patience.seconds) { Region.link() != nil }
    report("after", Region.link() != nil)
  }

  /// Nothing is submitted: there are no workers.
  private static func plainThreads() {
    let queue = DispatchQueue(label: "held")
    let (isHeld, mayEnd) = (Latch(1), Latch(1))
    let holder = PlainThread {
      queue.sync {
        isHeld.open()
        mayEnd.wait()
      }
    }
    isHeld.wait()
    let waiter = PlainThread { queue.sync {} }
    let region = awaitRegion()
    var seen: gc_insight_thread?
    while seen == nil { seen = region.threads.first { $0.state == UInt32(GC_STATE_WAITS) } }
    report("waitsFor", seen.map { text($0.waits_for) } ?? "?")
    mayEnd.open()
    holder.join()
    waiter.join()
  }

  /// A file of the region's size would be a signal that ends the process.
  private static func smallFiles() {
    var limit = rlimit(rlim_cur: 1 << 20, rlim_max: 1 << 20)
    setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    let fired = Latch()
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(5)) { fired.open() }
    require(fired.wait(), "the engine works")
    report("region", Region.link() != nil)
  }

  /// GRANDCENTRAL_INSPECT=1
  private static func queues() {
    let target = DispatchQueue(label: "target")
    let queue = DispatchQueue(label: "queue", attributes: .concurrent, target: target)
    queue.suspend()
    queue.suspend()
    let idle = DispatchQueue(label: "idle", attributes: .initiallyInactive)
    do { _ = DispatchQueue(label: "gone") }
    let snapshot = GrandCentralRuntime.snapshot()
    let seen = snapshot.queues.first { $0.label == "queue" }
    report("kind", seen.map { "\($0.kind)" } ?? "?")
    report("suspensions", seen?.suspensions ?? -1)
    report("target", snapshot.queues.first { $0.number == seen?.target }?.label ?? "?")
    report("width", seen?.width ?? 0)
    report("inactive", snapshot.queues.first { $0.label == "idle" }?.isInactive ?? false)
    report("gone", snapshot.queues.contains { $0.label == "gone" })
    queue.resume()
    queue.resume()
    idle.activate()
    let after = GrandCentralRuntime.snapshot().queues
    report("resumed", after.first { $0.label == "queue" }?.suspensions ?? -1)
    report("activated", after.first { $0.label == "idle" }?.isInactive == false)
  }

  static func awaitRegion() -> Region {
    while Region.link() == nil {}
    return Region()
  }

  private static func text<Field>(_ field: Field) -> String {
    withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  /// A region, mapped as another process would.
  struct Region {
    let memory: UnsafeRawPointer

    /// The descriptor in this process.
    static func link() -> Int32? {
      for number in 0..<Int32(1_024) {
        var target = [UInt8](repeating: 0, count: 64)
        let count = readlink("/proc/self/fd/\(number)", &target, 63)
        let text = String(decoding: target.prefix(max(0, count)), as: UTF8.self)
        if text.hasPrefix("/memfd:" + GC_INSIGHT_NAME) { return number }
      }
      return nil
    }

    init() {
      let descriptor = open("/proc/self/fd/\(Region.link() ?? -1)", O_RDONLY)
      require(descriptor >= 0, "the region's link can be opened")
      // The link is there first, then the size, and the head last: another thread may be making the region just now.
      var status = stat()
      repeat { fstat(descriptor, &status) } while status.st_size == 0
      memory = UnsafeRawPointer(mmap(nil, Int(status.st_size), PROT_READ, MAP_SHARED, descriptor, 0)!)
      close(descriptor)
      while head.magic == 0 { sched_yield() }
      require(head.magic == UInt64(GC_INSIGHT_MAGIC) && head.size == UInt64(status.st_size), "the head is whole")
    }

    var head: gc_insight_head { memory.load(as: gc_insight_head.self) }

    private func array<T>(_ part: gc_insight_part, _ used: UInt32, of type: T.Type) -> [T] {
      (0..<Int(used)).map { memory.load(fromByteOffset: Int(part.offset) + $0 * Int(part.stride), as: T.self) }
    }

    var threads: [gc_insight_thread] {
      array(head.threads, head.threads_used, of: gc_insight_thread.self)
        .filter { $0.tid != 0 && $0.sequence % 2 == 0 }
    }

    func object(_ number: Int) -> gc_insight_object {
      memory.load(
        fromByteOffset: Int(head.objects.offset) + number * Int(head.objects.stride), as: gc_insight_object.self)
    }

    func number(labelled label: String) -> UInt32 {
      UInt32((1..<Int(head.objects_used)).first { text(object($0).label) == label } ?? 0)
    }

    struct ChunkHead {
      let state, count: UInt32
      let number: UInt64
    }

    var chunks: [ChunkHead] {
      (0..<Int(head.chunks_used)).map { chunkAddress($0).loadUnaligned(as: ChunkHead.self) }
    }

    private func chunkAddress(_ index: Int) -> UnsafeRawPointer {
      memory + Int(head.chunks.offset) + index * Int(head.chunks.stride)
    }

    var records: [gc_insight_record] {
      var records = [gc_insight_record]()
      for (index, chunk) in chunks.enumerated() {
        let start = chunkAddress(index) + Int(GC_INSIGHT_CHUNK_HEAD)
        for place in 0..<Int(chunk.count) {
          records.append(start.load(fromByteOffset: place * 32, as: gc_insight_record.self))
        }
      }
      return records
    }
  }
}
