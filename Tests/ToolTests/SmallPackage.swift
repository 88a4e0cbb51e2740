// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// A real package with one target, for SwiftPM to describe.
final class SmallPackage {
  let folder = TemporaryFolder()

  var path: String { folder.path }

  init() {
    folder.file("Package.swift", Self.manifest("name: \"Small\", targets: [.target(name: \"One\")]"))
    folder.folder("Sources")
    folder.folder("Sources/One")
    folder.file("Sources/One/One.swift", "import Foundation\nlet queue = DispatchQueue.main\n")
  }

  static func manifest(_ package: String) -> String {
    "// swift-tools-version: 6.0\nimport PackageDescription\nlet package = Package(\(package))\n"
  }

  func adopt(_ options: [String]) -> ToolProcess.Result {
    ToolProcess.run(["adopt", "--package-path", path] + options, environment: Self.environment)
  }

  /// What SwiftPM needs, which the tool starts.
  static let environment = ["PATH", "HOME"].compactMap { name in
    getenv(name).map { name + "=" + String(cString: $0) }
  }

  /// Nil if there is no such file.
  func text(_ name: String) -> String? { Self.text(path + "/" + name) }

  static func text(_ path: String) -> String? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The files, but for what SwiftPM builds and what is hidden, in order.
  var files: [String] { Self.files(in: path).filter { !$0.hasPrefix(".") } }

  /// What is in them.
  var contents: [String: String?] {
    Dictionary(uniqueKeysWithValues: files.map { ($0, text($0)) })
  }

  /// All files below a folder, seen from there, in order.
  static func files(in folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var found: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(cString: bytes.baseAddress!.assumingMemoryBound(to: CChar.self))
      }
      if name == "." || name == ".." { continue }
      if entry.pointee.d_type == UInt8(DT_DIR) {
        found += files(in: folder + "/" + name).map { name + "/" + $0 }
      } else {
        found.append(name)
      }
    }
    return found.sorted()
  }
}
