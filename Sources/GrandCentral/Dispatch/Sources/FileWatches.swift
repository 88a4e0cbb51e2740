// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// One inode that a source watches, in memory that the source provides: the file itself, or the folder it lies in.
struct FileWatch: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<FileWatch>

  /// Guarded by the list's lock.
  var next: Pointer?
  /// Guarded by the list's lock: the kernel's number for the inode; -1 while it is not listed.
  var number: Int32 = -1
  /// The source, which is alive while the watch is listed.
  let source: Borrowed<FileSystemSource>
  let isOfParent: Bool

  @_optimize(size)
  fileprivate func begin(
    _ inotify: borrowing Inotify, _ descriptor: Int32, _ events: Inotify.Events
  ) -> Result<Int32, Errno> {
    isOfParent ? inotify.watchParent(of: descriptor, events) : inotify.watch(descriptor, events)
  }
}

/// The listed watches whose numbers fall into one bucket, linked. Guarded by the list's lock.
private struct WatchChain {
  private var first: FileWatch.Pointer?

  @_optimize(size)
  mutating func insert(_ entry: FileWatch.Pointer, _ number: Int32) {
    entry.pointee.number = number
    entry.pointee.next = first
    first = entry
  }

  @_optimize(size)
  mutating func remove(_ entry: FileWatch.Pointer) {
    let next = entry.pointee.next
    if first == entry {
      first = next
    } else {
      _ = contains { other in
        if other.next != entry { return false }
        other.next = next
        return true
      }
    }
    entry.pointee.number = -1
  }

  /// The one listed last with this number.
  @_optimize(size)
  func first(of number: Int32) -> FileWatch.Pointer? {
    var link = first
    while let entry = link, entry.pointee.number != number { link = entry.pointee.next }
    return link
  }

  /// Whether `look` says yes of one of them.
  @_optimize(size)
  func contains(where look: (inout FileWatch) -> Bool) -> Bool {
    var link = first
    while let entry = link {
      link = entry.pointee.next
      if look(&entry.pointee) { return true }
    }
    return false
  }
}

// What the process watches with its one inotify descriptor.
//
//   inotify ─► poller ─► report ─► event ─► [ bucket ─► watch ─► watch … ] ─► source
//
// FileWatches.N1  The kernel has one watch for an inode, even if several sources asked for it; the watch's number finds the
//     sources. The watch's mask covers what any of them has ever asked for: a wider mask costs a wake-up, and a source drops
//     the events that it did not ask for.
// FileWatches.N2  Adding to the kernel and listing are one step under the lock, and so are unlisting and removing: an event
//     finds its source. Numbers go up and are not used again, so an event that still waits for a removed watch finds no
//     source.
// FileWatches.N3  Events are read under the lock, in the poller's report, without blocking and in bounded portions:
//     what is left is reported again. Nothing but the state machine of sources is called.
// FileWatches.N4  The kernel drops events when too many wait. Then every source compares its file with what it knew,
//     and asks for its watches anew: that the kernel has dropped one may have been among the lost events.
// FileWatches.N5  All this belongs to one engine. A forked child has another engine, and makes its own; it must not
//     read the parent's descriptor, nor remove the parent's watches. A run of a simulation has its own in its world.
//
// Lock order: the descriptor table's, this one, the source's. So nothing here calls the poller with the lock held.
final class FileWatches: @unchecked Sendable {  // guarded by `lock`
  /// The engine's list, which lives as long as the process.
  // unsafe: the word is atomic.
  private nonisolated(unsafe) static let current = Atomic<UnsafeMutableRawPointer?>(nil)

  private static let bucketCount = 1024
  private static let bufferSize = 4096
  private static let largestPortions = 4

