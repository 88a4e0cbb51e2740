// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting
import Testing

@Suite("Traces of failures", .serialized, .timeLimit(.minutes(30)))
struct TraceTests {
  @Test(
    "A failure has a trace: a packet for each thread and for each of its last events, the same ones when it is replayed"
  )
  func tellsEvents() async {
    await #expect(processExitsWith: .success) {
      let failure = try unwrap(Simulation.explore { addTwice($0, onOneQueue: false) }.failure)
      let lines = failure.timeline.split(separator: "\n").count
      let packets = try unwrap(packets(failure.trace))
      try require(lines < 48 && packets.count > lines + 3, "\(packets.count) packets, \(lines) lines")
      let text = String(decoding: failure.trace, as: Unicode.ASCII.self)
      for word in ["a simulated run", "test", "gc-default-0", "first", "second", "yields", "virtual time"] {
        try require(text.contains(word), word)
      }
      let again = try unwrap(
        Simulation.explore(strategy: .replay(failure.token)) { addTwice($0, onOneQueue: false) }.failure)
      try require(again.trace == failure.trace)
    }
  }

  @Test("A label with more than one line, or with what moves a cursor, stays on its line")
  func labels() async {
    await #expect(processExitsWith: .success) {
      let report = Simulation.explore { sim in
        DispatchQueue(label: "two\nlines\u{1b}[2J").async {}
        sim.run()
        sim.expect(false)
      }
      let lines = try unwrap(report.failure).timeline.split(separator: "\n")
      try require(lines.contains { $0.hasSuffix(#"submits to "two\nlines\u{1B}[2J""#) }, "\(lines)")
      try require(lines.allSatisfy { $0.contains(" s  ") }, "\(lines)")
    }
  }

  @Test("A long run has its last events in the trace, and fewer of them in the timeline")
  func tellsLast() async {
    await #expect(processExitsWith: .success) {
      let report = Simulation.explore(runs: 1) { sim in
        let queue = DispatchQueue(label: "long")
        for _ in 0..<10_000 { queue.async {} }
        sim.run()
        sim.expect(false)
      }
      let failure = try unwrap(report.failure)
      try require(failure.timeline.split(separator: "\n").count == 48)
      let count = try unwrap(packets(failure.trace)).count
      try require((1 << 14..<1 << 14 + 64).contains(count), "\(count)")
    }
  }

  @Test("A failure without a schedule has none")
  func tellsNothing() {
    #expect(Simulation.explore(strategy: .replay("")) { _ in }.failure?.trace.isEmpty == true)
  }
}

/// The lengths of a trace's packets; nil if it is none.
private func packets(_ bytes: [UInt8]) -> [Int]? {
  var (rest, lengths) = (bytes[...], [Int]())
  while let tag = rest.popFirst() {
    var (length, shift) = (0, 0)
    while let byte = rest.popFirst() {
      length |= Int(byte & 0x7f) << shift
      shift += 7
      if byte < 0x80 { break }
    }
    if tag != 0x0a || length == 0 || length > rest.count { return nil }
    lengths.append(length)
    rest = rest.dropFirst(length)
  }
  return lengths
}
