// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

@testable import gcd

/// A real folder that vanishes with the value. The names of files and folders are exact text.
struct TemporaryFolder: ~Copyable {
  let path: String

  init() {
    var template = Array("/tmp/gcd-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { fatalError("no temporary folder: \(errno)") }
    path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  deinit { Self.remove(Path(path)) }

  func file(_ name: String, _ contents: [UInt8]) {
    let descriptor = Path(exactly: path + "/" + name).withCString {
      open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    }
    guard descriptor >= 0 else { fatalError("cannot create \(name): \(errno)") }
    defer { close(descriptor) }
    var rest = contents[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { fatalError("cannot write \(name): \(errno)") }
      rest = rest.dropFirst(count)
    }
  }

  func file(_ name: String, _ text: String) { file(name, Array(text.utf8)) }

  func folder(_ name: String) {
    guard Path(exactly: path + "/" + name).withCString({ mkdir($0, 0o755) }) == 0 else {
      fatalError("cannot create \(name): \(errno)")
    }
  }

  func link(_ name: String, to target: String) {
    guard symlink(target, path + "/" + name) == 0 else { fatalError("cannot link \(name): \(errno)") }
  }

  func hardLink(_ name: String, to target: String) {
    guard Glibc.link(path + "/" + target, path + "/" + name) == 0 else { fatalError("cannot link \(name): \(errno)") }
  }

  func fifo(_ name: String) {
    guard mkfifo(path + "/" + name, 0o644) == 0 else { fatalError("cannot create \(name): \(errno)") }
  }

  private static func remove(_ path: Path) {
    guard let stream = path.withCString({ opendir($0) }) else {
      _ = path.withCString { unlink($0) }
      return
    }
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
      if name == Array(".".utf8) || name == Array("..".utf8) { continue }
      let child = name.withUnsafeBufferPointer { path.appending($0) }
      if child.withCString({ unlink($0) }) != 0 { remove(child) }
    }
    closedir(stream)
    _ = path.withCString { rmdir($0) }
  }
}
