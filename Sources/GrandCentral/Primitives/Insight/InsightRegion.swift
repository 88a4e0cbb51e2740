// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// The memory through which other processes may look at this one; `CPlatformInsight.h` says what lies where.
///
/// It is made when the first worker goes to sleep or the second begins, when a thread first waits in the library, when a queue is
/// suspended or made inactive, or at the first record: so a program that only submits pays nothing, and one that hangs has it. It costs a descriptor, and the pages
/// that are used. Where the kernel refuses it there is none, and everything else works.
///
/// InsightRegion.G1  `state` goes from `unasked` to `making` by exchange, and on to `made` or `none`. A thread that finds it
///     `making` waits for the region if it has something to write there (`makeAndAwait`): a record, a name, or a wait that may
///     be for ever and then must be seen. The one that makes it locks nothing that others hold. A worker that goes to sleep
///     does without.
/// InsightRegion.G2  `base` and what it points to live until the process ends; but in a child of a fork, whose only thread
///     forgets the parent's region before it runs anything else.
/// InsightRegion.G3  What other processes may have written is never trusted: indices and counts that the library needs
///     itself are kept outside.
enum InsightRegion {
  private enum State {
    static let unasked: UInt32 = 0
    static let making: UInt32 = 1
    static let made: UInt32 = 2
    static let none: UInt32 = 3
  }

  /// Where each array begins, and how long it is.
  struct Layout {
    let threads: Int
    let objects: Int
    let names = 1_024
    let chunks: Int

    /// Where address space is short, there is less of everything.
    @_optimize(size)
    init(isSmall: Bool) {
      threads = isSmall ? 256 : InsightLayout.mostThreads
      objects = isSmall ? 4_096 : 65_536
      chunks = isSmall ? 16 : 512
    }

    var threadsOffset: Int { InsightLayout.page }
    var namesOffset: Int { threadsOffset + threads * MemoryLayout<InsightLayout.ThreadEntry>.stride }
    var objectsOffset: Int { namesOffset + names * MemoryLayout<InsightLayout.NameEntry>.stride }
    var chunksOffset: Int {
      let end = objectsOffset + objects * MemoryLayout<InsightLayout.ObjectEntry>.stride
      return (end + InsightLayout.page - 1) & ~(InsightLayout.page - 1)
    }
    var size: Int { chunksOffset + chunks * InsightLayout.chunkSize }
  }

  private static let state = Atomic<UInt32>(State.unasked)
  /// Where the region begins; 0 while there is none.
  private static let base = Atomic<UInt>(0)
  /// Written before `base` is published.
  nonisolated(unsafe) private(set) static var layout = Layout(isSmall: true)
  nonisolated(unsafe) private static var descriptor: Int32 = -1
  /// Guards the arrays of threads, objects and names. Nothing else is locked under it.
  static let lock = ProcessLock()

  /// The region, if there is one.
  @inline(__always)
  static var memory: UnsafeMutableRawPointer? {
    // pairs with: makeSlow – publishes the layout, and the region
    UnsafeMutableRawPointer(bitPattern: base.load(ordering: .acquiring))
  }

  /// Makes the region, unless that was tried before.
  @inline(__always)
  static func makeOnce() {
    // relaxed: the exchange decides.
    if state.load(ordering: .relaxed) == State.unasked { makeSlow() }
  }

  /// As `makeOnce`. If another thread is making the region at this moment, waits until it is there, or for 20 ms.
  @inline(__always)
  static func makeAndAwait() {
    // pairs with: finish – publishes `base`, which is looked at next
    if state.load(ordering: .acquiring) < State.made { awaitSlow() }
  }

  /// The region, which is made if that was not tried before; nil if it cannot be had.
  @inline(__always)
  static var awaited: UnsafeMutableRawPointer? {
    makeAndAwait()
    return memory
  }

  @inline(never)
  @_optimize(size)
  private static func awaitSlow() {
    makeOnce()
    let patience = Deadline.after(20_000_000, on: .uptime)
    // pairs with: finish – publishes `base`, which is looked at next
    while state.load(ordering: .acquiring) == State.making {
      let isLate = _withUnprotectedUnsafePointer(to: state) { !Futex.wait($0, while: State.making, until: patience) }
      if isLate { return }
    }
  }

