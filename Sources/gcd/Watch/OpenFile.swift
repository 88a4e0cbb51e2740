// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// Which file it is, whatever its name.
struct FileIdentity: Hashable, Sendable {
  let device: UInt
  let inode: UInt

  init(device: UInt, inode: UInt) {
    self.device = device
    self.inode = inode
  }

  init(_ status: stat) {
    self.init(device: UInt(status.st_dev), inode: UInt(status.st_ino))
  }

  /// The file that a path leads to now.
  init?(at path: Path) {
    var status = stat()
    guard path.withCString({ stat($0, &status) }) == 0 else { return nil }
    self.init(status)
  }
}

/// A file or folder that is open to be watched. While it is open its inode number is not given to another file.
struct OpenFile: Sendable {
  enum Kind {
    case file, folder, other
  }

  let descriptor: Int32
  let identity: FileIdentity
  let kind: Kind

  /// Opens what a path leads to.
  init(_ path: Path) throws(Problem) {
    do { try self.init(Self.here, path, follows: true) } catch { throw Problem(path: path, code: error.code) }
  }

  /// Opens an entry of a folder; a link is not followed.
  init(_ name: Path, in folder: OpenFile) throws(Problem) {
    try self.init(folder.descriptor, name, follows: false)
  }

  private static let here = AT_FDCWD
  /// O_PATH, which Swift does not import.
  private static let locationOnly: Int32 = 0o10_000_000

  private init(_ folder: Int32, _ path: Path, follows: Bool) throws(Problem) {
    // O_PATH needs no right to the content, and does not block on a FIFO without a writer.
    let flags = Self.locationOnly | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW)
    let opened = path.withCString { openat(folder, $0, flags) }
    if opened < 0 { throw Problem(path: path, code: errno) }
    var status = stat()
    fstat(opened, &status)
    descriptor = opened
    identity = FileIdentity(status)
    switch status.st_mode & S_IFMT {
    case S_IFREG: kind = .file
    case S_IFDIR: kind = .folder
    default: kind = .other
    }
  }

  func close() { _ = Glibc.close(descriptor) }

  /// Whether the kernel lets us watch it; what cannot be read cannot be watched.
  var isReadable: Bool { faccessat(AT_FDCWD, place, R_OK, AT_EACCESS) == 0 }

  /// The path that leads to it now; nil if it has lost the name that it was opened by.
  var currentPath: Path? {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_nlink > 0 else { return nil }
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
      count = buffer.withMemoryRebound(to: CChar.self) { max(0, readlink(place, $0.baseAddress!, $0.count)) }
    }
    let path = Path(bytes: bytes)
    // The kernel appends a note to a name that is gone; such a path leads nowhere.
    return FileIdentity(at: path) == identity ? path : nil
  }

  private var place: String { "/proc/self/fd/\(descriptor)" }

  // MARK: Folders

  struct Entry {
    let name: Path
    let inode: UInt
    let isWatchable: Bool
  }

  /// What is in the folder, nothing if it was removed; nil if it cannot be read.
  func entries() -> [Entry]? {
    let readable = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if readable < 0 { return errno == ENOENT ? [] : nil }
    guard let stream = fdopendir(readable) else {
      _ = Glibc.close(readable)
      return nil
    }
    defer { closedir(stream) }
    var entries: [Entry] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else { return errno == 0 || errno == ENOENT ? entries : nil }
      // unsafe: the name ends with a NUL, and is used before the next readdir.
      let name = UnsafeRawPointer(entry).advanced(by: Self.nameOffset).assumingMemoryBound(to: CChar.self)
      let bytes = UnsafeRawBufferPointer(start: name, count: strlen(name))
      if bytes.elementsEqual(".".utf8) || bytes.elementsEqual("..".utf8) { continue }
      let kind = Int(entry.pointee.d_type)
      entries.append(
        Entry(
          name: Path(bytes: Array(bytes)), inode: UInt(entry.pointee.d_ino),
          isWatchable: [Int(DT_REG), Int(DT_DIR), Int(DT_UNKNOWN)].contains(kind)))
    }
  }

  /// Whether `name` in this folder is `file`.
  func names(_ name: Path, _ file: OpenFile) -> Bool {
    var status = stat()
    let result = name.withCString { fstatat(descriptor, $0, &status, AT_SYMLINK_NOFOLLOW) }
    return result == 0 && FileIdentity(status) == file.identity
  }

  private static let nameOffset = MemoryLayout<dirent>.offset(of: \dirent.d_name)!
}

extension Problem: Error {}

extension Path {
  /// The path of `name` in this folder.
  func appending(_ name: Path) -> Path { name.bytes.withUnsafeBufferPointer { appending($0) } }

  /// The folder that the last name lies in; nil if the last name is no name, but a place: "/", ".", "..".
  var folder: Path? {
    var rest = bytes[...]
    while rest.last == UInt8(ascii: "/") { rest.removeLast() }
    let name = rest.reversed().prefix { $0 != UInt8(ascii: "/") }
    if name.isEmpty || name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) { return nil }
    rest.removeLast(name.count)
    if rest.isEmpty { return Path(".") }
    while rest.count > 1, rest.last == UInt8(ascii: "/") { rest.removeLast() }
    return Path(bytes: Array(rest))
  }
}
