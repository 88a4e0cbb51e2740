// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral

// Sources, timers, groups and channels, as a snapshot lists them.
extension Scenario {
  /// GRANDCENTRAL_INSPECT=1, or not.
  static func insightObjects() {
    let queue = DispatchQueue(label: "handlers")
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .now() + .seconds(100), repeating: .seconds(5))
    timer.activate()
    var ends: [Int32] = [0, 0]
    pipe(&ends)
    let reader = DispatchSource.makeReadSource(fileDescriptor: ends[0], queue: queue)
    reader.activate()
    reader.suspend()
    let signal = DispatchSource.makeSignalSource(signal: SIGUSR2, queue: queue)
    let group = DispatchGroup()
    for _ in 0..<3 { group.enter() }
    group.leave()

    let snapshot = GrandCentralRuntime.snapshot()
    report("timers", snapshot.timers.count)
    report("sources", snapshot.sources.count)
    report("groups", snapshot.groups.count)
    guard let seen = snapshot.timers.first else { return finish(timer, reader, signal, group) }
    let remaining = seen.remaining.map { Double($0.components.seconds) } ?? -1
    report("remaining", (90...100).contains(remaining))
    report("interval", seen.interval == .seconds(5))
    report("target", snapshot.queues.first { $0.number == seen.target }?.label ?? "?")
    let read = snapshot.sources.first { $0.kind == "read source" }
    report("descriptor", read?.handle == UInt(ends[0]))
    report("suspensions", read?.suspensions ?? -1)
    report("active", read?.isInactive == false)
    let watched = snapshot.sources.first { $0.kind == "signal source" }
    report("signal", watched?.handle ?? 0)
    report("inactive", watched?.isInactive == true)
    report("members", snapshot.groups.first?.members ?? -1)
    transfer()
    firesOnce(queue)

