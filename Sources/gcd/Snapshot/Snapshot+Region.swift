// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc

extension Snapshot {
  /// Looks at a process: at its regions, and at what the kernel says of its threads.
  init(process pid: Int32) throws(RegionFailure) {
    self.init(pid: pid, regions: try RegionFinder.regions(of: pid))
    addKernel()
  }

  /// What a process showed when its core file was written: the kernel says of it only which threads there were.
  init(_ file: CoreFile) {
    self.init(pid: file.process, regions: file.regions, at: file.moment)
    core = file.path
    program.name = file.name
    threads.removeAll { !file.threads.contains($0.tid) }
  }

  /// - Parameter moment: What ages are counted to, in nanoseconds of CLOCK_MONOTONIC; nil is now.
  init(pid: Int32, regions: [RegionReader], at moment: UInt64? = nil) {
    self.init(pid: pid)
    for (place, region) in regions.enumerated() { add(region, place, at: moment) }
    objects.sort { $0.number < $1.number }
    // A library that has lost its threads, as in a child of fork, shows nothing. A process usually has one library in use.
    threads.sort { ($0.role != .main ? 1 : 0, $0.tid) < ($1.role != .main ? 1 : 0, $1.tid) }
  }

  private mutating func add(_ region: RegionReader, _ place: Int, at moment: UInt64?) {
    library = region.library
    regions.insert(region.memory.identity)
    parallelism = max(parallelism, Int(min(region.head.parallelism, 1 << 20)))
    isRecording = isRecording || region.switches & UInt32(GC_SWITCH_RECORD) != 0
    listsObjects = listsObjects || region.switches & UInt32(GC_SWITCH_OBJECTS) != 0
    leftOut += Int(min(region.waitersWithoutEntry, 1 << 20))
    room += Int(region.head.threads.count)
    workersWithoutEntry += region.workersWithoutEntry
    let found = region.threads(&torn)
    let foundObjects = region.objects(&torn)
    // Read afterwards: nothing that was found began later.
    let ages = RegionAges(clock: region.clock, now: moment ?? RegionClock.now().uptime, region: place)
    threads += found.map { Thread($0, ages) }
    objects += foundObjects.compactMap { Object($0, ages) }
  }

  /// Asks the kernel for its part.
  mutating func addKernel() {
    let begun = RegionClock.now().uptime
    program = KernelReading.process(pid)
    threadBudget = KernelReading.threadBudget(pid)
    let outer = KernelReading.threads(pid)
    numbers = KernelReading.numbers(pid, outer)
    let tids = Set(numbers?.keys.map { $0 } ?? outer)
    if let numbers { translate(numbers) }
    addQueueWords(tids)
    let clock = SleepClock()
    for index in threads.indices {
      let tid = threads[index].tid
      threads[index].name = KernelReading.name(pid, tid)
      threads[index].kernel = kernel(tid, tids, clock)
    }
    // A thread that has ended without a notice is left out.
    threads.removeAll { $0.kernel == nil }
    addWorkers(tids, clock)
    addHolders(tids, clock)
    addStarts()
    addMain(tids, clock)
    addFiles()
    let end = RegionClock.now().uptime
    lag = end - min(end, begun)
    if program.isStopped { standStill() }
  }

  /// A process that is stopped. Every thread has run to stop, so none has been blocked for longer, and the time since counts for
  /// nothing: a wait was as long as it was then.
  mutating func standStill() {
    stoppedFor = threads.compactMap { $0.kernel?.age }.min() ?? 0
    func then(_ age: UInt64) -> UInt64 { age - min(age, stoppedFor) }
    for index in threads.indices {
      threads[index].age = then(threads[index].age)
      threads[index].kernel?.age = nil
      if let age = threads[index].item?.age { threads[index].item?.age = then(age) }
    }
    for index in objects.indices where objects[index].state != nil {
      guard var state = objects[index].state else { continue }
      state.remaining = state.remaining.map { $0 &+ Int64(clamping: stoppedFor) }
      (state.reads, state.writes) = (state.reads.map(then), state.writes.map(then))
      state.changed = state.changed.map(then)
      objects[index].state = state
    }
  }

