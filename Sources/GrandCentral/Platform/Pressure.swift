// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// The files in which the kernel tells how short memory is, for the machine and for the process's control groups.
///
/// A file may be missing: each tells what it can. All paths stand under `root`, so that a test can bring its own files.
struct PressureFiles: Sendable {
  /// Put before every path; empty for the system's own files.
  let root: String
  /// The process's control groups of version 2, from the mount's top to its own.
  let groups: [String]

  @_optimize(size)
  init(root: String = "") {
    self.root = root
    guard let own = FileDescriptor.contents(of: root + "/proc/self/cgroup"),
      let mounts = FileDescriptor.contents(of: root + "/proc/self/mountinfo"),
      let group = ControlGroup.group(of: .two, in: own)
    else {
      groups = []
      return
    }
    var found = [String]()
    for mount in ControlGroup.parseMounts(mounts) where mount.version == .two && found.isEmpty {
      found = ControlGroup.directories(of: group, under: mount).map { root + String(decoding: $0, as: UTF8.self) }
    }
    groups = found
  }

  // MARK: Being told

  /// Which tasks lack of memory has to hold up before the kernel tells.
  enum Stall {
    /// At least one task.
    case some
    /// All tasks that are not idle.
    case full

    /// A tenth of two seconds, the shortest span that a program without privileges may ask for.
    fileprivate var trigger: String { self == .some ? "some 200000 2000000" : "full 200000 2000000" }
  }

  /// A descriptor that polls exceptional each time memory has held up tasks for a tenth of the time: of the process's own
  /// group, or else of the machine. Nil if the kernel offers neither.
  @_optimize(size)
  func trigger(_ stall: Stall) -> FileDescriptor? {
    if let own = groups.last, let file = Self.trigger(stall, in: own + "/memory.pressure") { return file }
    return Self.trigger(stall, in: root + "/proc/pressure/memory")
  }

  @_optimize(size)
  private static func trigger(_ stall: Stall, in path: String) -> FileDescriptor? {
    guard let file = FileDescriptor(result: path.withCString { gc_pressure_open($0) }) else { return nil }
    // The kernel wants the terminating zero to be written, too.
    let text = Array(stall.trigger.utf8) + [0]
    if text.withUnsafeBytes({ file.write($0) }) < 0 { return nil }
    return file
  }

  /// A descriptor that polls exceptional when the own group has hit a limit, until `shortages` has read it.
  @_optimize(size)
  func events() -> FileDescriptor? {
    groups.last.flatMap { FileDescriptor.openForReading($0 + "/memory.events") }
  }

  /// How often the group that the descriptor of `events` tells of has run out of memory; nil when it cannot be read.
  @_optimize(size)
  static func shortages(_ events: Int32) -> Int? {
    var bytes = [UInt8](repeating: 0, count: 1024)
    // unsafe: the shim writes within the buffer.
    let count = bytes.withUnsafeMutableBytes { gc_pressure_read(events, $0.baseAddress, $0.count) }
    return count < 0 ? nil : field("oom", in: bytes.prefix(count)) ?? 0
  }

  // MARK: Looking

  /// How much memory is left, in thousandths of what there is.
  struct Reading: Equatable, Sendable {
    /// How much is left before the machine, or a group at its hard limit, has none; 1000 when no file tells.
    var left = 1000
    /// How much is left before the kernel slows a group down, at its soft limit; 1000 without one.
    var leftUntilSlow = 1000
  }

  /// Looks at the machine and at every group. Nil when no file tells anything.
  @_optimize(size)
  func read() -> Reading? {
    var reading = Reading()
    var isTold = false
    if let left = FileDescriptor.contents(of: root + "/proc/meminfo").flatMap({ Self.left(meminfo: $0) }) {
      reading.left = left
      isTold = true
    }
    for group in groups {
      guard let current = number(in: group + "/memory.current") else { continue }
      isTold = true
      // What the kernel can take back at any time is not used up.
      let statistics = FileDescriptor.contents(of: group + "/memory.stat") ?? []
      let used = max(0, current - (Self.field("inactive_file", in: statistics[...]) ?? 0))
      if let limit = number(in: group + "/memory.max") { reading.left = min(reading.left, Self.left(used, of: limit)) }
      if let limit = number(in: group + "/memory.high") {
        reading.leftUntilSlow = min(reading.leftUntilSlow, Self.left(used, of: limit))
      }
    }
    return isTold ? reading : nil
  }

  /// Nil for "max", too.
  @_optimize(size)
  private func number(in path: String) -> Int? {
    FileDescriptor.contents(of: path).flatMap { Text.number($0[...]) }
  }

  @_optimize(size)
  static func left(_ used: Int, of limit: Int) -> Int {
    // A limit of 0 leaves nothing. In floating point: a limit may be as large as an integer can be.
    limit <= used ? 0 : Int(Double(limit - used) / Double(limit) * 1000)
  }

  /// From `MemTotal` and `MemAvailable`.
  @_optimize(size)
  static func left(meminfo: [UInt8]) -> Int? {
    guard let total = field("MemTotal:", in: meminfo[...]), let available = field("MemAvailable:", in: meminfo[...]),
      total > 0
    else { return nil }
    return left(max(0, total - available), of: total)
  }

  /// The number that follows `name` at the beginning of a line.
  @_optimize(size)
  static func field(_ name: StaticString, in text: ArraySlice<UInt8>) -> Int? {
    for line in Text.lines(text) {
      let words = Text.words(line)
      if words.count >= 2, Text.equal(words[0], name) { return Text.number(words[1]) }
    }
    return nil
  }
}
