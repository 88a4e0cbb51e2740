// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral
import Synchronization

// Groups and channels that were made before anybody asked for them.
extension Scenario {
  static func insightLate() {
    let group = DispatchGroup()
    for _ in 0..<3 { group.enter() }
    var ends: [Int32] = [0, 0]
    pipe(&ends)
    let channel = DispatchIO(type: .stream, fileDescriptor: ends[0], queue: .global()) { _ in }
    channel.setLimit(lowWater: 1)
    report("before", GrandCentralRuntime.snapshot().groups.count + GrandCentralRuntime.snapshot().channels.count)
    GrandCentralRuntime.listsQueues = true
    report("unused", GrandCentralRuntime.snapshot().groups.count + GrandCentralRuntime.snapshot().channels.count)
    func members() -> Int { GrandCentralRuntime.snapshot().groups.first?.members ?? -1 }
    group.enter()
    report("entered", members())
    for _ in 0..<2 { group.leave() }
    report("left", members())
    let isRead = Latch(1)
    channel.read(offset: 0, length: 2, queue: .global()) { _, data, _ in if data?.count == 1 { isRead.open() } }
    report("operations", GrandCentralRuntime.snapshot().channels.first?.operations ?? -1)
    write(ends[1], "x", 1)
    isRead.wait()
    report("descriptor", GrandCentralRuntime.snapshot().channels.first?.descriptor == ends[0])
    for _ in 0..<2 { group.leave() }
    write(ends[1], "y", 1)
    channel.close()
    withExtendedLifetime(group) {}
  }

  /// One thread enters a group, by which it is listed, while another one leaves it: that step comes before or behind, and is counted
  /// once in either case. In every second group it is the one that lets a notification go.
  static func insightLateGroups() {
    var (listed, wrong) = (0, 0)
    // Some 24,000 groups; fewer where others let these two threads meet rarely.
    let latest = DispatchTime.now() + 20
    for _ in 0..<80 where .now() < latest {
      GrandCentralRuntime.listsQueues = false
      let groups = (0..<300).map { index in
        let group = DispatchGroup()
        group.enter()
        if index % 2 == 0 { group.notify(queue: .global()) {} }
        return group
      }
      GrandCentralRuntime.listsQueues = true
      let pair = Pair()
      let leaver = PlainThread {
        for group in groups {
          pair.meet()
          group.leave()
        }
      }
      for group in groups {
        pair.meet()
        group.enter()
        group.leave()
      }
      leaver.join()
      let shown = GrandCentralRuntime.snapshot().groups
      listed += shown.count
      wrong += shown.count { $0.members != 0 }
      withExtendedLifetime(groups) {}
    }
    report("listed", listed > 0)
    report("wrong", wrong)
  }

  /// Two threads that come to the same place at the same time, again and again.
  private final class Pair: Sendable {
    private let arrivals = Atomic<Int>(0)

    func meet() {
      let own = arrivals.add(1, ordering: .acquiringAndReleasing).newValue
      let both = own + own % 2
      while arrivals.load(ordering: .acquiring) < both { sched_yield() }
    }
  }

  /// A barrier that has to wait, in a channel that nobody has asked for.
  static func insightBarrier() {
    var ends: [Int32] = [0, 0]
    pipe(&ends)
    _ = GrandCentralRuntime.snapshot()
    let region = awaitRegion()
    let (channel, isPassed) = (DispatchIO(type: .stream, fileDescriptor: ends[0], queue: .global()) { _ in }, Latch(1))
    channel.read(offset: 0, length: 1, queue: .global()) { _, _, _ in }
    report("before", GrandCentralRuntime.snapshot().channels.count)
    channel.barrier { isPassed.open() }
    func state() -> gc_insight_state? {
      let channels = region.objects.filter { $0.kind == UInt32(GC_OBJECT_CHANNEL) && $0.ended == 0 }
      return channels.first.map { withUnsafePointer(to: $0) { gc_insight_state_of($0) } }
    }
    report("barriers", state()?.clock ?? 99)
    // The read is on its way to its wait.
    while state()?.due ?? 1 == 0 { sched_yield() }
    report("waits", state()?.due ?? 0 > 0 && state()?.interval == 0)
    write(ends[1], "x", 1)
    isPassed.wait()
    report("barriersAfter", state()?.clock ?? 99)
    report("waitsAfter", state()?.due ?? 99)
    channel.close()
  }

