// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// Names as channels want them.
enum AbsolutePath {
  /// `path` from the root on, seen from the current folder.
  static func of(_ path: String) -> String {
    if path.hasPrefix("/") { return path }
    guard let folder = getcwd(nil, 0) else { return "/" + path }
    defer { free(folder) }
    return String(cString: folder) + "/" + path
  }

  /// The last part of a path; nil if it has none that could be a name.
  static func name(of path: String) -> String? {
    guard let last = path.split(separator: "/").last, last != ".", last != ".." else { return nil }
    return String(last)
  }
}
