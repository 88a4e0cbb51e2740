// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import IndexKit

/// What there is to copy, found by walking before anything is written.
struct CopyPlan {
  struct File: Sendable {
    let source: Path
    let destination: Path
    let about: stat
  }

  /// Folders in the order in which they can be made.
  private(set) var folders: [File] = []
  private(set) var files: [File] = []
  private(set) var links: [File] = []
  private(set) var problems: [Problem] = []

  var isEmpty: Bool { folders.isEmpty && files.isEmpty && links.isEmpty }

  /// - Parameter destination: The name of the copy itself.
  init(source: Path, destination: Path) {
    var about = stat()
    // A link that was named is followed, unless it leads nowhere.
    if source.withCString({ stat($0, &about) }) != 0, source.withCString({ lstat($0, &about) }) != 0 {
      problems.append(Problem(path: source, code: errno))
      return
    }
    add(File(source: source, destination: destination, about: about), isNamed: true)
  }

  private mutating func add(_ file: File, isNamed: Bool) {
    switch file.about.st_mode & S_IFMT {
    case S_IFREG: files.append(file)
    case S_IFLNK: links.append(file)
    case S_IFDIR:
      folders.append(file)
      walk(file)
    default:
      if isNamed { files.append(file) } else { problems.append(Problem(path: file.source, code: EOPNOTSUPP)) }
    }
  }

  private mutating func walk(_ folder: File) {
    guard let handle = folder.source.withCString({ opendir($0) }) else {
      problems.append(Problem(path: folder.source, code: errno))
      return
    }
    defer { closedir(handle) }
    while let entry = readdir(handle) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      if name == [0x2e] || name == [0x2e, 0x2e] { continue }
      var about = stat()
      let source = folder.source.appending(name: name)
      guard source.withCString({ lstat($0, &about) }) == 0 else {
        problems.append(Problem(path: source, code: errno))
        continue
      }
      add(File(source: source, destination: folder.destination.appending(name: name), about: about), isNamed: false)
    }
  }
}
