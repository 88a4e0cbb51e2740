// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import IndexKit

/// Names as channels want them, and their parts.
enum AbsolutePath {
  private static let slash = UInt8(ascii: "/")

  /// `path` from the root on, seen from the current folder.
  static func of(_ path: Path) -> Path {
    if path.bytes.first == slash { return path }
    guard let folder = getcwd(nil, 0) else { return Path(bytes: [slash] + path.bytes) }
    defer { free(folder) }
    let name = UnsafeRawBufferPointer(start: folder, count: strlen(folder))
    return Path(bytes: Array(name) + [slash] + path.bytes)
  }

  /// The last part of a path; nil if it has none that could be a name.
  static func name(of path: Path) -> [UInt8]? {
    guard let last = path.bytes.split(separator: slash).last, last != [0x2e], last != [0x2e, 0x2e] else { return nil }
    return Array(last)
  }

  /// The last part of a path that is text.
  static func name(of path: String) -> String? { name(of: Path(path)).map { String(decoding: $0, as: UTF8.self) } }

  /// The folder that an absolute path is in; nil for the root.
  static func folder(of path: Path) -> Path? {
    var bytes = path.bytes[...]
    while bytes.last == slash { bytes.removeLast() }
    guard let end = bytes.lastIndex(of: slash) else { return nil }
    return Path(bytes: end == 0 ? [slash] : Array(bytes[..<end]))
  }
}

extension Path {
  func status(follows: Bool = true) -> stat? {
    var about = stat()
    return withCString { follows ? stat($0, &about) : lstat($0, &about) } == 0 ? about : nil
  }

  func appending(name: [UInt8]) -> Path { name.withUnsafeBufferPointer { appending($0) } }
}
