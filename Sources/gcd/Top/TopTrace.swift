// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import Synchronization

/// Regions as they were, to make a trace of: no other thread has them.
struct TopKept: @unchecked Sendable {  // why: handed over, once
  let images: [RegionReader]
  let isCut: Bool
}

/// Writes traces of what has been kept, beside the screen: a busy process fills millions of records in ten seconds.
final class TopTrace: Sendable {
  private let group = DispatchGroup()
  /// Told together: once the user reads that a trace has been written, the next one can be.
  private let state = Mutex<(isWriting: Bool, outcome: String?)>((false, nil))

  /// Writes a file that was not there before; false while another one is being written.
  func begin(_ kept: TopKept, process: pid_t) -> Bool {
    let isFirst = state.withLock { state in
      defer { state.isWriting = true }
      return !state.isWriting
    }
    guard isFirst else { return false }
    DispatchQueue.global().async(group: group) { [self] in
      let words = Self.write(kept, process: process)
      state.withLock { $0 = (false, words) }
    }
    return true
  }

  /// A line about the trace that has been written since the last call.
  func takeOutcome() -> String? {
    state.withLock { state in
      defer { state.outcome = nil }
      return state.outcome
    }
  }

  /// Waits for what is being written.
  func finish() { group.wait() }

  private static func write(_ kept: TopKept, process: pid_t) -> String {
    let name = freeName(process)
    let output: TraceOutput
    do { output = try TraceOutput(name) } catch {
      return "\(name): \(String(cString: strerror(error.code)))"
    }
    let writer = PerfettoWriter(output)
    for (number, image) in kept.images.enumerated() {
      let collector = Collector(image, writer, number: number, TracedProcess(running: process), since: 0)
      collector.leaveOut(before: TopHistory.seconds)
      collector.pass(releases: false, isLast: true)
      collector.finish()
    }
    writer.flush()
    output.flush()
    if let failure = output.failure { return output.report(failure, whole: true) }
    return "\(output.name): \(NumberFormat.grouped(writer.events)) events of the last \(Int(TopHistory.seconds)) s"
      + (kept.isCut ? "; the oldest had no room" : "")
  }

  private static func freeName(_ process: pid_t) -> String {
    var number = 1
    while access("gcd-\(process)-\(number).pftrace", F_OK) == 0 { number += 1 }
    return "gcd-\(process)-\(number).pftrace"
  }
}
