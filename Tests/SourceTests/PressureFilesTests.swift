// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

@testable import GrandCentral

/// A folder with the files in which the kernel would tell of memory; the process is in the group `/box/app`.
struct FakeKernel: Sendable {
  let root: String
  var group: String { root + "/cg/box/app" }

  /// `realGroup` stands for `/box/app`, if given.
  init(realGroup: String? = nil) {
    var template = Array("/tmp/gc-pressure-XXXXXX".utf8CString)
    root = String(cString: mkdtemp(&template)!)
    for folder in ["/proc", "/proc/self", "/cg", "/cg/box"] { mkdir(root + folder, 0o700) }
    if let realGroup { symlink(realGroup, group) } else { mkdir(group, 0o700) }
    set("/proc/self/cgroup", "4:memory:/other\n0::/box/app\n")
    set("/proc/self/mountinfo", "31 24 0:26 / /cg rw,nosuid shared:9 - cgroup2 cgroup2 rw\n")
  }

  /// In one step: a look never meets half a file.
  func set(_ path: String, _ text: String) {
    let place = root + path
    let file = open(place + ".new", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    let bytes = Array(text.utf8)
    precondition(write(file, bytes, bytes.count) == bytes.count && close(file) == 0)
    precondition(rename(place + ".new", place) == 0)
  }

  /// The machine's memory left, in per cent.
  func setMachine(left: Int) {
    set("/proc/meminfo", "MemTotal:  1000000 kB\nMemFree: 7 kB\nMemAvailable:  \(left * 10000) kB\n")
  }

  /// The group's memory, of a limit of 1000.
  func setGroup(used: Int, cache: Int = 0, high: String = "max") {
    set("/cg/box/app/memory.stat", "anon 1\ninactive_file \(cache)\nactive_file 3\n")
    set("/cg/box/app/memory.max", "1000\n")
    set("/cg/box/app/memory.high", high + "\n")
    set("/cg/box/app/memory.current", "\(used)\n")
  }

  /// All that the tests have made; a link to a real group goes, the group stays.
  func remove() {
    var target: CChar = 0
    let isLink = readlink(group, &target, 1) > 0
    let names = ["current", "events", "high", "max", "pressure", "stat"]
    for folder in isLink ? ["/cg/box"] : ["/cg/box/app", "/cg/box"] {
      for name in names { unlink(root + folder + "/memory." + name) }
    }
    for path in ["/proc/meminfo", "/proc/pressure/memory", "/proc/self/cgroup", "/proc/self/mountinfo"] {
      unlink(root + path)
    }
    for path in ["/cg/box/app", "/cg/box", "/cg", "/proc/pressure", "/proc/self", "/proc", ""] {
      Glibc.remove(root + path)
    }
  }

  /// A source that looks at these files every other millisecond, or waits for `triggers`.
  func setup(_ triggers: [(PressureFiles.Stall, Int32)] = []) -> MemoryPressureSource.Setup {
    var thresholds = PressureThresholds()
    (thresholds.period, thresholds.calmPeriod, thresholds.stallLasts) = (1_000_000, 2_000_000, 20_000_000)
    return MemoryPressureSource.Setup(root: root, thresholds: thresholds, triggers: triggers)
  }
}

@Suite("Memory pressure, as the kernel's files tell it")
struct PressureFilesTests {
  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test("S14: the machine's is what is available of the total")
  func meminfo() {
    #expect(PressureFiles.left(meminfo: bytes("MemTotal: 400 kB\nMemFree: 1 kB\nMemAvailable:   100 kB\n")) == 250)
    #expect(PressureFiles.left(meminfo: bytes("MemAvailable: 0 kB\nMemTotal: 400 kB\n")) == 0)
    #expect(PressureFiles.left(meminfo: bytes("MemTotal: 400 kB\nMemFree: 100 kB\n")) == nil)
    #expect(PressureFiles.left(meminfo: bytes("MemTotal: 0 kB\nMemAvailable: 0 kB\n")) == nil)
    #expect(PressureFiles.left(meminfo: []) == nil)
    #expect(PressureFiles.left(10, of: .max) == 1000)
    #expect(PressureFiles.left(.max, of: .max) == 0)
    #expect(PressureFiles.left(0, of: 0) == 0)
  }

  @Test("S14: a group's is what is left below its limits, but for cache; the least of all counts")
  func groups() {
    let kernel = FakeKernel()
    defer { kernel.remove() }
    func reading() -> PressureFiles.Reading? { PressureFiles(root: kernel.root).read() }
    #expect(reading() == nil)
    kernel.setMachine(left: 70)
    #expect(reading() == PressureFiles.Reading(left: 700, leftUntilSlow: 1000))
    kernel.setGroup(used: 600)
    #expect(reading() == PressureFiles.Reading(left: 400, leftUntilSlow: 1000))
    kernel.setGroup(used: 600, cache: 200, high: "500")
    #expect(reading() == PressureFiles.Reading(left: 600, leftUntilSlow: 200))
    kernel.set("/cg/box/memory.current", "950\n")
    #expect(reading() == PressureFiles.Reading(left: 600, leftUntilSlow: 200))
    kernel.set("/cg/box/memory.max", "1000\n")
    #expect(reading() == PressureFiles.Reading(left: 50, leftUntilSlow: 200))
    #expect(PressureFiles(root: kernel.root).groups == [kernel.root + "/cg", kernel.root + "/cg/box", kernel.group])
    #expect(PressureFiles(root: kernel.root + "/nowhere").groups == [])
  }

