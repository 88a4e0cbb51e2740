// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

@testable import GrandCentral

private typealias Event = DispatchSource.MemoryPressureEvent

/// A source with all that it has told of.
private final class Watcher: Sendable {
  let source: any DispatchSourceMemoryPressure
  let seen = Recorder<Event>()
  let cancelled = Latch()
  private let registered = Latch()

  init(_ setup: MemoryPressureSource.Setup, _ mask: Event = .all, then: @escaping @Sendable () -> Void = {}) {
    source = MemoryPressureSource(setup, mask: mask.rawValue, queue: DispatchQueue(label: "pressure"))
    source.setRegistrationHandler { [registered] in registered.open() }
    source.setEventHandler { [unowned source, seen] in
      then()
      seen.note(source.data)
    }
    source.setCancelHandler { [cancelled] in cancelled.open() }
  }

  func start() {
    source.activate()
    #expect(registered.wait())
  }

  func end() {
    source.cancel()
    #expect(cancelled.wait())
  }
}

@Suite("A memory pressure source")
struct MemoryPressureSourceTests {
  @Test("S14: has Darwin's names and values")
  func values() {
    #expect(Event.normal.rawValue == 1 && Event.warning.rawValue == 2 && Event.critical.rawValue == 4)
    #expect(Event.all.rawValue == 7)
    let source = DispatchSource.makeMemoryPressureSource(eventMask: [.warning, .critical], queue: nil)
    let mask: Event = source.mask
    #expect(mask == [.warning, .critical])
    #expect((source as any DispatchSourceProtocol).handle == 0)
    source.cancel()
  }

  @Test("S14: fires at each change of the level, in the group as on the machine")
  func levels() {
    let kernel = FakeKernel()
    defer { kernel.remove() }
    kernel.setMachine(left: 90)
    kernel.setGroup(used: 100)
    let watcher = Watcher(kernel.setup())
    watcher.start()
    kernel.setGroup(used: 930)
    waitFor { watcher.seen.values == [.warning] }
    kernel.setGroup(used: 990)
    waitFor { watcher.seen.values == [.warning, .critical] }
    kernel.setGroup(used: 990, cache: 900)
    waitFor { watcher.seen.values == [.warning, .critical, .normal] }
    kernel.setMachine(left: 1)
    waitFor { watcher.seen.values == [.warning, .critical, .normal, .critical] }
    kernel.setMachine(left: 8)
    waitFor { watcher.seen.values == [.warning, .critical, .normal, .critical, .warning] }
    kernel.setMachine(left: 80)
    waitFor { watcher.seen.values == [.warning, .critical, .normal, .critical, .warning, .normal] }
    watcher.end()
  }

  @Test("S14: fires for the levels in its mask alone")
  func masked() {
    let kernel = FakeKernel()
    defer { kernel.remove() }
    kernel.setMachine(left: 90)
    let (critical, all) = (Watcher(kernel.setup(), .critical), Watcher(kernel.setup()))
    critical.start()
    all.start()
    for left in [8, 90, 2, 90] {
      let count = all.seen.count
      kernel.setMachine(left: left)
      waitFor { all.seen.count == count + 1 }
      if left == 2 { waitFor { critical.seen.count == 1 } }
    }
    critical.end()
    all.end()
    #expect(all.seen.values == [.warning, .normal, .critical, .normal])
    #expect(critical.seen.values == [.critical])
  }

  @Test("S14: fires at once if memory is short when it is activated")
  func atOnce() {
    let kernel = FakeKernel()
    defer { kernel.remove() }
    kernel.setMachine(left: 5)
    let watcher = Watcher(kernel.setup())
    watcher.start()
    waitFor { watcher.seen.values == [.warning] }
    watcher.end()
  }

  @Test("S2: suspended, it keeps quiet, and tells of the level that there is when it is resumed")
  func suspended() {
    let kernel = FakeKernel()
    defer { kernel.remove() }
    kernel.setMachine(left: 90)
    let (watcher, witness) = (Watcher(kernel.setup()), Watcher(kernel.setup()))
    watcher.start()
    witness.start()
    watcher.source.suspend()
    for (left, level) in [(2, Event.critical), (90, .normal), (8, .warning)] {
      kernel.setMachine(left: left)
      waitFor { witness.seen.values.last == level }
    }
    #expect(watcher.seen.values == [])
    watcher.source.resume()
    waitFor { watcher.seen.values == [.warning] }
    watcher.end()
    witness.end()
  }

  @Test(
    "S14: fires when the kernel's trigger does, and again when that has not been repeated for a while",
    arguments: [(PressureFiles.Stall.some, 2), (.full, 4)] as [(PressureFiles.Stall, UInt)])
  func triggered(stall: PressureFiles.Stall, level: UInt) {
    let kernel = FakeKernel()
    defer { kernel.remove() }
    kernel.setMachine(left: 90)
    // Data out of band are exceptional to a poller, as a trigger is.
    let ends = Ends.socketPair()
    let watcher = Watcher(kernel.setup([(stall, ends.reading)])) {
      var byte: UInt8 = 0
      _ = recv(ends.reading, &byte, 1, Int32(MSG_OOB))
    }
    watcher.start()
    for round in 1...2 {
      #expect(send(ends.writing, "x", 1, Int32(MSG_OOB)) == 1)
      waitFor { watcher.seen.count == 2 * round }
    }
    watcher.end()
    let expected: [Event] = [Event(rawValue: level), .normal, Event(rawValue: level), .normal]
    #expect(watcher.seen.values == expected)
    // The source has closed its end.
    #expect(Kernel.waitForHangUp(ends.writing))
    close(ends.writing)
  }