  let lock = Lock()
  private let engineAddress: Engine.Address
  var engine: Engine.Pointer { Engine.at(engineAddress) }
  private let inotify: Inotify
  /// The run that the list belongs to is over.
  private let isOver = Atomic<Bool>(false)
  private let watch: DescriptorWatch.Pointer
  /// Guarded by `lock`.
  private let buckets: UnsafeMutablePointer<WatchChain>
  private let buffer: UnsafeMutableRawBufferPointer
  /// Guarded by `lock`: events have been lost, and there has been no quiet moment since.
  @exclusivity(unchecked) private var isOverflowing = false
  /// Guarded by `lock`: sources whose descriptor was closed, to be cancelled without the lock.
  @exclusivity(unchecked) private var gone = [FileSystemSource]()

  private init(owning raw: Int32) {
    engineAddress = Engine.sharedAddress
    inotify = Inotify(owning: raw)
    // unsafe: these live as long as the list.
    buckets = .allocate(capacity: Self.bucketCount)
    buckets.initialize(repeating: WatchChain(), count: Self.bucketCount)
    buffer = .allocate(byteCount: Self.bufferSize, alignment: 8)
    watch = .allocate(capacity: 1)
    watch.initialize(
      to: DescriptorWatch(
        raw, .readable, context: Borrowed(self).word, report: FileWatches.report))
  }

  deinit {
    buckets.deallocate()
    buffer.deallocate()
    watch.deinitialize(count: 1)
    watch.deallocate()
  }

  /// The list of this process.
  @_optimize(size)
  static func shared() -> Result<FileWatches, Errno> {
    if let world = World.current { return ofRun(world) }
    // pairs with: shared – publishes the list
    let seen = current.load(ordering: .acquiring)
    if let seen {
      // unsafe: never released.
      let list = Borrowed<FileWatches>(word: seen).object
      if list.isOurs { return .success(list) }
    }
    let made: FileWatches
    switch make() {
    case .failure(let error): return .failure(error)
    case .success(let list): made = list
    }
    let place = Owned(made).give()
    // pairs with: shared – publishes the list
    // relaxed: an exchange that fails is followed by a call of the descriptor table. The other thread's list was added to the
    // table before it was put here, so the table's lock publishes it.
    let (isFirst, other) = current.compareExchange(
      expected: seen, desired: place.word, successOrdering: .releasing, failureOrdering: .relaxed)
    // FileWatches.N5: a child leaves its copy of the parent's descriptor open. The program may have closed it, and the number may be another
    // file's.
    if isFirst { return .success(made) }
    _ = made.engine.pointee.poller.unwatch(made.watch)
    place.giveBack()
    // unsafe: another thread was faster; never released.
    return .success(Borrowed<FileWatches>(word: other!).object)
  }

  /// FileWatches.N5
  @_optimize(size)
  private static func ofRun(_ world: World.Functions) -> Result<FileWatches, Errno> {
    if let raw = world.fileWatches { return .success(Borrowed<FileWatches>(word: raw).object) }
    let made = make()
    if case .success(let list) = made { world.fileWatches = Owned(list).give().word }
    return made
  }

  /// A list that the calling thread's engine waits for, and that no other thread knows yet.
  @_optimize(size)
  private static func make() -> Result<FileWatches, Errno> {
    switch Inotify.make() {
    case .failure(let error): return .failure(error)
    case .success(let raw):
      let made = FileWatches(owning: raw)
      let outcome = Engine.current.poller.watch(made.watch, in: Engine.current)
      if case .failed(let error) = outcome { return .failure(error) }
      return .success(made)
    }
  }

  /// The run is over: its sources may be left, and find no engine that is theirs.
  @_optimize(size)
  static func endRun(_ world: World.Functions) {
    guard let raw = world.fileWatches else { return }
    world.fileWatches = nil
    Borrowed<FileWatches>(word: raw).use { list in
      // relaxed: the run's threads have left, and this one lets go of them in what follows.
      list.isOver.store(true, ordering: .relaxed)
      // The engine keeps its descriptors while one is watched.
      _ = Engine.current.poller.unwatch(list.watch)
      list.inotify.abandon()
    }
  }