  @Test("S14: a trigger is the group's own, or else the machine's")
  func triggers() {
    let kernel = FakeKernel()
    defer { kernel.remove() }
    let files = PressureFiles(root: kernel.root)
    if files.trigger(.some) != nil { Issue.record("out of nothing") }
    mkdir(kernel.root + "/proc/pressure", 0o700)
    kernel.set("/proc/pressure/memory", "")
    _ = files.trigger(.some)
    #expect(readText(kernel.root + "/proc/pressure/memory") == "some 200000 2000000\0")
    kernel.set("/cg/box/app/memory.pressure", "")
    _ = files.trigger(.full)
    #expect(readText(kernel.group + "/memory.pressure") == "full 200000 2000000\0")
    #expect(readText(kernel.root + "/proc/pressure/memory") == "some 200000 2000000\0")
  }

  @Test(
    "S14: the kernel takes our triggers, and is silent at first",
    .enabled(if: access("/proc/pressure/memory", W_OK) == 0, "the kernel has no pressure files that we may write to"),
    arguments: [PressureFiles.Stall.some, .full])
  func realTrigger(stall: PressureFiles.Stall) throws {
    let files = PressureFiles()
    guard let trigger = files.trigger(stall) else {
      Issue.record("refused")
      return
    }
    #expect(!Descriptor.isReady(trigger.raw, .error))
  }

  @Test("S14: the event file tells how often memory has run out")
  func events() {
    let kernel = FakeKernel()
    defer { kernel.remove() }
    if PressureFiles(root: kernel.root).events() != nil { Issue.record("out of nothing") }
    kernel.set("/cg/box/app/memory.events", "low 1\nhigh 2\nmax 3\noom 42\noom_kill 5\noom_group_kill 6\n")
    guard let file = PressureFiles(root: kernel.root).events() else {
      Issue.record("not found")
      return
    }
    #expect(PressureFiles.shortages(file.raw) == 42)
    #expect(PressureFiles.shortages(file.raw) == 42)
    #expect(PressureFiles.shortages(-1) == nil)
  }
}

@Suite("The level of memory pressure")
struct PressureGaugeTests {
  private static let second: UInt64 = 1_000_000_000

  @Test("S14: has hysteresis: what is left must grow by half before a level is over")
  func hysteresis() {
    var gauge = PressureGauge(PressureThresholds())
    let steps: [(left: Int, level: PressureLevel)] = [
      (1000, .normal), (100, .normal), (99, .warning), (100, .warning), (149, .warning), (150, .normal),
      (149, .normal), (40, .warning), (39, .critical), (40, .critical), (59, .critical), (60, .warning),
      (40, .warning), (0, .critical), (149, .warning), (0, .critical), (150, .normal), (0, .critical),
    ]
    for (index, step) in steps.enumerated() {
      let level = gauge.update(PressureFiles.Reading(left: step.left), at: 1)
      #expect(level == step.level, "step \(index)")
    }
    #expect(gauge.update(nil, at: 1) == .critical)
  }

  @Test("S14: a group that the kernel slows down is warned, and no more than that")
  func slow() {
    var gauge = PressureGauge(PressureThresholds())
    #expect(gauge.update(PressureFiles.Reading(left: 500, leftUntilSlow: 0), at: 1) == .warning)
    #expect(gauge.update(PressureFiles.Reading(left: 500, leftUntilSlow: 149), at: 1) == .warning)
    #expect(gauge.update(PressureFiles.Reading(left: 500, leftUntilSlow: 150), at: 1) == .normal)
  }

  @Test("S14: held up tasks count for five seconds, all of them more than some")
  func stalls() {
    let enough = PressureFiles.Reading()
    var gauge = PressureGauge(PressureThresholds())
    #expect(gauge.update(enough, at: 1) == .normal)
    gauge.noteSomeStalled(at: 10 * Self.second)
    #expect(gauge.update(enough, at: 10 * Self.second) == .warning)
    gauge.noteAllStalled(at: 12 * Self.second)
    #expect(gauge.update(enough, at: 12 * Self.second) == .critical)
    gauge.noteSomeStalled(at: 14 * Self.second)
    #expect(gauge.update(enough, at: 17 * Self.second - 1) == .critical)
    #expect(gauge.update(enough, at: 17 * Self.second) == .warning)
    #expect(gauge.update(PressureFiles.Reading(left: 0), at: 18 * Self.second) == .critical)
    #expect(gauge.update(enough, at: 19 * Self.second - 1) == .warning)
    #expect(gauge.update(enough, at: 19 * Self.second) == .normal)
  }
}
