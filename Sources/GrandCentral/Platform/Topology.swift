// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// How many processors the process may use.
enum Topology {
  /// The environment variable that overrides what the system says.
  static let environmentName: StaticString = "GRANDCENTRAL_THREADS"

  /// The numbers that an override may have.
  static let overrideRange = 1...1024

  /// What `setOverride` was told; 0 means nothing.
  private static let override = Atomic<Int>(0)

  /// The number of threads that can run at once.
  ///
  /// In order: what `setOverride` was told, the environment's `GRANDCENTRAL_THREADS`, what affinity mask and control
  /// groups allow. Reads the system anew each time (some ten system calls): the caller keeps the answer.
  @_optimize(size)
  static func activeProcessors() -> Int {
    if let world = World.current { return world.processors }
    // relaxed: the number stands for itself.
    let told = override.load(ordering: .relaxed)
    if told != 0 { return told }
    return environmentOverride() ?? systemProcessors()
  }

  /// Sets the answer of `activeProcessors`; nil returns to the environment's and the system's.
  @_optimize(size)
  static func setOverride(_ count: Int?) {
    if let count, !overrideRange.contains(count) {
      Fault.misuse(
        .poolOverrideOutOfRange,
        "the size of the thread pool was set to " + String(count) + ". Use a value from 1 to 1024.")
    }
    // relaxed: the number stands for itself.
    override.store(count ?? 0, ordering: .relaxed)
  }

  /// What `setOverride` was told.
  static var overrideCount: Int? {
    // relaxed: the number stands for itself.
    let told = override.load(ordering: .relaxed)
    return told == 0 ? nil : told
  }

  /// Processors that the calling thread may run on; 0 or below if the system does not say.
  static var affinityCount: Int { Int(gc_affinity_count()) }

  /// As `activeProcessors`, without reading files: may be too high under a control group's quota.
  @_optimize(size)
  static func quickProcessors() -> Int {
    if let world = World.current { return world.processors }
    // relaxed: the number stands for itself.
    let told = override.load(ordering: .relaxed)
    if told != 0 { return told }
    return environmentOverride() ?? max(1, affinityCount)
  }

  /// What affinity mask and control groups allow, at least 1.
  @_optimize(size)
  static func systemProcessors() -> Int {
    var count = Int(gc_affinity_count())
    if count <= 0 { count = Int(gc_online_processors()) }
    if let quota = controlGroupProcessors() { count = min(count, quota) }
    return max(1, count)
  }

  @_optimize(size)
  private static func controlGroupProcessors() -> Int? {
    guard let groups = FileDescriptor.contents(of: "/proc/self/cgroup"),
      let mounts = FileDescriptor.contents(of: "/proc/self/mountinfo")
    else { return nil }
    return ControlGroup.processors(groups: groups, mounts: mounts) { path in
      FileDescriptor.contents(of: String(decoding: path, as: UTF8.self))
    }
  }

  /// A number outside the range, or no number at all, is as good as none: a variable does not stop a program.
  @_optimize(size)
  private static func environmentOverride() -> Int? {
    Environment.value(of: environmentName).flatMap { parseOverride($0) }
  }

  @_optimize(size)
  static func parseOverride(_ text: [UInt8]) -> Int? {
    guard let count = Text.number(text[...]), overrideRange.contains(count) else { return nil }
    return count
  }
}
