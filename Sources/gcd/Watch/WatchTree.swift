// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral

// What a folder's source says is "something came, went or was renamed". What it was is found by comparing the entries with
// those known before:
//
// 1. An entry whose inode belongs to an object that is not where it was: a rename, from any watched folder. Objects are held
//    open, so no other file can have got the number.
// 2. Another entry that was not there: created. Its object is opened, and the news told once its source watches, so that
//    the listener can rely on hearing what comes next. A folder is compared with nothing then.
// 3. An entry that is not there any more: its object is looked for in the folder where its descriptor says it is now; if
//    that one is watched it is compared, which is case 1. Else it was moved away, or deleted.
//
// The sources of files tell what happens to their content. That a file was deleted may be told first by its own source or
// by its folder's: the folder is compared then, so that there is one way to find it.

/// All that is watched below one path.
final class WatchTree: @unchecked Sendable {  // why: touched on the ledger's queue only
  /// What the tree tells.
  struct Listener {
    let report: @Sendable (Change) -> Void
    /// The object at the top: its own events, and that it cannot be watched.
    let topHappened: @Sendable (DispatchSource.FileSystemEvent) -> Void
    let topFailed: @Sendable () -> Void
    /// The limit is reached.
    let isFull: @Sendable () -> Void
  }

  private let ledger: WatchLedger
  private let isRecursive: Bool
  private let listener: Listener
  private var known: [FileIdentity: WatchedObject] = [:]

  init(_ ledger: WatchLedger, isRecursive: Bool, _ listener: Listener) {
    self.ledger = ledger
    self.isRecursive = isRecursive
    self.listener = listener
  }

  // MARK: Objects

  /// Watches what a path leads to, and tells the news; without any, what is in it is not news either.
  func watch(top path: Path, _ file: OpenFile, news: [Change.Event]) -> WatchedObject {
    let object = WatchedObject(top: path, file)
    object.news = news
    watch(object, .all)
    return object
  }

  /// The object of a new entry; nil if it is not watched.
  private func object(
    of entry: OpenFile.Entry, in folder: WatchedObject, news: [Change.Event]
  ) -> WatchedObject? {
    guard entry.isWatchable, !ledger.isClosed else { return nil }
    guard !ledger.isFull else {
      listener.isFull()
      return nil
    }
    guard let file = try? OpenFile(entry.name, in: folder.file) else { return nil }
    guard file.kind != .other, file.isReadable else {
      if file.kind != .other { ledger.unreadable += 1 }
      file.close()
      return nil
    }
    let object = WatchedObject(entry.name, in: folder, file, isListed: isRecursive)
    object.news = news
    // The rest is found by comparing.
    let events: DispatchSource.FileSystemEvent =
      file.kind == .folder
      ? object.isListed ? [.write, .attrib, .revoke] : [.attrib, .revoke]
      : [.write, .extend, .attrib, .link, .delete, .revoke]
    watch(object, events)
    return object
  }

  private func watch(_ object: WatchedObject, _ events: DispatchSource.FileSystemEvent) {
    let isQuiet = object.news.isEmpty
    if known[object.file.identity] == nil { known[object.file.identity] = object }
    object.watcher = FileWatcher(
      object.file, events, ledger, begun: { self.hasBegun(object, $0, isQuiet: isQuiet) },
      happened: { self.happened(object, $0) })
  }

  private func hasBegun(_ object: WatchedObject, _ isWatched: Bool, isQuiet: Bool) {
    tellNews(of: object)
    if isWatched {
      compare(object, isQuiet: isQuiet)
    } else if object.isTop {
      listener.topFailed()
    } else {
      ledger.unreadable += 1
    }
  }

  /// Forgets an object and everything in it.
  func drop(_ object: WatchedObject) {
    object.watcher?.cancel()
    if known[object.file.identity] === object { known[object.file.identity] = nil }
    for entry in object.entries.values {
      if let inner = entry.object { drop(inner) }
    }
    object.entries = [:]
  }

  // MARK: Events

  private func happened(_ object: WatchedObject, _ data: DispatchSource.FileSystemEvent) {
    if object.isListed, !data.isDisjoint(with: [.write, .link, .delete]) { compare(object, isQuiet: false) }
    if object.isTop { return listener.topHappened(data) }
    if object.file.kind == .folder { return tell(object, data.intersection([.attrib, .revoke])) }
    guard data.contains(.delete) else { return tell(object, data) }
    tell(object, data.intersection([.write, .extend]))
    if let folder = object.folder { compare(folder, isQuiet: false) }
  }