    reader.resume()
    reader.cancel()
    let later = GrandCentralRuntime.snapshot()
    let cancelled = later.sources.first { $0.kind == "read source" }
    report("cancelled", cancelled.map { $0.isCancelled && $0.suspensions == 0 } ?? false)
    finish(timer, reader, signal, group)
    report("left", GrandCentralRuntime.snapshot().groups.first?.members ?? -1)
    do { _ = DispatchGroup() }
    report("gone", GrandCentralRuntime.snapshot().groups.count)
    withExtendedLifetime(group) {}
  }

  /// A tool that was killed has left the switch on; the program has turned it on itself. What the environment says meanwhile counts
  /// for nothing.
  static func insightLeftover() {
    let isAsked = getenv("GRANDCENTRAL_INSPECT") != nil
    unsetenv("GRANDCENTRAL_INSPECT")
    if !isAsked { setenv("GRANDCENTRAL_RECORD", "ring", 1) }
    _ = GrandCentralRuntime.snapshot()
    _ = awaitRegion()
    let descriptor = open("/proc/self/fd/\(Region.link() ?? -1)", O_RDWR)
    let page = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    guard let raw = page, raw != MAP_FAILED else { return }
    let head = raw.assumingMemoryBound(to: gc_insight_head.self)
    func now() -> UInt64 { DispatchTime.now().uptimeNanoseconds }
    func lists(sinceTool age: UInt64) -> Bool {
      head.pointee.heartbeat = now() - age
      _ = DispatchGroup()
      return GrandCentralRuntime.listsQueues
    }
    head.pointee.switches |= UInt32(GC_SWITCH_OBJECTS)
    report("toolLives", lists(sinceTool: 0))
    report("toolIsGone", lists(sinceTool: UInt64(GC_INSIGHT_PATIENCE) + 1_000_000_000))
    GrandCentralRuntime.listsQueues = true
    report("programAsks", lists(sinceTool: UInt64(GC_INSIGHT_PATIENCE) + 1_000_000_000))
  }

  /// GRANDCENTRAL_RECORD=collect: work items, whose record names what runs them, of a pool's queue and of queues above it.
  static func insightPools() {
    let pooled = DispatchQueuePool(name: "pooled", queueCount: 1).queue
    let queues: [DispatchQueue] = [
      pooled, DispatchQueue(label: "above", target: pooled),
      DispatchQueue(label: "broad", attributes: .concurrent, target: pooled),
    ]
    let group = DispatchGroup()
    for _ in 0..<100 { for queue in queues { queue.async(group: group, execute: DispatchWorkItem {}) } }
    group.wait()
    reportRecords(of: queues)
  }

  /// A channel whose reader is slow has bytes to write.
  private static func transfer() {
    var ends: [Int32] = [0, 0]
    pipe(&ends)
    let count = 1 << 20
    let isDone = Latch(1)
    let channel = DispatchIO(type: .stream, fileDescriptor: ends[1], queue: .global()) { _ in }
    let bytes = [UInt8](repeating: 7, count: count).withUnsafeBytes { DispatchData(bytes: $0) }
    channel.write(offset: 0, data: bytes, queue: .global()) { done, _, _ in if done { isDone.open() } }
    func look() -> GrandCentralRuntime.SnapshotChannel? { GrandCentralRuntime.snapshot().channels.first }
    // It is on its way: the pipe takes some of it.
    while look()?.bytesToWrite ?? 0 == count { sched_yield() }
    let seen = look()
    report("channelDescriptor", seen?.descriptor == ends[1])
    report("operations", seen?.operations ?? -1)
    report("pending", (1..<count).contains(seen?.bytesToWrite ?? -1))
    var (rest, buffer) = (count, [UInt8](repeating: 0, count: 65_536))
    while rest > 0 { rest -= max(0, read(ends[0], &buffer, buffer.count)) }
    isDone.wait()
    // The operation ends when its handler has returned.
    while look()?.operations ?? 0 != 0 { sched_yield() }
    report("pendingAfter", look()?.bytesToWrite ?? -1)
    channel.close()
    report("closed", look()?.isClosed == true)
  }

  private static func firesOnce(_ queue: DispatchQueue) {
    let fired = Latch(1)
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { fired.open() }
    timer.schedule(deadline: .now() + .milliseconds(1))
    timer.activate()
    fired.wait()
    // The schedule is noted when the handler has returned, and then the next item runs.
    queue.sync {}
    let seen = GrandCentralRuntime.snapshot().timers.last
    report("firesNoMore", seen.map { $0.remaining == nil && $0.interval == nil } ?? false)
    timer.cancel()
  }

  private static func finish(
    _ timer: any DispatchSourceTimer, _ reader: any DispatchSourceRead, _ signal: any DispatchSourceSignal,
    _ group: DispatchGroup
  ) {
    for _ in 0..<2 { group.leave() }
    if !reader.isCancelled {
      reader.resume()
      reader.cancel()
    }
    timer.cancel()
    signal.activate()
    signal.cancel()
  }

  /// Where address space is limited, there is room for 256 threads.
  static func manyWaits() {
    if Kernel.isSanitized { skip("the sanitizers need more address space") }
    var limit = rlimit(rlim_cur: 1 << 40, rlim_max: 1 << 40)
    setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    let mayEnd = DispatchSemaphore(value: 0)
    // The first thread that needs the region makes it; others wait for that, for a while only.
    let first = PlainThread { mayEnd.wait() }
    let region = awaitRegion()
    let threads = [first] + (1..<300).map { _ in PlainThread { mayEnd.wait() } }
    func listed() -> Int { region.threads.count { $0.state == UInt32(GC_STATE_WAITS) } }
    // All are on their way.
    while listed() + Int(region.head.unlisted) < 300 { sched_yield() }
    report("listed", listed())
    report("leftOut", region.head.unlisted)
    for _ in threads { mayEnd.signal() }
    for thread in threads { thread.join() }
    report("leftOutAfterwards", region.head.unlisted)
  }
}