  /// FileWatches.N5: whether this list belongs to this process's engine, not to that of the parent which forked it.
  var isOurs: Bool {
    // relaxed: see `endRun`. Another engine may have the address of one that is gone.
    engine == Engine.existing && !isOver.load(ordering: .relaxed)
  }

  // MARK: Watching, with the lock held

  /// Watches the file that `descriptor` is open on, or the folder it lies in.
  @_optimize(size)
  func add(_ entry: FileWatch.Pointer, _ descriptor: Int32, _ events: Inotify.Events) -> Errno? {
    switch entry.pointee.begin(inotify, descriptor, events) {
    case .failure(let error): return error
    case .success(let number):
      if number == entry.pointee.number { return nil }
      remove(entry)
      buckets[bucket(number)].insert(entry, number)
      return nil
    }
  }

  /// Ends the watch, in the kernel too if no other source has one of the inode.
  @_optimize(size)
  func remove(_ entry: FileWatch.Pointer) {
    let number = entry.pointee.number
    if number < 0 { return }
    let bucket = bucket(number)
    buckets[bucket].remove(entry)
    if !buckets[bucket].contains(where: { $0.number == number }) { inotify.unwatch(number) }
  }

  private func bucket(_ number: Int32) -> Int { Int(UInt32(bitPattern: number)) % Self.bucketCount }

  // MARK: Reporting

  private static let report: DescriptorWatch.Report = { context, happened in
    // unsafe: the list is alive while it is watched.
    Borrowed<FileWatches>(word: context).use { list in
      if happened == DescriptorWatch.gone {
        Fault.report(
          "the descriptor that file system sources listen on was closed by the program; they fall silent. "
            + "Close only descriptors that you have opened.")
        return false
      }
      list.lock.lock()
      list.readSome()
      let gone = list.gone
      list.gone = []
      list.lock.unlock()
      for source in gone { source.cancelAsLost() }
      return true
    }
  }

  /// FileWatches.N3
  @_optimize(size)
  private func readSome() {
    for _ in 0..<Self.largestPortions {
      let found = inotify.read(into: buffer) { take($0) }
      if !found {
        isOverflowing = false
        return
      }
    }
  }

  @_optimize(size)
  private func take(_ event: Inotify.Event) {
    if event.happened.contains(.overflow) { return takeOverflow() }
    var stale = [FileSystemSource]()
    let bucket = bucket(event.watch)
    while event.happened.contains(.ignored), let entry = buckets[bucket].first(of: event.watch) {
      buckets[bucket].remove(entry)
      note(event, entry.pointee.source.object, isOfParent: entry.pointee.isOfParent, &stale)
    }
    _ = buckets[bucket].contains { entry in
      if entry.number == event.watch { note(event, entry.source.object, isOfParent: entry.isOfParent, &stale) }
      return false
    }
    // Not in the walk: it puts entries into other buckets.
    for source in stale where source.renew(in: self) { gone.append(source) }
  }

  @inline(never)
  @_optimize(size)
  private func note(
    _ event: Inotify.Event, _ source: FileSystemSource, isOfParent: Bool, _ stale: inout [FileSystemSource]
  ) {
    if source.take(event, isOfParent: isOfParent) { gone.append(source) }
    if !event.happened.isDisjoint(with: [.moved, .ignored]) { stale.append(source) }
  }

  /// FileWatches.N4
  @inline(never)
  @_optimize(size)
  private func takeOverflow() {
    if !isOverflowing {
      Fault.report(
        "events of file system sources were lost, because more of them waited than fs.inotify.max_queued_events. "
          + "Each source compares its file with what it knew, and reports at least write and attrib.")
    }
    isOverflowing = true
    var sources = [FileSystemSource]()
    for index in 0..<Self.bucketCount {
      _ = buckets[index].contains { entry in
        if !entry.isOfParent { sources.append(entry.source.object) }
        return false
      }
    }
    // Not in the walk: renewed watches go into other buckets.
    for source in sources where source.takeLoss() || source.renew(in: self, isCertain: false) { gone.append(source) }
  }
}