  /// The region is there, or cannot be had.
  @_optimize(size)
  private static func finish(_ outcome: UInt32) {
    // pairs with: awaitSlow – publishes `base`
    state.store(outcome, ordering: .releasing)
    _ = _withUnprotectedUnsafePointer(to: state) { Futex.wake($0, count: .max) }
  }

  @inline(never)
  @_optimize(size)
  private static func makeSlow() {
    // relaxed: the thread that wins it has seen nothing of others; a thread that loses it does without, or waits.
    if !state.compareExchange(expected: State.unasked, desired: State.making, ordering: .relaxed).exchanged { return }
    if let wish = Environment.value(of: "GRANDCENTRAL_INSIGHT"), Text.equal(wish[...], "off") {
      return finish(State.none)
    }
    let made = Layout(isSmall: InsightLayout.isCramped)
    var head = InsightLayout.Head()
    fill(&head, made)
    guard let (memory, number) = InsightLayout.make(made.size, &head) else {
      return finish(State.none)
    }
    descriptor = number
    layout = made
    // pairs with: memory – publishes the layout, and the region
    base.store(UInt(bitPattern: memory), ordering: .releasing)
    // What was set while the page was the library's own.
    // relaxed: figures.
    InsightLayout.head.show(parallelism: parallelism.load(ordering: .relaxed))
    InsightLayout.head.show(lost: lost.load(ordering: .relaxed))
    // Also while the head was copied: that went to the page which the region has replaced.
    // relaxed: `turnOn` changes this word before the head; if it is not there yet, the head that it changes is the region's.
    turnOn(own.load(ordering: .relaxed))
    finish(State.made)
  }

  @_optimize(size)
  private static func fill(_ head: inout InsightLayout.Head, _ layout: Layout) {
    head.switches = InsightLayout.switches
    head.version = InsightLayout.version
    head.magic = InsightLayout.magic
    head.size = UInt64(layout.size)
    head.pid = InsightLayout.processID
    let (counter, uptime) = Cycles.moment()
    head.counter = counter
    head.uptime = uptime
    head.threads = part(layout.threadsOffset, layout.threads, MemoryLayout<InsightLayout.ThreadEntry>.stride)
    head.objects = part(layout.objectsOffset, layout.objects, MemoryLayout<InsightLayout.ObjectEntry>.stride)
    head.names = part(layout.namesOffset, layout.names, MemoryLayout<InsightLayout.NameEntry>.stride)
    head.chunks = part(layout.chunksOffset, layout.chunks, InsightLayout.chunkSize)
    head.workers = InsightLayout.workers
    // Number 0 belongs to no object.
    head.objects_used = 1
    head.names_used = 1
  }

  private static func part(_ offset: Int, _ count: Int, _ stride: Int) -> InsightLayout.Part {
    InsightLayout.Part(offset: UInt64(offset), count: UInt32(count), stride: UInt32(stride))
  }

  // MARK: What lies where

  @inline(__always)
  static var head: UnsafeMutablePointer<InsightLayout.Head> { InsightLayout.head }

  /// The first entry of an array of the region that `memory` is.
  static func threads(_ memory: UnsafeMutableRawPointer) -> UnsafeMutablePointer<InsightLayout.ThreadEntry> {
    (memory + layout.threadsOffset).assumingMemoryBound(to: InsightLayout.ThreadEntry.self)
  }

  static func objects(_ memory: UnsafeMutableRawPointer) -> UnsafeMutablePointer<InsightLayout.ObjectEntry> {
    (memory + layout.objectsOffset).assumingMemoryBound(to: InsightLayout.ObjectEntry.self)
  }

  static func names(_ memory: UnsafeMutableRawPointer) -> UnsafeMutablePointer<InsightLayout.NameEntry> {
    (memory + layout.namesOffset).assumingMemoryBound(to: InsightLayout.NameEntry.self)
  }

