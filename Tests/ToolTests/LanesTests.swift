// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc
import Testing

@testable import gcd

@Suite("Tracks side by side")
struct LanesTests {
  @Test("nothing overlaps on a track, and there are as many tracks as slices that overlap at once", arguments: 0..<5)
  func overlap(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var lanes = Lanes()
    var ends: [UInt64: UInt64] = [:]
    var open: [UInt64] = []
    var most = 0
    for round in 0..<1_000 as Range<UInt64> {
      let begin = round * 4
      let end = begin + UInt64.random(in: 1...800, using: &random)
      let track = lanes.take(from: begin, to: end) { UInt64(ends.count) }
      #expect(ends[track, default: 0] <= begin)
      ends[track] = end
      open = open.filter { $0 > begin } + [end]
      most = max(most, open.count)
    }
    #expect(most > 64 && ends.count == most)
  }

  @Test("one without an end keeps its track until it is closed")
  func close() {
    var lanes = Lanes()
    var made: UInt64 = 0
    let make: () -> UInt64 = {
      made += 1
      return made
    }
    let taken = (0..<100).map { _ in lanes.take(from: 1, to: .max, make: make) }
    #expect(taken == Array(1...100))
    lanes.close(57, at: 10)
    lanes.close(3, at: 8)
    #expect(lanes.take(from: 9, to: 20, make: make) == 3)
    #expect(lanes.take(from: 9, to: 20, make: make) == 101)
    #expect(lanes.take(from: 10, to: 20, make: make) == 57)
  }

  @Test("queues that live for a short time and have one label need as many names as live at once")
  func shortLived() throws {
    let folder = TemporaryFolder()
    var made = MadeUpRegion()
    for number in 1...2 { made.object(number, "request") }
    let region = try made.reader()
    let writer = PerfettoWriter(try TraceOutput(folder.path + "/trace"))
    let objects = TracedObjects(writer, region, process: getpid(), name: "program")
    let field = UInt64(MemoryLayout<gc_insight_object>.offset(of: \.made) ?? 0)
    var labels: Set<String> = []
    for round in 1...100 as ClosedRange<UInt64> {
      objects.begin()
      for number in 1...2 as ClosedRange<UInt32> {
        let place = made.head.objects.offset + UInt64(number) * UInt64(made.head.objects.stride)
        // The number is another queue's from now on.
        region.memory.store(round, at: place + field)
        labels.insert(objects.object(number).label)
      }
    }
    #expect(labels == ["request", "request (2)"])
    #expect(writer.name("another").number < 20)
  }
}
