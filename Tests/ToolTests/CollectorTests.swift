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

  private func collector(
    _ region: RegionReader, _ folder: borrowing TemporaryFolder, switched: UInt32 = 0
  ) throws -> Collector {
    let writer = PerfettoWriter(try TraceOutput(folder.path + "/trace"))
    return Collector(region, writer, number: 0, TracedProcess(running: getpid()), since: 0, switched: switched)
  }

  @Test("what a command's environment has switched on is switched off at the end, and what else is on stays on")
  func switches() throws {
    let folder = TemporaryFolder()
    var made = MadeUpRegion()
    let (record, collect) = (UInt32(GC_SWITCH_RECORD), UInt32(GC_SWITCH_COLLECT))
    let objects = UInt32(GC_SWITCH_OBJECTS)
    let all = record | objects | collect
    let cases: [(before: UInt32, switched: UInt32, after: UInt32)] = [
      (0, 0, 0), (objects, 0, objects), (all, all, 0), (all, record | collect, objects),
      (all, collect, record | objects),
    ]
    for (before, switched, after) in cases {
      made.head.switches = before
      let region = try made.reader()
      let collector = try collector(region, folder, switched: switched)
      collector.keepRecording()
      #expect(region.switches == all)
      collector.stopRecording()
      #expect(region.switches == after)
    }
  }

  @Test("K2: of two tools that begin at once one records; what a tool that was killed has left on is taken over")
  func twoTools() throws {
    let folder = TemporaryFolder()
    let all = UInt32(GC_SWITCH_RECORD | GC_SWITCH_OBJECTS | GC_SWITCH_COLLECT)
    var made = MadeUpRegion()
    let region = try made.reader()
    // Both have looked before one of them begins.
    let (first, second) = (try collector(region, folder), try collector(region, folder))
    #expect(first.beginAlone())
    #expect(!second.beginAlone() && region.switches == all)
    second.stopRecording()
    #expect(region.switches == all)
    // One that looks now finds the sign of life.
    let third = try collector(region, folder)
    #expect(!third.beginAlone())
    first.stopRecording()
    #expect(region.switches == 0)

    made.head.switches = UInt32(GC_SWITCH_COLLECT)
    made.head.heartbeat = 1
    let left = try made.reader()
    let heir = try collector(left, folder)
    #expect(heir.beginAlone() && left.switches == all)
  }

  @Test("where a process has stopped recording, as the tool was late, what was open ends there")
  func standstill() throws {
    let folder = TemporaryFolder()
    var made = MadeUpRegion()
    let begin = MadeUpRegion.record(Int(GC_RECORD_SYNC_BEGIN), at: RegionClock.now().counter - 1_000_000, queue: 1)
    made.chunk(0, 0, 10, [begin])
    let region = try made.reader()
    let output = try TraceOutput(folder.path + "/trace")
    let writer = PerfettoWriter(output)
    let collector = Collector(region, writer, number: 0, TracedProcess(running: getpid()), since: 0)
    collector.keepRecording()
    #expect(!collector.hasStoodStill && collector.taken == 0)
    // Objects alone are the program's own to switch off.
    region.switchOff(UInt32(GC_SWITCH_OBJECTS))
    collector.keepRecording()
    #expect(!collector.hasStoodStill && collector.taken == 0)
    // As the process does it.
    region.switchOff(UInt32(GC_SWITCH_RECORD | GC_SWITCH_OBJECTS | GC_SWITCH_COLLECT))
    collector.keepRecording()
    let resumed = RegionClock.now().uptime
    #expect(collector.hasStoodStill && collector.taken == 1)
    #expect(region.switches == UInt32(GC_SWITCH_RECORD | GC_SWITCH_OBJECTS | GC_SWITCH_COLLECT))
    collector.pass(isLast: true)
    collector.finish()
    let trace = MadeUpTrace(ProcessFile.bytes(folder.path + "/trace") ?? [])
    let syncs = trace.slices.filter { $0.category == "sync" }
    #expect(syncs.count == 1 && syncs.allSatisfy { $0.end <= resumed } && trace.unfinished == 0)
    #expect(collector.lost == 0)
  }

  @Test("no more records are taken than are wanted, also before a recording goes on")
  func standstillLimit() throws {
    let folder = TemporaryFolder()
    var made = MadeUpRegion()
    made.chunk(0, 0, 10, items(9))
    let region = try made.reader()
    let collector = try collector(region, folder)
    collector.keepRecording(limit: 4)
    region.switchOff(UInt32(GC_SWITCH_COLLECT))
    collector.keepRecording(limit: 4)
    #expect(collector.hasStoodStill && collector.taken == 4)
  }

  /// A process that this one has started.
  private func child(of parent: pid_t) -> pid_t? {
    guard let folder = opendir("/proc") else { return nil }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      guard let process = pid_t(name) else { continue }
      if KernelReading.text("/proc/\(process)/status").contains("\nPPid:\t\(parent)\n") { return process }
    }
    return nil
  }

  @Test("a command of which enough has been recorded goes on, and records no more")
  func afterwards() {
    let folder = TemporaryFolder()
    let line = "exec \"$0\" trace --count 100 -o trace -- \"${0%/*}/traced\" steady"
    let tool = ToolProcess([], shell: line, folder: folder.path)
    #expect(tool.read { output, _ in output == "begun\n" })
    let process = child(of: tool.identifier)
    #expect(process != nil)
    let switchedOff = process.flatMap { process in
      untilFound { try? RegionFinder.regions(of: process).first { $0.switches == 0 } }
    }
    #expect(switchedOff != nil)
    kill(process ?? tool.identifier, SIGKILL)
    #expect(tool.wait().code == -SIGKILL)
  }
}