  static func chunk(_ index: Int, _ memory: UnsafeMutableRawPointer) -> UnsafeMutablePointer<InsightLayout.Chunk> {
    (memory + layout.chunksOffset + index * InsightLayout.chunkSize).assumingMemoryBound(to: InsightLayout.Chunk.self)
  }

  /// Workers wanted at once; 0 until it is known. The region may come before the engine, and after it.
  private static let parallelism = Atomic<UInt32>(0)

  static func noteParallelism(_ wanted: Int) {
    let number = UInt32(truncatingIfNeeded: wanted)
    // relaxed: a figure for readers in other processes.
    parallelism.store(number, ordering: .relaxed)
    head.show(parallelism: number)
  }

  /// The worker of that index, the calling thread, has begun: it is known before it has an entry, which it gets when it first
  /// sleeps or waits.
  static func noteWorkerBegins(_ index: Int) { if !World.isSimulated { InsightLayout.show(worker: index, Thread.id) } }

  /// The worker has an entry, or ends.
  static func noteWorkerIsListed(_ index: Int) { if !World.isSimulated { InsightLayout.show(worker: index, 0) } }

  /// Records that no thread's entry counts.
  private static let lost = Atomic<UInt64>(0)

  /// A record is lost whose thread has no entry, or for which the region came too late.
  static func noteLoss() {
    // relaxed: a figure, as above.
    head.show(lost: lost.wrappingAdd(1, ordering: .relaxed).newValue)
  }

  // MARK: Switches

  /// Those that the program has turned on. A tool turns on others.
  private static let own = Atomic<UInt32>(0)

  /// Turns switches on for the program.
  @_optimize(size)
  static func turnOn(_ bits: UInt32) {
    // relaxed: as the next one.
    own.bitwiseOr(bits, ordering: .relaxed)
    // relaxed: a setting. By one instruction: a tool may turn others on or off.
    head.switches.pointee.bitwiseOr(bits, ordering: .relaxed)
  }

  @_optimize(size)
  static func turnOff(_ bits: UInt32) {
    // relaxed: as in `turnOn`.
    own.bitwiseAnd(~bits, ordering: .relaxed)
    head.switches.pointee.bitwiseAnd(~bits, ordering: .relaxed)
  }

  /// Turns off what a tool has turned on that was killed, and gives no sign of life any more. What the program or its environment
  /// asks for stays on.
  @_optimize(size)
  static func lookAfterTool() {
    let sign = head.pointee.heartbeat
    guard sign != 0 else { return }
    // relaxed: a setting.
    let kept = own.load(ordering: .relaxed) | InsightLayout.wishes
    let tools = InsightLayout.Switch.collect | (InsightLayout.Switch.record | InsightLayout.Switch.objects) & ~kept
    // A tool leaves its last sign behind: from then on each call comes this far.
    guard InsightLayout.switches & tools != 0 else { return }
    let now = Clock.uptime.now()
    guard now > sign, now - sign > InsightLayout.patience else { return }
    turnOff(tools)
  }

  // MARK: Fork

  /// The child's first and only thread, which holds the lock: the region stays the parent's.
  @_optimize(size)
  static func leaveInChild() {
    // A region that another thread was about to make when the process forked is the parent's as well: then its address is
    // not known, and the page may be the parent's.
    // relaxed: there is one thread. So for what follows.
    if state.load(ordering: .relaxed) != State.unasked {
      let memory = UnsafeMutableRawPointer(bitPattern: base.load(ordering: .relaxed))
      InsightLayout.leave(
        memory, layout.size, descriptor, switches: InsightLayout.wishes & ~InsightLayout.Switch.collect)
    }
    // relaxed: as above.
    own.store(0, ordering: .relaxed)
    lost.store(0, ordering: .relaxed)
    base.store(0, ordering: .relaxed)
    state.store(State.unasked, ordering: .relaxed)
    let thread = gc_thread_self()
    thread.pointee.insight = nil
    thread.forgetChunk()
    RecorderChunks.resetAfterFork()
    InsightLayout.forgetEntries()
    InsightObjects.resetAfterFork()
    InsightNames.resetAfterFork()
  }
}
