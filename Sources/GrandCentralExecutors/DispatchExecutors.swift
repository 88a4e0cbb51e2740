// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral

#if compiler(>=6.3) && compiler(<6.4)
  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency
#endif

/// Makes GrandCentral's pool the one on which Swift Concurrency runs its tasks.
///
/// ```swift
/// import GrandCentralExecutors
///
/// @main struct Server {
///   static func main() async {
///     DispatchExecutors.install()
///     await withDiscardingTaskGroup { connections in … }
///   }
/// }
/// ```
///
/// Tasks, task groups and actors then run on the threads that run the items of queues, at the quality of service of
/// their priority; `Task.sleep` waits in the pool's timers; a task that blocks its thread is made up for. Actors pinned
/// to queues, tasks that prefer a queue, and the main actor stay where they are.
///
/// The runtime cannot move the job of a task that a more urgent one waits for. So less urgent work gets a turn every 100 ms, unless the program
/// or its environment has chosen a `GrandCentralRuntime.starvationBound`.
///
/// Experimental: Swift 6.3 has what this needs as an interface for experiments, which later versions change.
public enum DispatchExecutors {
  /// Makes the pool Swift Concurrency's, for the whole process and for good.
  ///
  /// Call it first of all in `main`, before anything starts a task: the runtime does not expect its executors to change
  /// while others use them. Called again it does nothing.
  ///
  /// In a program with an `async` main that does not load Foundation, the main thread then runs the main actor and
  /// `DispatchQueue.main`, as in `dispatchMain()`; left to itself, the runtime gives that thread up.
  ///
  /// - Returns: false if this version of Swift does not offer it; then everything stays as it was.
  @discardableResult
  public static func install() -> Bool { isInstalled }

  /// Once.
  private static let isInstalled: Bool = {
    #if compiler(>=6.3) && compiler(<6.4)
      _createExecutors(factory: DispatchExecutorFactory.self)
      ConcurrencyPool.boundStarvation()
      SimulationSupport.noteTasksPool()
      _ = ConcurrencyPool.takeAsyncMain()
      return true
    #else
      return false
    #endif
  }()

  /// Whether the calling thread is one of GrandCentral's pool.
  public static var isOnPool: Bool { ConcurrencyPool.isHere }
}
