// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A watched file or folder, and where it is in the tree.
final class WatchedObject: @unchecked Sendable {  // why: touched on the ledger's queue only
  /// What a folder held when it was last looked at.
  struct Entry {
    let inode: UInt
    /// nil if the entry is not watched: links, sockets and the like, what cannot be read, and what is beyond the limit.
    let object: WatchedObject?
  }

  let file: OpenFile
  let isListed: Bool
  /// The path that was asked for.
  let isTop: Bool
  var isBeingCompared = false
  /// How it came, if that has not been told yet.
  var news: [Change.Event] = []
  var watcher: FileWatcher?
  var entries: [Path: Entry] = [:]
  /// nil for the top, and for what has just been taken off its folder.
  private(set) var folder: WatchedObject?
  private var name: Path

  init(top path: Path, _ file: OpenFile) {
    self.file = file
    isTop = true
    isListed = file.kind == .folder
    name = path
  }

  init(_ name: Path, in folder: WatchedObject, _ file: OpenFile, isListed: Bool) {
    self.file = file
    isTop = false
    self.isListed = isListed && file.kind == .folder
    self.folder = folder
    self.name = name
  }

  /// The path now, or the last one.
  var path: Path { folder?.path.appending(name) ?? name }

  var isInPlace: Bool { folder.map { $0.file.names(name, file) } ?? false }

  /// Takes it off its folder, whose entry is the caller's business.
  func detach() {
    name = path
    folder = nil
  }

  /// Takes it off its folder's entries.
  func leave() {
    folder?.entries[name] = nil
    detach()
  }

  func attach(to folder: WatchedObject, as name: Path) {
    self.folder = folder
    self.name = name
  }
}
