// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// A kernel object that tells what happens to files and folders, each known by its inode.
struct Inotify: ~Copyable, Sendable {
  /// What to watch for, and what has happened.
  struct Events: OptionSet, Sendable {
    let rawValue: UInt32

    static let modified = Events(rawValue: UInt32(GC_IN_MODIFY))
    /// Owner, mode, times, or the number of names.
    static let attributes = Events(rawValue: UInt32(GC_IN_ATTRIB))
    static let entryCreated = Events(rawValue: UInt32(GC_IN_CREATE))
    static let entryDeleted = Events(rawValue: UInt32(GC_IN_DELETE))
    static let entryMovedAway = Events(rawValue: UInt32(GC_IN_MOVED_FROM))
    static let entryMovedHere = Events(rawValue: UInt32(GC_IN_MOVED_TO))
    static let moved = Events(rawValue: UInt32(GC_IN_MOVE_SELF))
    /// Reported without being asked for.
    static let unmounted = Events(rawValue: UInt32(GC_IN_UNMOUNT))
    /// Events were lost; belongs to no watch. Reported without being asked for.
    static let overflow = Events(rawValue: UInt32(GC_IN_Q_OVERFLOW))
    /// The watch's last event. Reported without being asked for.
    static let ignored = Events(rawValue: UInt32(GC_IN_IGNORED))

    /// All that changes what a folder has.
    static let entries: Events = [.entryCreated, .entryDeleted, .entryMovedAway, .entryMovedHere]
  }

  /// What the kernel has written.
  struct Event {
    let watch: Int32
    let happened: Events
    /// Whether it happened to an entry of the watched folder rather than to the folder.
    let isOfEntry: Bool
  }

  let descriptor: FileDescriptor

  /// The descriptor, or why the kernel makes none: `.descriptorsExhausted` also stands for the user's limit of them.
  static func make() -> Result<Int32, Errno> {
    let made = gc_inotify_create()
    if let error = Errno(result: Int(made)) { return .failure(error) }
    return .success(made)
  }

  init(owning raw: Int32) { descriptor = FileDescriptor(owning: raw) }

  /// Watches the file that `file` is open on: its number, the same for the same inode. Events add up.
  borrowing func watch(_ file: Int32, _ events: Events) -> Result<Int32, Errno> {
    Self.number(gc_inotify_add(descriptor.raw, file, false, events.rawValue))
  }

  /// Watches the folder that the folder `file` lies in.
  borrowing func watchParent(of file: Int32, _ events: Events) -> Result<Int32, Errno> {
    Self.number(gc_inotify_add(descriptor.raw, file, true, events.rawValue))
  }

  private static func number(_ result: Int32) -> Result<Int32, Errno> {
    if let error = Errno(result: Int(result)) { return .failure(error) }
    return .success(result)
  }

  /// Ends a watch; events that wait already still come, and an `ignored` after them.
  borrowing func unwatch(_ number: Int32) { _ = gc_inotify_remove(descriptor.raw, number) }

  /// Closes the descriptor: the end of a list that is never released.
  borrowing func abandon() { _ = gc_close(descriptor.raw) }

  /// Calls `body` with the events that wait and fit into `buffer`.
  ///
  /// - Returns: whether there were any.
  borrowing func read(into buffer: UnsafeMutableRawBufferPointer, _ body: (Event) -> Void) -> Bool {
    let count = descriptor.read(into: buffer)
    let bytes = UnsafeRawBufferPointer(buffer)
    var offset = 0
    // unsafe: the kernel writes whole events: watch, bits, cookie, length of the name, name.
    while offset + 16 <= count {
      let length = Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
      body(
        Event(
          watch: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self),
          happened: Events(rawValue: bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)),
          isOfEntry: length > 0))
      offset += 16 + length
    }
    return count > 0
  }
}

/// What is known of an open file.
struct FileStatus: Equatable {
  let device: UInt64
  let inode: UInt64
  let size: UInt64
  /// How many names it has.
  let links: UInt64
  let isDirectory: Bool
  let isRegular: Bool

  static func of(_ descriptor: Int32) -> Result<FileStatus, Errno> {
    var found = gc_file_status()
    if let error = Errno(result: Int(gc_file_status_of(descriptor, &found))) { return .failure(error) }
    return .success(
      FileStatus(
        device: found.device, inode: found.inode, size: found.size, links: found.links, isDirectory: found.is_directory,
        isRegular: found.is_regular))
  }

  /// Whether both are about one file.
  func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }
}
