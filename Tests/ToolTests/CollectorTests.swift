// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc
import Testing

@testable import gcd

@Suite("The collector of a trace: processes and switches")
struct CollectorTests {
  private func items(_ count: Int) -> [gc_insight_record] {
    let now = RegionClock.now().counter
    return (0..<count).map {
      MadeUpRegion.record(Int(GC_RECORD_ITEM), at: now - 1_000_000 + UInt64($0) * 1_000, length: 500, queue: 1)
    }
  }

  @Test("a process that has another number for itself, in a container, is one process in its trace")
  func container() throws {
    var made = MadeUpRegion(process: 7)
    made.chunk(0, 0, 10, items(3))
    let trace = try MadeUpTrace.collect(try made.reader())
    let tracks = trace.tracks.values.filter { $0.kind == .process || $0.kind == .thread }
    #expect(tracks.count == 2 && tracks.allSatisfy { $0.process == UInt64(getpid()) })
  }

  @Test("what the environment asks for is read where the process has its number here")
  func environment() throws {
    let process = ToolProcess(
      [], shell: "exec \"${0%/*}/traced\" steady", environment: ["GRANDCENTRAL_RECORD=ring"])
    defer {
      kill(process.identifier, SIGKILL)
      _ = process.wait()
    }
    #expect(process.read { output, _ in output == "begun\n" })
    var made = MadeUpRegion(process: getpid())
    made.head.switches = UInt32(GC_SWITCH_RECORD | GC_SWITCH_COLLECT)
    made.head.heartbeat = 1
    let region = try made.reader()
    region.dropLeftovers(of: process.identifier)
    #expect(region.switches == UInt32(GC_SWITCH_RECORD))
  }
}
