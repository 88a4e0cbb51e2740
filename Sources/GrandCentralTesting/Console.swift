// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// Where failures are told of.
enum Console {
  static func write(_ text: String) { write(Array(text.utf8), to: STDERR_FILENO) }

  /// False with `errno` if not all of it could be written.
  @discardableResult
  static func write(_ bytes: [UInt8], to file: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      if count <= 0 { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
