// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// Small files, read and written whole.
enum TextFile {
  struct Failure: Error {
    let path: String
    let code: Int32

    var words: String { "\(path): \(String(cString: strerror(code)))" }
  }

  /// Nil if there is none.
  static func read(_ path: String) throws(Failure) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    if file < 0 {
      if errno == ENOENT { return nil }
      throw Failure(path: path, code: errno)
    }
    defer { close(file) }
    var contents: [UInt8] = []
    while true {
      var problem: Int32 = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
        let result = Glibc.read(file, buffer.baseAddress, buffer.count)
        if result < 0 { problem = errno }
        count = max(0, result)
      }
      if problem == EINTR { continue }
      if problem != 0 { throw Failure(path: path, code: problem) }
      if bytes.isEmpty { return contents }
      contents += bytes
    }
  }

  /// Writes a new file, or replaces a file, as a whole.
  static func write(_ contents: [UInt8], to path: String, replaces: Bool) throws(Failure) {
    let folder = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
    var template = Array("\(folder)/.gcd-adopt-XXXXXX".utf8CString)
    let file = mkstemp(&template)
    guard file >= 0 else { throw Failure(path: path, code: errno) }
    let mask = umask(0)
    umask(mask)
    fchmod(file, 0o666 & ~mask)
    var code: Int32 = 0
    var rest = contents[...]
    while !rest.isEmpty, code == 0 {
      let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      if count < 0 { code = errno == EINTR ? 0 : errno } else { rest = rest.dropFirst(count) }
    }
    close(file)
    // A link is not made where there is a file by now.
    if code == 0, (replaces ? rename(&template, path) : link(&template, path)) != 0 { code = errno }
    unlink(&template)
    if code != 0 { throw Failure(path: path, code: code) }
  }

  static func remove(_ path: String) throws(Failure) {
    if unlink(path) != 0 { throw Failure(path: path, code: errno) }
  }
}
