// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

extension DispatchSource {
  /// A source that fires when the process, or one of its threads, gets `signal`.
  ///
  /// ```swift
  /// signal(SIGTERM, SIG_IGN)
  /// let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: queue)
  /// source.setEventHandler { shutDown() }
  /// source.activate()
  /// ```
  ///
  /// `data` is the number of deliveries since the last call. The kernel keeps one of each signal below `SIGRTMIN` pending:
  /// signals that are sent while one is pending are not counted separately. Any number of sources may watch one signal; each
  /// counts all deliveries. A signal is counted even if some threads block it, or if it is sent to one thread, unless that
  /// thread blocks it. A thread that waits for the signal in `sigwait` may get it instead.
  ///
  /// While a source watches the signal, its default action does not take place, whether the program ignores the signal or not.
  /// A handler that the program has installed, or installs later, runs as well, in the thread that gets the signal. Children
  /// are still reaped automatically if the program has called `signal(SIGCHLD, SIG_IGN)`. When the last source of the signal
  /// has been cancelled, the program's disposition is in place again, before the cancel handler runs. A forked child watches
  /// nothing, and has the program's dispositions. A program started with `posix_spawn` or `exec` finds the default one for a
  /// signal that is watched, and the mask of the program's own threads.
  ///
  /// A handler that is installed without the C library's functions, or under a sanitizer, replaces the source's handler. The
  /// source notices that when the engine next looks for events, and loses the signals until then.
  ///
  /// Traps (GC0026) for signals that cannot be watched: `SIGKILL`, `SIGSTOP`, those that a thread causes by a fault of its
  /// own (`SIGSEGV`, `SIGBUS`, `SIGFPE`, `SIGILL`, `SIGTRAP`, `SIGSYS`), and numbers that are no signals.
  ///
  /// Difference from Darwin: there the default action takes place unless the signal is ignored, as in the example. Here the
  /// program need not ignore the signal, but may.
  ///
  /// Complexity: O(1). Blocking: never.
  @_optimize(size)
  public class func makeSignalSource(signal: Int32, queue: DispatchQueue? = nil) -> any DispatchSourceSignal {
    SignalSource(signal: signal, queue: queue)
  }
}