  /// `tids` are the numbers that the process's memory has of its threads.
  private func kernel(_ tid: Int32, _ tids: Set<Int32>, _ clock: SleepClock?) -> KernelThread? {
    var thread = KernelReading.thread(pid, tid, among: tids, clock: clock)
    if let numbers, let owner = thread?.lockOwner, owner != 0 { thread?.lockOwner = numbers[owner] ?? 0 }
    return thread
  }

  /// The process has noted its threads' numbers as it knows them.
  private mutating func translate(_ numbers: [Int32: Int32]) {
    for index in threads.indices {
      // A thread that has ended has no number here.
      threads[index].tid = numbers[threads[index].tid] ?? 0
      if let owner = threads[index].wait?.owner, owner != 0 { threads[index].wait?.owner = numbers[owner] ?? 0 }
    }
    threads.removeAll { $0.tid == 0 }
    workersWithoutEntry = workersWithoutEntry.compactMap { numbers[$0] }
  }

  /// Workers that have no entry yet.
  private mutating func addWorkers(_ tids: Set<Int32>, _ clock: SleepClock?) {
    var known = Set(threads.map(\.tid))
    for tid in workersWithoutEntry where known.insert(tid).inserted {
      guard let kernel = kernel(tid, tids, clock) else { continue }
      threads.append(Thread(tid: tid, name: KernelReading.name(pid, tid), role: .worker, kernel: kernel))
    }
  }

  /// A worker that has neither slept nor waited yet is active since its start, but for a moment.
  private mutating func addStarts() {
    for index in threads.indices where threads[index].age == 0 && threads[index].role == .worker {
      guard threads[index].state == .active else { continue }
      threads[index].age = KernelReading.ageSinceStart(pid, threads[index].tid) ?? 0
    }
  }

  /// What the descriptors of channels are, of which something waits.
  private mutating func addFiles() {
    for index in objects.indices.filter({ objects[$0].waitsForDescriptor }).prefix(Self.mostFiles) {
      guard let handle = objects[index].state?.handle else { continue }
      objects[index].state?.file = KernelReading.file(pid, handle)
    }
  }

  private static let mostFiles = 64

  /// Threads that have no entry, if one that has waits for them: they hold a queue or a lock.
  private mutating func addHolders(_ tids: Set<Int32>, _ clock: SleepClock?) {
    var known = Set(threads.map(\.tid))
    var open: [Int32] = threads.flatMap { [$0.kernel?.lockOwner ?? 0, $0.wait?.owner ?? 0] as [Int32] }
    open += objects.compactMap { $0.word?.owner }
    while let tid = open.popLast() {
      guard tid != 0, known.insert(tid).inserted,
        let kernel = kernel(tid, tids, clock)
      else { continue }
      let name = KernelReading.name(pid, tid)
      // The library names its workers so; one that has neither slept nor waited has no entry.
      let role: Role = tid == pid ? .main : name.hasPrefix("gc-") ? .worker : .program
      threads.append(Thread(tid: tid, name: name, role: role, kernel: kernel))
      open.append(kernel.lockOwner)
    }
  }

  /// The main thread runs the main queue, whether it has met the library or not.
  private mutating func addMain(_ tids: Set<Int32>, _ clock: SleepClock?) {
    guard !threads.contains(where: { $0.role == .main || $0.tid == pid }), threads.contains(where: { needsMain($0) }),
      let kernel = kernel(pid, tids, clock)
    else { return }
    threads.insert(Thread(tid: pid, name: program.name, role: .main, kernel: kernel), at: 0)
  }
}

/// Moments of the region as ages, and numbers of its objects as those of the process.
private struct RegionAges {
  let clock: RegionClock
  let now: UInt64
  /// Its place among the process's regions.
  let region: Int

  func number(_ number: UInt32) -> Int { Snapshot.number(number, region: region) }

  func age(_ counter: UInt64) -> UInt64 {
    let time = clock.nanoseconds(at: counter)
    return time < now ? now - time : 0
  }

