// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import gcd

/// A library that the tool takes for the one that simulates. A program that runs on it tells nothing of its run.
enum MadeUpLibrary {
  /// The path of one in the folder: the toolchain's, with the name of a variable by which the tool knows one that simulates.
  static func make(in folder: borrowing TemporaryFolder) throws -> String {
    let path = try #require(loaded)
    let original = try #require(MappedFile(path))
    let bytes = try #require(original.bytes(at: 0, count: UInt64(original.count)))
    folder.file("libdispatch.so", bytes + Array("GRANDCENTRAL_SIMULATE_REPORT".utf8))
    // It looks for it beside itself.
    let other = "libBlocksRuntime.so"
    folder.link(other, to: String(path.dropLast("libdispatch.so".count)) + other)
    return folder.path + "/libdispatch.so"
  }

  /// The toolchain's, which these tests use themselves, through the testing library.
  static let loaded: String? = {
    let maps = SmallPackage.text("/proc/self/maps") ?? ""
    let found = maps.split(separator: "\n").first { $0.hasSuffix("/libdispatch.so") }
    return found.flatMap { line in line.firstIndex(of: "/").map { String(line[$0...]) } }
  }()
}