  /// A worker whose first item blocks in the kernel.
  static func insightFirstItem() {
    var ends: [Int32] = [0, 0]
    pipe(&ends)
    let reading = ends[0]
    _ = GrandCentralRuntime.snapshot()
    let region = awaitRegion()
    let worker = Atomic<UInt32>(0)
    DispatchQueue(label: "first").async {
      var byte: UInt8 = 0
      worker.store(UInt32(Kernel.threadID), ordering: .relaxed)
      _ = read(reading, &byte, 1)
    }
    while worker.load(ordering: .relaxed) == 0 { sched_yield() }
    let tid = worker.load(ordering: .relaxed)
    report("shown", region.workers.contains(tid))
    report("hasEntry", region.threads.contains { $0.tid == tid })
    write(ends[1], "x", 1)
    func sleeps() -> Bool { region.threads.contains { $0.tid == tid && $0.state == UInt32(GC_STATE_ASLEEP) } }
    // It may look for more to do, and a word is taken back behind the entry.
    while !sleeps() || region.workers.contains(tid) { sched_yield() }
    report("shownAfterwards", region.workers.contains(tid))
  }
}

extension Scenario {
  /// GRANDCENTRAL_INSPECT=1. Where address space is limited, there is room for 4,095 objects, and there are more. An entry is used again
  /// when the library has seen its object go, whatever another process writes there.
  static func insightFullTable() {
    if Kernel.isSanitized { skip("the sanitizers need more address space") }
    var limit = rlimit(rlim_cur: 1 << 40, rlim_max: 1 << 40)
    setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    var queues = (0..<4_200).map { DispatchQueue(label: "queue \($0)") }
    let region = awaitRegion()
    let descriptor = open("/proc/self/fd/\(Region.link() ?? -1)", O_RDWR)
    let mapped = mmap(nil, Int(region.head.size), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    guard let raw = mapped, raw != MAP_FAILED else { return }
    let objects = (raw + Int(region.head.objects.offset)).assumingMemoryBound(to: gc_insight_object.self)
    let number = region.number(labelled: "queue 100")
    report("full", region.head.objects_used == region.head.objects.count && number != 0)
    /// Which numbers the next queues get, whose searches come by all entries.
    func given(_ label: String) -> [UInt32] {
      queues += (0..<20).map { DispatchQueue(label: "\(label) \($0)") }
      return (0..<20).map { region.number(labelled: "\(label) \($0)") }.filter { $0 != 0 }
    }
    objects[Int(number)].ended = 1
    report("taken", given("early").count)
    objects[Int(number)].ended = 0
    queues.remove(at: 100)
    report("ended", objects[Int(number)].ended != 0)
    // Long ago.
    objects[Int(number)].ended = 1
    report("again", given("late") == [number])
    withExtendedLifetime(queues) {}
  }

  /// Standard error is closed, and no number as high as the library asks for may be used.
  static func insightFewDescriptors() {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = 48
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    close(2)
    _ = GrandCentralRuntime.snapshot()
    report("number", Region.link() ?? -1)
    report("free", fcntl(2, F_GETFD) < 0)
  }
}

extension Scenario.Region {
  /// The objects that have a number.
  var objects: [gc_insight_object] { (1..<max(1, Int(head.objects_used))).map { object($0) } }

  /// The table of workers without an entry.
  var workers: [UInt32] {
    let part = head.workers
    return (0..<Int(part.count)).map { (memory + Int(part.offset) + $0 * 4).load(as: UInt32.self) }
  }
}