  @Test("S14: looks by itself when its trigger is lost, and does not before")
  func lostTrigger() {
    let kernel = FakeKernel()
    defer { kernel.remove() }
    kernel.setMachine(left: 90)
    let (ends, witness) = (Ends.pipe(), Watcher(kernel.setup()))
    let watcher = Watcher(kernel.setup([(.some, ends.writing)]))
    watcher.start()
    witness.start()
    kernel.setMachine(left: 8)
    waitFor { witness.seen.values == [.warning] }
    kernel.setMachine(left: 90)
    waitFor { witness.seen.values == [.warning, .normal] }
    #expect(watcher.seen.values == [])
    // A pipe without a reader is an error to a poller, as is the trigger of a group that is no more.
    close(ends.reading)
    for (left, level) in [(8, Event.warning), (90, .normal), (2, .critical)] {
      kernel.setMachine(left: left)
      waitFor { watcher.seen.values.last == level }
    }
    watcher.end()
    witness.end()
    #expect(watcher.seen.values == [.warning, .normal, .critical])
  }

  @Test("S14: is cancelled if nothing tells of memory")
  func nothing() {
    let kernel = FakeKernel()
    defer { kernel.remove() }
    let watcher = Watcher(kernel.setup())
    watcher.source.activate()
    #expect(watcher.cancelled.wait())
    #expect(watcher.source.isCancelled && watcher.seen.values == [])
  }

  @Test("S4: ends while it looks all the time, its cancel handler last")
  func cancelled() {
    let kernel = FakeKernel()
    defer { kernel.remove() }
    kernel.setMachine(left: 90)
    for round in 0..<50 {
      var setup = kernel.setup()
      setup.thresholds.calmPeriod = 1
      let watcher = Watcher(setup)
      watcher.start()
      if round % 2 == 0 { kernel.setMachine(left: round % 4 == 0 ? 2 : 90) }
      watcher.end()
      let count = watcher.seen.count
      watcher.source.setTarget(queue: nil)
      #expect(watcher.seen.count == count)
    }
  }

  @Test("S14: watches the real machine", .enabled(if: access("/proc/meminfo", R_OK) == 0, "no /proc"))
  func realMachine() {
    let source = DispatchSource.makeMemoryPressureSource(eventMask: .all, queue: .global())
    let (registered, cancelled, levels) = (Latch(), Latch(), Recorder<Event>())
    source.setRegistrationHandler { registered.open() }
    source.setEventHandler { levels.note(source.data) }
    source.setCancelHandler { cancelled.open() }
    source.activate()
    #expect(registered.wait())
    #expect(!source.isCancelled)
    source.cancel()
    #expect(cancelled.wait())
    // A machine that is short of memory may well run tests.
    #expect(levels.values.allSatisfy { [Event.normal, .warning, .critical].contains($0) })
  }
}

/// A control group of version 2 below the process's own, made for a test.
private struct RealGroup {
  let path: String

  init?() {
    guard let own = PressureFiles().groups.last else { return nil }
    path = own + "/gc-test-\(getpid())-\(monotonicNanoseconds())"
    if mkdir(path, 0o755) != 0 { return nil }
  }

  func remove() { rmdir(path) }

  /// Whether groups may be made, and tell of pressure.
  static let isPermitted: Bool = {
    guard let group = RealGroup() else { return false }
    defer { group.remove() }
    return access(group.path + "/memory.pressure", W_OK) == 0
  }()
}

@Suite(
  "A memory pressure source in a real control group",
  .enabled(if: RealGroup.isPermitted, "no control groups of version 2 with pressure files may be made here"))
struct MemoryPressureGroupTests {
  @Test("S14: the group's trigger is taken, silent, and reports an error once the group is gone, which ends it")
  func groupTrigger() throws {
    let group = try #require(RealGroup())
    let kernel = FakeKernel(realGroup: group.path)
    defer { kernel.remove() }
    kernel.setMachine(left: 90)
    // Without the machine's own file under this root the triggers can be the group's only.
    var setup = kernel.setup()
    setup.triggers = nil
    let (watcher, witness) = (Watcher(setup), Watcher(kernel.setup()))
    watcher.start()
    witness.start()
    for (left, level) in [(8, Event.warning), (90, .normal)] {
      kernel.setMachine(left: left)
      waitFor { witness.seen.values.last == level }
    }
    #expect(watcher.seen.values == [])
    group.remove()
    kernel.setMachine(left: 8)
    waitFor { watcher.seen.values == [.warning] }
    kernel.setMachine(left: 90)
    waitFor { watcher.seen.values == [.warning, .normal] }
    kernel.setMachine(left: 2)
    waitFor { watcher.seen.values == [.warning, .normal, .critical] }
    watcher.end()
    witness.end()
  }
}
