// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// The process that a trace is of: one that runs, or one that has left a core file.
struct TracedProcess {
  let identifier: pid_t
  let name: String
  let code: ProcessCode
  /// The moment that a core file shows, in nanoseconds of CLOCK_MONOTONIC; nil: the process runs.
  private let moment: UInt64?

  /// The list of mapped files is read at once: the process may end at any time.
  ///
  /// - Parameters:
  ///   - region: The number of the region's file, which the process has mapped as long as it is the program that is traced.
  ///   - list: The one that the process has written, in case it has ended already, or is another program by now.
  init(running process: pid_t, region: UInt64? = nil, list: @autoclosure () -> String = "") {
    identifier = process
    // Before the look at the list: a program that has the region then had the name, too.
    let title = ProcessFile.text("/proc/\(process)/comm")?.split(separator: "\n").first.map(String.init)
    code = ProcessCode(process, region: region, list: list())
    name = (code.isCurrent ? title : code.program ?? title) ?? "process \(process)"
    moment = nil
  }

  init(_ core: CoreFile) {
    identifier = core.process
    code = ProcessCode(core.files)
    name = core.name.isEmpty ? "process \(core.process)" : TextLayout.printable(core.name)
    moment = core.moment
  }

  /// The moment up to which the trace goes.
  var now: UInt64 { moment ?? RegionClock.now().uptime }

  /// The counter so many seconds before that moment.
  func counter(ago seconds: Double, _ clock: RegionClock) -> UInt64 {
    let now = RegionClock.now()
    let passed = moment.map { Double(now.uptime > $0 ? now.uptime - $0 : 0) } ?? 0
    let steps = clock.steps(nanoseconds: seconds * 1e9 + passed)
    return now.counter > steps ? now.counter - steps : 0
  }

  /// Nil if it is not known.
  func threadName(_ thread: pid_t) -> String? {
    if moment != nil || !code.isCurrent { return nil }
    return ProcessFile.text("/proc/\(identifier)/task/\(thread)/comm")?.split(separator: "\n").first.map(String.init)
  }
}
