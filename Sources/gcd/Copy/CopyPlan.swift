// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import IndexKit

/// What there is to copy, found by walking before anything is written.
struct CopyPlan {
  struct File: Sendable {
    let source: String
    let destination: String
    let about: stat
  }

  /// Folders in the order in which they can be made.
  private(set) var folders: [File] = []
  private(set) var files: [File] = []
  private(set) var links: [File] = []
  private(set) var problems: [Problem] = []

  /// - Parameter destination: The name of the copy itself.
  init(source: String, destination: String) {
    var about = stat()
    // A link that was named is followed, unless it leads nowhere.
    if stat(source, &about) != 0, lstat(source, &about) != 0 {
      problems.append(Problem(path: Path(source), code: errno))
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
      if isNamed { files.append(file) } else { problems.append(Problem(path: Path(file.source), code: EOPNOTSUPP)) }
    }
  }

  private mutating func walk(_ folder: File) {
    guard let handle = opendir(folder.source) else {
      problems.append(Problem(path: Path(folder.source), code: errno))
      return
    }
    defer { closedir(handle) }
    while let entry = readdir(handle) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name == "." || name == ".." { continue }
      var about = stat()
      let source = folder.source + "/" + name
      guard lstat(source, &about) == 0 else {
        problems.append(Problem(path: Path(source), code: errno))
        continue
      }
      add(File(source: source, destination: folder.destination + "/" + name, about: about), isNamed: false)
    }
  }
}
