// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

// Programs whose standard error is a pipe that no process reads any more.
extension Scenario {
  static let brokenErrors: [String: Body] = ["broken-errors": brokenReport]

  /// Signals that a write raises end the process.
  private static func breakErrors() {
    guard let pipe = Kernel.closeOnExecPipe() else { preconditionFailure("no pipe") }
    close(pipe.readEnd)
    require(dup2(pipe.writeEnd, 2) == 2, "standard error is the pipe")
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in [SIGPIPE, SIGXFSZ] {
      signal(number, SIG_DFL)
      sigaddset(&signals, number)
    }
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  }

  /// A report, and a fault.
  private static func brokenReport() {
    _ = GrandCentralRuntime.snapshot()
    breakErrors()
    let isCancelled = Latch()
    let source = DispatchSource.makeReadSource(fileDescriptor: 999)
    source.setEventHandler {}
    source.setCancelHandler { isCancelled.open() }
    source.activate()
    report("cancelled", isCancelled.wait())
    DispatchGroup().leave()
  }
}
