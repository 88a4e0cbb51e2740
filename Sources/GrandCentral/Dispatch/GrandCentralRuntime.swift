// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The engine's settings and figures.
///
/// ```swift
/// GrandCentralRuntime.threadBudget = 64
/// print(GrandCentralRuntime.workerCount)
/// ```
public enum GrandCentralRuntime {
  /// The version of the library that the program runs on, as Semantic Versioning writes it: "0.1.0".
  public static var version: String { Release.version }

  /// The most pool threads that the process may have, over all queues and qualities of service. 512 unless set here or
  /// by `GRANDCENTRAL_THREAD_BUDGET`. From 1 to 4,096: a number outside is taken for the nearest one.
  ///
  /// When it is used up and every worker is blocked, one report on standard error names the queues.
  public static var threadBudget: Int {
    get { Settings.threadBudget }
    set {
      Settings.setThreadBudget(newValue)
      tellEngine(ofProcessors: false)
    }
  }

  /// The number of processors to count with, in place of what the system reports; nil takes the system's word.
  ///
  /// The environment's `GRANDCENTRAL_THREADS` does the same. A number outside 1…1024 traps (GC0025).
  public static var processorOverride: Int? {
    get { Topology.overrideCount }
    set {
      Topology.setOverride(newValue)
      tellEngine(ofProcessors: true)
    }
  }

  /// How long pending work of the less urgent classes may be passed over before it gets a turn; nil, the default, keeps
  /// the order strict. The environment's `GRANDCENTRAL_STARVATION_MS` does the same, and 0 there stands for nil. Where the tasks of Swift
  /// Concurrency run on the pool the default is 100 ms.
  public static var starvationBound: DispatchTimeInterval? {
    get { Settings.starvationBound.map { .nanoseconds(Int(clamping: $0)) } }
    set { Settings.setStarvationBound(nanoseconds: newValue.map { UInt64(clamping: $0.clampedNanoseconds) } ?? 0) }
  }

  /// Pool threads alive now.
  public static var workerCount: Int {
    // relaxed: a figure.
    Engine.existing?.pointee.pool.load(ordering: .relaxed).live ?? 0
  }

  /// What to run on each pool thread when it starts, and before it ends. It does not run on threads that exist already.
  ///
  /// Blocking: both may wait for work of the pool: another thread runs it meanwhile. A start hook that waits so on every thread
  /// never ends. A thread counts against ``threadBudget`` until its exit hook has returned.
  public static func setWorkerHooks(start: (@Sendable () -> Void)?, exit: (@Sendable () -> Void)?) {
    Hooks.set(start: start, exit: exit)
  }

  @inline(never)
  private static func tellEngine(ofProcessors: Bool) {
    Engine.existing?.pointee.noteSetting(ofProcessors: ofProcessors)
  }
}
