// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// Finds all files below a folder. Symbolic links are not followed, so there are no loops; only the folder that is asked
/// for may be reached through one. One descriptor is open at a time, however deep the tree.
package struct FolderWalker {
  /// What the walk comes across.
  package enum Event {
    case file(Path, size: Int)
    case skipped(SpecialFile)
    case problem(Problem)
  }

  private var pending: [Path]
  private let visit: (Event) -> Void
  private let isCancelled: () -> Bool

  /// Visits everything below `root` (or `root` itself, if it is a file) until `isCancelled`.
  package static func walk(
    _ root: Path, isCancelled: @escaping () -> Bool = { false }, visit: @escaping (Event) -> Void
  ) {
    var walker = FolderWalker(pending: [], visit: visit, isCancelled: isCancelled)
    var status = stat()
    guard root.withCString({ stat($0, &status) }) == 0 else {
      return visit(.problem(Problem(path: root, code: errno)))
    }
    walker.meet(root, status)
    walker.run()
  }

  /// Why nothing below `root` can be seen; nil if it can.
  package static func obstacle(at root: Path) -> Problem? {
    let code = root.withCString { name -> Int32 in
      var status = stat()
      guard stat(name, &status) == 0 else { return errno }
      guard status.st_mode & S_IFMT == S_IFDIR else { return 0 }
      guard let stream = opendir(name) else { return errno }
      closedir(stream)
      return 0
    }
    return code == 0 ? nil : Problem(path: root, code: code)
  }

  private init(pending: [Path], visit: @escaping (Event) -> Void, isCancelled: @escaping () -> Bool) {
    self.pending = pending
    self.visit = visit
    self.isCancelled = isCancelled
  }

  private mutating func run() {
    while let folder = pending.popLast(), !isCancelled() {
      guard let stream = folder.withCString({ opendir($0) }) else {
        report(folder, errno)
        continue
      }
      list(folder, stream)
      closedir(stream)
    }
  }

  private mutating func list(_ folder: Path, _ stream: OpaquePointer) {
    while !isCancelled() {
      errno = 0
      guard let entry = readdir(stream) else {
        if errno != 0 { report(folder, errno) }
        return
      }
      // unsafe: the name ends with a NUL, and is used before the next readdir.
      let name = UnsafeRawPointer(entry).advanced(by: Self.nameOffset).assumingMemoryBound(to: CChar.self)
      let bytes = UnsafeRawBufferPointer(start: name, count: strlen(name)).assumingMemoryBound(to: UInt8.self)
      if bytes.elementsEqual([UInt8(ascii: ".")]) || bytes.elementsEqual([UInt8(ascii: "."), UInt8(ascii: ".")]) {
        continue
      }
      let path = folder.appending(bytes)
      look(at: path, named: name, in: dirfd(stream))
    }
  }

  private mutating func look(at path: Path, named name: UnsafePointer<CChar>, in folder: Int32) {
    var status = stat()
    guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return report(path, errno) }
    if status.st_mode & S_IFMT == S_IFLNK {
      var target = stat()
      // A link that leads nowhere, or round in a circle, is worth a word: somebody expects a file there.
      guard fstatat(folder, name, &target, 0) == 0 else { return report(path, errno) }
    }
    meet(path, status)
  }

  private mutating func meet(_ path: Path, _ status: stat) {
    switch status.st_mode & S_IFMT {
    case S_IFDIR: pending.append(path)
    case S_IFREG: visit(.file(path, size: Int(status.st_size)))
    default: visit(.skipped(SpecialFile(mode: status.st_mode)))
    }
  }

  private func report(_ path: Path, _ code: Int32) {
    visit(.problem(Problem(path: path, code: code)))
  }

  private static let nameOffset = MemoryLayout<dirent>.offset(of: \dirent.d_name)!
}

/// What is neither a file nor a folder, and is therefore not read.
package enum SpecialFile: String, CaseIterable, Sendable {
  case link
  case fifo
  case socket
  case device

  init(mode: mode_t) {
    switch mode & S_IFMT {
    case S_IFLNK: self = .link
    case S_IFIFO: self = .fifo
    case S_IFSOCK: self = .socket
    default: self = .device
    }
  }

  /// The kind in words, for `count` of them.
  package func name(_ count: Int) -> String {
    let one =
      switch self {
      case .link: "symbolic link"
      case .fifo: "FIFO"
      case .socket: "socket"
      case .device: "device"
      }
    return count == 1 ? one : one + "s"
  }
}
