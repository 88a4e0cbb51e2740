// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral

/// Ctrl-C, or a request to terminate, as an event on a queue.
final class StopSignals: @unchecked Sendable {  // why: written once, before the main queue runs
  static let shared = StopSignals()

  private var sources: [any DispatchSourceSignal] = []

  /// Calls `stop` with the first signal that comes; the second one kills. What the caller ignores stays ignored.
  func listen(_ stop: @escaping @Sendable (Int32) -> Void) {
    for signal in [SIGINT, SIGTERM] where !Interrupt.isIgnored(signal) {
      let source = DispatchSource.makeSignalSource(signal: signal, queue: .global(qos: .userInteractive))
      source.setEventHandler {
        stop(signal)
        source.cancel()
      }
      source.activate()
      sources.append(source)
    }
  }
}
