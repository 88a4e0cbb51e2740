// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

// Programs whose standard error is a pipe that no process reads any more.
extension Scenario {
  static let brokenErrors: [String: Body] = [
    "broken-errors": brokenReport, "broken-errors-dump": brokenDump,
  ]

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
    // The core file lists threads that wait.
    let never = DispatchSemaphore(value: 0)
    _ = PlainThread { never.wait() }
    while GrandCentralRuntime.snapshot().threads.isEmpty { sched_yield() }
    breakErrors()
    let isCancelled = Latch()
    let source = DispatchSource.makeReadSource(fileDescriptor: 999)
    source.setEventHandler {}
    source.setCancelHandler { isCancelled.open() }
    source.activate()
    report("cancelled", isCancelled.wait())
    DispatchGroup().leave()
  }

  private static func isPending(_ number: Int32) -> Bool {
    var signals = sigset_t()
    return sigpending(&signals) == 0 && sigismember(&signals, number) == 1
  }

  /// GRANDCENTRAL_DUMP_SIGNAL=USR2: the chosen signal, a file that may not become larger, and a fault.
  private static func brokenDump() {
    _ = GrandCentralRuntime.snapshot()
    breakErrors()
    raise(SIGUSR2)
    report("goesOn", true)
    report("written", GrandCentralRuntime.writeSnapshot(to: 2))
    // What a write has raised is taken before it could be seen; what the program has pending stays.
    var blocked = sigset_t()
    sigemptyset(&blocked)
    sigaddset(&blocked, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &blocked, nil)
    _ = GrandCentralRuntime.writeSnapshot(to: 2)
    report("left", isPending(SIGPIPE))
    raise(SIGPIPE)
    _ = GrandCentralRuntime.writeSnapshot(to: 2)
    report("stays", isPending(SIGPIPE))
    // A signal that is ignored is pending no more.
    signal(SIGPIPE, SIG_IGN)
    signal(SIGPIPE, SIG_DFL)
    pthread_sigmask(SIG_UNBLOCK, &blocked, nil)

    let name = getenv("GRANDCENTRAL_DUMP").map { String(cString: $0) } ?? "/dev/null"
    let file = open(name, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    limit.rlim_cur = 10
    setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    report("limited", GrandCentralRuntime.writeSnapshot(to: file))
    DispatchGroup().leave()
  }
}
