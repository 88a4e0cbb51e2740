// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import GrandCentralTesting
import Synchronization
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

  /// Counts those that are there; does something at its end.
  private final class Kept: @unchecked Sendable {  // in a simulation one thread goes on at a time
    static let count = Atomic<Int>(0)
    private let atEnd: () -> Void

    init(atEnd: @escaping () -> Void = {}) {
      self.atEnd = atEnd
      // relaxed: a figure.
      Self.count.add(1, ordering: .relaxed)
    }

    func touch() {}

    deinit {
      // relaxed: a figure.
      Self.count.subtract(1, ordering: .relaxed)
      atEnd()
    }

    static func requireNone(_ text: String) throws {
      // relaxed: a figure.
      let count = count.load(ordering: .relaxed)
      try require(count == 0, "\(text): \(count) are left")
    }
  }

  @Test("V1: what asyncAfter has captured and not submitted goes with the run, also with one that has thrown")
  func delayed() async {
    await #expect(processExitsWith: .success) {
      let deadline = { DispatchTime.now() + .seconds(30) }
      let bodies: [(String, (Simulation) -> Void)] = [
        (
          "closure",
          { _ in
            let kept = Kept()
            DispatchQueue(label: "later").asyncAfter(deadline: deadline()) { kept.touch() }
          }
        ),
        (
          "wall clock, main queue",
          { _ in
            let kept = Kept()
            DispatchQueue.main.asyncAfter(wallDeadline: .now() + .seconds(30)) { kept.touch() }
          }
        ),
        (
          "item",
          { sim in
            let kept = Kept()
            let item = DispatchWorkItem { kept.touch() }
            for _ in 0..<3 { DispatchQueue.global().asyncAfter(deadline: deadline(), execute: item) }
            sim.advance(by: .seconds(1))
          }
        ),
        (
          "one that has fired",
          { sim in
            let kept = Kept()
            DispatchQueue.global().asyncAfter(deadline: deadline()) { kept.touch() }
            sim.run()
          }
        ),
      ]
      for (name, body) in bodies {
        for strategy in [Simulation.Strategy.random, .pct(depth: 3), .everyOrder(atMost: 20)] {
          let report = Simulation.explore(runs: 20, strategy: strategy, body)
          if let failure = report.failure { throw failure }
          try Kept.requireNone(name)
        }
        let failure = Simulation.explore(runs: 1) { sim in
          body(sim)
          throw Unexpected()
        }.failure
        try require(failure != nil)
        try Kept.requireNone(name + ", thrown")
      }
    }
  }

  @Test("V1: the end of what asyncAfter has captured may use the library: queues, timers, sources")
  func endsOfObjects() async {
    await #expect(processExitsWith: .success) {
      let runs = 50
      let (submitted, cancelled) = (Box(0), Box(0))
      let report = Simulation.explore(runs: runs, strategy: .random) { _ in
        let queue = DispatchQueue(label: "queue")
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1))
        timer.setEventHandler {}
        timer.setCancelHandler { cancelled.value += 1 }
        timer.resume()
        let kept = Kept {
          timer.cancel()
          queue.sync {}
          queue.async {
            DispatchQueue.main.async { submitted.value += 1 }
            let next = Kept {}
            queue.asyncAfter(deadline: .now() + .seconds(5)) { next.touch() }
          }
        }
        queue.asyncAfter(deadline: .now() + .seconds(30)) { kept.touch() }
      }
      if let failure = report.failure { throw failure }
      try require(report.timersLeft == 2, "\(report.timersLeft)")
      try require(submitted.value == runs && cancelled.value == runs, "\(submitted.value), \(cancelled.value)")
      try Kept.requireNone("objects")
      // One that sets a timer at its end, each time, does not keep the run from its own.
      final class Again: @unchecked Sendable {  // a run has one thread at a time
        deinit {
          let next = Again()
          DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(1)) { _ = next }
        }
      }
      let endless = Simulation.explore(runs: 3) { _ in _ = Again() }
      if let failure = endless.failure { throw failure }
    }
  }
}
