// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A source that watches the file or folder that a descriptor is open on.
///
/// The kernel says that something happened to the inode; what exactly is found by comparing the file's size and number of
/// names with what they were. The kernel says nothing when an open folder is removed, so a folder's parent is watched as well,
/// if the program asks for that.
///
/// Data are merged before the event is made known, as in UserDataSource.
final class FileSystemSource: DispatchSource, DispatchSourceFileSystemObject, @unchecked Sendable {  // as said below
  private typealias Event = DispatchSource.FileSystemEvent

  private let descriptor: Int32
  private let wanted: DispatchSource.FileSystemEvent
  private let merged = Atomic<UInt>(0)
  /// Two entries, of the file and of a folder's parent.
  private let entries: FileWatch.Pointer
  /// Set by the registration, before the entries are listed.
  @exclusivity(unchecked) private var list: FileWatches?
  /// Guarded by the list's lock.
  @exclusivity(unchecked) private var known: FileStatus?
  @exclusivity(unchecked) private var isGone = false
  @exclusivity(unchecked) private var isRevoked = false

  @_optimize(size)
  init(descriptor: Int32, mask: DispatchSource.FileSystemEvent, queue: DispatchQueue?) {
    self.descriptor = descriptor
    wanted = mask
    // unsafe: the entries live as long as the source, which is on no list when it goes.
    entries = .allocate(capacity: 2)
    super.init(handle: UInt(UInt32(bitPattern: descriptor)), mask: mask.rawValue, queue: queue)
    // Alive until it has taken its entries off the list.
    let this = Borrowed(self)
    entries.initialize(to: FileWatch(source: this, isOfParent: false))
    (entries + 1).initialize(to: FileWatch(source: this, isOfParent: true))
  }

  @_optimize(size)
  deinit {
    requireReleasable()
    entries.deinitialize(count: 2)
    entries.deallocate()
  }

  override var kindName: String { "file system source" }
  override var watched: String { "descriptor " + String(descriptor) }

  // MARK: Registration

  @_optimize(size)
  override func register() -> Errno? {
    let before: FileStatus
    switch FileStatus.of(descriptor) {
    case .failure(let error): return error
    case .success(let status): before = status
    }
    let list: FileWatches
    switch FileWatches.shared() {
    case .failure(let error): return error
    case .success(let shared): list = shared
    }
    self.list = list
    list.lock.lock()
    defer { list.lock.unlock() }
    known = before
    if let error = list.add(entries, descriptor, interest(before)) { return error }
    if let error = watchParent(in: list), error.isShortage {
      list.remove(entries)
      return error
    }
    // What has happened between the first look and the watches.
    if !tell(look()) { return nil }
    for entry in [entries, entries + 1] { list.remove(entry) }
    return .badDescriptor
  }

  @_optimize(size)
  private func interest(_ status: FileStatus) -> Inotify.Events {
    var events: Inotify.Events = [.unmounted]
    if !wanted.isDisjoint(with: [.attrib, .link, .delete]) { events.insert(.attributes) }
    if wanted.contains(.rename) || watchesParent(status) { events.insert(.moved) }
    if status.isDirectory {
      if !wanted.isDisjoint(with: [.write, .link]) { events.formUnion(.entries) }
    } else if !wanted.isDisjoint(with: [.write, .extend]) {
      events.insert(.modified)
    }
    return events
  }

  @_optimize(size)
  private func watchesParent(_ status: FileStatus) -> Bool {
    status.isDirectory && !wanted.isDisjoint(with: [.delete, .link])
  }

  /// Under the list's lock: watches the folder that the watched folder lies in now.
  ///
  /// - Returns: why that is refused. Where the parent may not be watched, the removal goes unnoticed.
  @discardableResult
  @_optimize(size)
  private func watchParent(in list: FileWatches) -> Errno? {
    guard let known, watchesParent(known), known.links > 0 else { return nil }
    return list.add(entries + 1, descriptor, .entryDeleted)
  }

  /// Under the list's lock: the folder lies elsewhere now, or the kernel has dropped the watch though the file is open,
  /// which it does when the last name is not the one that the file was opened by.
  ///
  /// - Parameter isCertain: Whether the list knows which watches the kernel still has; else all are asked for again, which
  ///   changes nothing for those that it has.
  /// - Returns: whether the descriptor turns out to have been closed; once.
  @_optimize(size)
  func renew(in list: FileWatches, isCertain: Bool = true) -> Bool {
    guard let known, !isGone, !isRevoked else { return false }
    if entries.pointee.number < 0 || !isCertain { _ = list.add(entries, descriptor, interest(known)) }
    watchParent(in: list)
    return tell(look())
  }

  @_optimize(size)
  override func unregister() -> Bool {
    guard let list, list.isOurs else { return true }
    list.lock.lock()
    list.remove(entries)
    list.remove(entries + 1)
    list.lock.unlock()
    return true
  }

  // MARK: Events, under the list's lock

  /// - Returns: whether the descriptor turns out to have been closed; once.
  @_optimize(size)
  func take(_ event: Inotify.Event, isOfParent: Bool) -> Bool {
    if isOfParent { return tell(look()) }
    var happened: DispatchSource.FileSystemEvent = []
    if !event.happened.isDisjoint(with: .entries) {
      happened.insert(.write)
    } else if event.isOfEntry {
      // Entries of a folder have changed, not the folder.
      return false
    }
    if event.happened.contains(.modified) { happened.insert(.write) }
    if event.happened.contains(.attributes) { happened.insert(.attrib) }
    if event.happened.contains(.moved) { happened.insert(.rename) }
    if event.happened.contains(.unmounted) {
      happened.insert(.revoke)
      isRevoked = true
    }
    return tell(look().map { $0.union(happened) })
  }

  /// Events have been lost: anything may have happened.
  @_optimize(size)
  func takeLoss() -> Bool {
    tell(look().map { $0.union([.write, .attrib]) })
  }

  /// What the file's status says has happened since the last look; nil if the descriptor is not the file's any more.
  @_optimize(size)
  private func look() -> DispatchSource.FileSystemEvent? {
    guard let before = known, case .success(let now) = FileStatus.of(descriptor), now.isSameFile(as: before) else {
      return nil
    }
    known = now
    var happened: DispatchSource.FileSystemEvent = []
    if now.isRegular, now.size > before.size { happened.insert(.extend) }
    if now.links != before.links { happened.insert(.link) }
    if now.links == 0, before.links != 0 { happened.insert(.delete) }
    return happened
  }

  /// - Returns: whether it is gone; once.
  @_optimize(size)
  private func tell(_ happened: DispatchSource.FileSystemEvent?) -> Bool {
    guard let happened else {
      defer { isGone = true }
      return !isGone
    }
    let data = happened.intersection(wanted)
    if isGone || data.isEmpty { return false }
    // pairs with: takeEvent – publishes what came before the change
    merged.bitwiseOr(data.rawValue, ordering: .releasing)
    fire()
    return false
  }

  // MARK: Delivery

  @_optimize(size)
  override func takeEvent() -> UInt? {
    // pairs with: tell – publishes what came before the change
    let data = merged.exchange(0, ordering: .acquiring)
    return data == 0 ? nil : data
  }
}
