// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// The signal that asked the tool to stop; 0 for none.
private let receivedSignal = Atomic<Int32>(0)

/// Ctrl-C, a request to terminate, or a terminal that is gone: remembered by the handler, looked at between two steps.
enum Interrupt {
  /// Whether the work is to stop.
  static var isRequested: Bool { received != nil }

  /// The signal that came.
  static var received: Int32? {
    // relaxed: a flag that is polled; nothing else is published with it.
    let signal = receivedSignal.load(ordering: .relaxed)
    return signal == 0 ? nil : signal
  }

  /// Begins to listen. The second signal of a kind kills, should the work be stuck in a read. A signal that the caller
  /// chose to ignore stays ignored.
  ///
  /// - Parameter quits: Whether Ctrl-\ is one of them; it ends the tool otherwise.
  static func install(quits: Bool = false) {
    for signal in [SIGINT, SIGTERM, SIGHUP] + (quits ? [SIGQUIT] : []) {
      if isIgnored(signal) { continue }
      var action = sigaction()
      // The handler does nothing but store to an atomic, the one thing that is safe at any instant.
      action.__sigaction_handler.sa_handler = { signal in
        // relaxed: as in `received`.
        receivedSignal.store(signal, ordering: .relaxed)
      }
      action.sa_flags = SA_RESTART | CInt(bitPattern: UInt32(SA_RESETHAND))
      sigaction(signal, &action, nil)
    }
  }

  /// Whether the caller chose to ignore it; so does the tool then.
  static func isIgnored(_ signal: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(signal, nil, &action) == 0 else { return true }
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
