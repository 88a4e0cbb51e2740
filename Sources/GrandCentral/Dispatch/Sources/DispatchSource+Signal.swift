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
  /// what is sent while one waits to be delivered is not counted apart. Any number of sources may watch one signal; each
  /// counts all deliveries. It does not matter whether threads block the signal, nor which thread it is sent to, unless
  /// that thread blocks it; a thread that waits for it in `sigwait` may get it instead.
  ///
  /// While a source watches it the signal's default action does not take place, whether the program ignores it or not. A
  /// handler that the program has installed, or installs later, runs as well, in the thread that gets the signal; so does
  /// the automatic burial of children that `signal(SIGCHLD, SIG_IGN)` asks for. When the last source of the signal has
  /// been cancelled the program's disposition is in place again, before the cancel handler runs. A forked child watches
  /// nothing, and has the program's dispositions; a program started with `posix_spawn` or `exec` finds the default one for
  /// a signal that is watched, and the mask of the program's own threads.
  ///
  /// A handler that is installed past the C library's functions, or under a sanitizer, replaces the source's: the source
  /// notices when the engine next looks for events, and loses the signals until then.
  ///
  /// Traps (GC0026) for signals that cannot be watched: `SIGKILL`, `SIGSTOP`, those that a thread causes by a fault of its
  /// own (`SIGSEGV`, `SIGBUS`, `SIGFPE`, `SIGILL`, `SIGTRAP`, `SIGSYS`), and numbers that are no signals.
  ///
  /// Difference from Darwin: there the default action takes place unless the signal is ignored, as in the example. Here
  /// that is not needed, and does no harm.
  public class func makeSignalSource(signal: Int32, queue: DispatchQueue? = nil) -> any DispatchSourceSignal {
    SignalSource(signal: signal, queue: queue)
  }
}