  /// Reports how the object came, unless that has been done.
  func tellNews(of object: WatchedObject) {
    let news = object.news
    object.news = []
    if !news.isEmpty { listener.report(Change(object.path, news)) }
  }

  /// Reports what has happened to the object itself, if anything.
  func tell(_ object: WatchedObject, _ data: DispatchSource.FileSystemEvent) {
    if !data.isEmpty { listener.report(Change(object.path, data)) }
  }

  // MARK: Comparing

  /// Finds out what has happened to the entries of a folder.
  func compare(_ folder: WatchedObject, isQuiet: Bool) {
    // What comes while it is compared makes another event.
    guard folder.isListed, !folder.isBeingCompared, folder.watcher?.isCancelled != true,
      let listed = folder.file.entries()
    else { return }
    var gone = folder.entries
    var came: [OpenFile.Entry] = []
    for entry in listed {
      if gone[entry.name]?.inode == entry.inode { gone[entry.name] = nil } else { came.append(entry) }
    }
    if came.isEmpty, gone.isEmpty { return }
    folder.isBeingCompared = true
    defer { folder.isBeingCompared = false }
    for (name, entry) in gone {
      folder.entries[name] = nil
      guard let object = entry.object else { continue }
      tellNews(of: object)
      object.detach()
    }
    let names = Set(came.map { $0.name })
    let created = came.sorted { $0.name < $1.name }.filter { !move($0, to: folder) }
    var before: [Path: Change.Event] = [:]
    for (name, entry) in gone.sorted(by: { $0.key < $1.key }) {
      before[name] = lose(entry.object, from: folder, as: name, isReplaced: names.contains(name))
    }
    for entry in created { take(entry, in: folder, after: before[entry.name], isQuiet: isQuiet) }
  }

  /// Case 1, if it is.
  private func move(_ entry: OpenFile.Entry, to folder: WatchedObject) -> Bool {
    let identity = FileIdentity(device: folder.file.identity.device, inode: entry.inode)
    guard let object = known[identity], !object.isTop, !object.isInPlace else { return false }
    tellNews(of: object)
    let former = object.path
    object.leave()
    object.attach(to: folder, as: entry.name)
    folder.entries[entry.name] = WatchedObject.Entry(inode: entry.inode, object: object)
    listener.report(Change(object.path, [.rename], former: former))
    return true
  }

  /// Case 2.
  private func take(
    _ entry: OpenFile.Entry, in folder: WatchedObject, after before: Change.Event?, isQuiet: Bool
  ) {
    let news: [Change.Event] = isQuiet ? [] : (before.map { [$0] } ?? []) + [.create]
    let object = object(of: entry, in: folder, news: news)
    // The entry may have been replaced since the folder was read.
    let identity = object.map { $0.file.identity }
    let inode = identity?.device == folder.file.identity.device ? identity?.inode : nil
    folder.entries[entry.name] = WatchedObject.Entry(inode: inode ?? entry.inode, object: object)
    if object == nil, !news.isEmpty { listener.report(Change(folder.path.appending(entry.name), news)) }
  }

  /// Case 3.
  ///
  /// - Returns: what has become of it, unless it is still in the tree.
  private func lose(
    _ object: WatchedObject?, from folder: WatchedObject, as name: Path, isReplaced: Bool
  ) -> Change.Event? {
    let path = folder.path.appending(name)
    guard let object else {
      if !isReplaced { listener.report(Change(path, [.delete])) }
      return .delete
    }
    defer { if object.folder == nil { drop(object) } }
    if object.folder != nil { return nil }
    guard let latter = object.file.currentPath else {
      // What was in it was deleted first.
      compare(object, isQuiet: false)
      if !isReplaced { listener.report(Change(path, [.delete])) }
      return .delete
    }
    if let identity = latter.folder.flatMap({ FileIdentity(at: $0) }), let other = known[identity] {
      compare(other, isQuiet: false)
      if object.folder != nil { return nil }
    }
    if !isReplaced { listener.report(Change(path, [.rename], latter: latter)) }
    return .rename
  }
}