  /// From the look to a moment of a clock of the process's. The other clocks are read now, as the uptime clock was at the look.
  func remaining(until due: UInt64, clock: UInt32) -> Int64 {
    let clocks = [CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME]
    let identifier = clocks.indices.contains(Int(clock)) ? clocks[Int(clock)] : CLOCK_MONOTONIC
    var present = now
    if identifier != CLOCK_MONOTONIC {
      var time = timespec()
      clock_gettime(identifier, &time)
      present = UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
    return Int64(clamping: due) &- Int64(clamping: present)
  }
}

extension Snapshot.Thread {
  fileprivate init(_ raw: RegionThread, _ ages: RegionAges) {
    self.init(tid: raw.identifier)
    role =
      switch raw.role {
      case .program: .program
      case .worker: .worker
      case .main, .mainLoop: .main
      case .monitor: .monitor
      }
    runsMainQueue = raw.role == .mainLoop
    state =
      switch raw.state {
      case .active: .active
      case .asleep: .asleep
      case .waits: .waiting
      }
    age = raw.since == 0 ? 0 : ages.age(raw.since)
    // What a thread is inside of, it notes when it begins to wait; afterwards that is not true any more.
    if state == .waiting {
      wait = Snapshot.Wait(raw, ages)
      insideLabel = raw.inside
      insideAddress = raw.insideObject
    }
    if raw.itemBegun != 0 {
      item = Snapshot.Item(age: ages.age(raw.itemBegun), function: raw.itemFunction, queue: ages.number(raw.itemQueue))
    }
    items = raw.items
    waits = raw.waits
    sleeps = raw.sleeps
    wakes = raw.wakes
    lost = raw.lost
  }
}

extension Snapshot.Wait {
  fileprivate init(_ raw: RegionThread, _ ages: RegionAges) {
    let kind: Snapshot.WaitKind =
      switch raw.wait {
      case .queue: .queue
      case .itemElsewhere: .itemElsewhere
      case .group: .group
      case .semaphore: .semaphore
      case .workItem: .workItem
      case .apply: .apply
      case .once: .once
      case .none, .other: .other
      }
    self.init(
      kind: kind, address: raw.object, number: ages.number(raw.number), label: raw.waitsFor, owner: raw.owner,
      hasDeadline: raw.hasDeadline, caller: raw.caller)
    if kind == .queue || kind == .itemElsewhere { placeOfWord = raw.count } else { count = raw.count }
  }
}

extension Snapshot.Object {
  /// Nil for a kind that this tool does not know.
  fileprivate init?(_ raw: RegionObject, _ ages: RegionAges) {
    let kind: Snapshot.Kind
    switch raw.kind {
    case .serial: kind = .serial
    case .concurrent: kind = .concurrent
    case .workloop: kind = .workloop
    case .main: kind = .main
    case .global: kind = .global
    case .source: kind = .source
    case .timer: kind = .timer
    case .channel: kind = .channel
    case .group: kind = .group
    case .other: return nil
    }
    self.init(
      number: ages.number(raw.number), kind: kind, label: raw.label, address: raw.address, age: ages.age(raw.made),
      target: ages.number(raw.target), qos: Int(raw.qos), width: raw.width, suspensions: raw.suspensions,
      isInactive: !raw.isActive, endedAge: raw.ended.map { ages.age($0) },
      state: raw.state.map { Snapshot.ObjectState($0, raw, ages) })
  }
}

extension Snapshot.ObjectState {
  fileprivate init(_ raw: RegionObject.State, _ object: RegionObject, _ ages: RegionAges) {
    handle = Self.handle(raw, object)
    count = raw.count
    func age(_ counter: UInt64) -> UInt64? { counter == 0 ? nil : ages.age(counter) }
    switch object.kind {
    case .timer:
      // What lies beyond is as good as never.
      if raw.due <= UInt64(Int64.max) { remaining = ages.remaining(until: raw.due, clock: raw.clock) }
      interval = raw.interval
      leeway = UInt64(raw.bytes)
    case .channel:
      bytes = raw.bytes
      barriers = Int(min(raw.clock, 1 << 20))
      // An operation that has ended waits no more.
      if count > 0 { (reads, writes) = (age(raw.due), age(raw.interval)) }
    case .group: changed = age(raw.due)
    default: break
    }
    isCancelled = raw.isCancelled
  }

  /// Nil where there is nothing to watch from outside: a timer, user data, memory; and for a path that has not been opened.
  private static func handle(_ raw: RegionObject.State, _ object: RegionObject) -> Int? {
    let handle = Int(Int32(bitPattern: raw.handle))
    switch object.kind {
    case .channel: return handle < 0 ? nil : handle
    case .source: return object.label.hasPrefix("user data") || object.label.hasPrefix("memory") ? nil : handle
    default: return nil
    }
  }
}
