// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral

/// What has become of a process.
enum Outcome: Equatable, Sendable {
  /// How, if that can be known.
  case ended(DispatchSource.ProcessExitStatus?)
  case running
  /// There is no such process.
  case unknown
}

/// A process whose end is waited for.
final class AwaitedProcess: @unchecked Sendable {  // why: touched on the queue given to `wait` only
  let identifier: Int32
  /// What it runs, as far as it can be seen: empty once it has been reaped.
  let name: String
  private var hasAnswered = false

  init(_ identifier: Int32) {
    self.identifier = identifier
    name = Self.name(of: identifier)
  }

  /// Calls `answer` on `queue`, once.
  func wait(on queue: DispatchQueue, _ answer: @escaping @Sendable (Outcome) -> Void) {
    // The source reports a process that does not exist as ended.
    guard kill(identifier, 0) == 0 || errno == EPERM else { return answer(.unknown) }
    let source = DispatchSource.makeProcessSource(identifier: identifier, eventMask: .exit, queue: queue)
    source.setEventHandler { self.tell(source, on: queue, after: 1, answer) }
    source.setCancelHandler {
      // Nothing to watch: the number of a thread.
      if !self.hasAnswered { answer(.unknown) }
    }
    source.activate()
  }

  private static let longestPauseMilliseconds = 16

  /// The kernel says how another process's child has ended once the parent has reaped it, which usually happens at once.
  private func tell(
    _ source: any DispatchSourceProcess, on queue: DispatchQueue, after milliseconds: Int,
    _ answer: @escaping @Sendable (Outcome) -> Void
  ) {
    let status = source.exitStatus
    if status == nil, milliseconds <= Self.longestPauseMilliseconds {
      return queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) {
        self.tell(source, on: queue, after: 2 * milliseconds, answer)
      }
    }
    hasAnswered = true
    source.cancel()
    answer(.ended(status))
  }

  private static func name(of process: Int32) -> String {
    let file = open("/proc/\(process)/comm", O_RDONLY | O_CLOEXEC)
    if file < 0 { return "" }
    defer { close(file) }
    let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
      count = max(0, read(file, buffer.baseAddress, buffer.count))
    }
    return String(decoding: bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...], as: UTF8.self)
  }
}
