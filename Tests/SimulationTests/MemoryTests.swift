// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import GrandCentralTesting
import Testing

@Suite("Memory of runs", .serialized, .timeLimit(.minutes(30)))
struct MemoryTests {
  /// How many bytes of the C library's heaps are allocated, as it says in XML: the sums are at the end.
  private static func allocated() throws -> Int {
    typealias Tell = @convention(c) (_ options: Int32, _ file: UnsafeMutablePointer<FILE>) -> Int32
    // unsafe: the C library's function, which Swift's module of it leaves out.
    let tell = unsafeBitCast(try unwrap(dlsym(nil, "malloc_info")), to: Tell.self)
    let file = try unwrap(tmpfile())
    defer { fclose(file) }
    try require(tell(0, file) == 0)
    var bytes = [UInt8](repeating: 0, count: ftell(file))
    rewind(file)
    try require(fread(&bytes, 1, bytes.count, file) == bytes.count)
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    func sum(_ beginning: String) throws -> Int {
      let line = try unwrap(lines.last { $0.hasPrefix(beginning) }, beginning)
      return try unwrap(line.split(separator: "\"").dropLast().last.flatMap { Int($0) }, String(line))
    }
    let free = try sum("<total type=\"fast\"") + sum("<total type=\"rest\"")
    return try sum("<system type=\"current\"") - free
  }

  @Test("V1: a run that has ended leaves no memory behind")
  func nothing() async {
    await #expect(processExitsWith: .success) {
      let runs = 8_000
      func grown(_ body: @escaping (Simulation) -> Void) throws -> Int {
        // What is made once, or kept for later runs, is there then.
        for _ in 0..<3 { _ = Simulation.explore(runs: 100, seed: 1, body) }
        let before = try Self.allocated()
        _ = Simulation.explore(runs: runs, seed: 1, body)
        return try Self.allocated() - before
      }
      // Half of the smallest block in each run. The C library calls the free blocks that a thread keeps for itself allocated: up to 26,000
      // bytes that come and go, whatever the number of runs. Without them (glibc.malloc.tcache_count=0) it says 2,000 at most, mostly 0.
      let empty = try grown { _ in }
      try require(empty < 16 * runs, "\(empty) bytes in \(runs) empty runs")
    }
  }
}
