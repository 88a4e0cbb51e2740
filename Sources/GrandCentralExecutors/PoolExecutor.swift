// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if compiler(>=6.3) && compiler(<6.4)
  import GrandCentral
  @_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency

  /// The executors of a program, in the form that a later compiler will look for: `typealias DefaultExecutorFactory =
  /// DispatchExecutorFactory`. Swift 6.3 does not look for that name yet.
  @_spi(ExperimentalCustomExecutors)
  public struct DispatchExecutorFactory: ExecutorFactory {
    /// The platform's executor. The code that waits for its jobs has captured it before a program can install another one.
    public static var mainExecutor: any MainExecutor { PlatformExecutorFactory.mainExecutor }

    public static let defaultExecutor: any TaskExecutor = PoolExecutor()
  }

  /// Runs the jobs that have no other executor.
  final class PoolExecutor: TaskExecutor, SchedulingExecutor {
    func enqueue(_ job: consuming ExecutorJob) { ConcurrencyPool.enqueue(UnownedJob(job)) }

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) {
      let job = UnownedJob(job)
      guard let delay = Self.nanoseconds(delay, of: clock) else {
        return Self.enqueue(job, at: clock.now.advanced(by: delay), tolerance, clock)
      }
      Self.enqueue(job, after: delay, tolerance, clock)
    }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C) {
      let job = UnownedJob(job)
      guard let remaining = Self.nanoseconds(clock.now.duration(to: instant), of: clock) else {
        return Self.enqueue(job, at: instant, tolerance, clock)
      }
      Self.enqueue(job, after: ConcurrencyPool.delay(remaining: remaining), tolerance, clock)
    }

    /// Nil of a clock that is none of Swift's own.
    private static func nanoseconds<C: Clock>(_ duration: C.Duration, of clock: C) -> UInt64? {
      clock is ContinuousClock || clock is SuspendingClock ? (duration as? Duration)?.clampedNanoseconds : nil
    }

    private static func enqueue<C: Clock>(
      _ job: UnownedJob, after delay: UInt64, _ tolerance: C.Duration?, _ clock: C
    ) {
      ConcurrencyPool.enqueue(
        job, after: delay, leeway: (tolerance as? Duration)?.clampedNanoseconds ?? 0,
        continuous: clock is ContinuousClock)
    }

    /// Only a foreign clock itself knows how to wait for its instants.
    private static func enqueue<C: Clock>(
      _ job: UnownedJob, at instant: C.Instant, _ tolerance: C.Duration?, _ clock: C
    ) {
      Task.detached(priority: TaskPriority(ExecutorJob(job).priority)) {
        // No code cancels this task. If the clock fails nevertheless, the wait ends.
        try? await clock.sleep(until: instant, tolerance: tolerance)
        ConcurrencyPool.enqueue(job)
      }
    }
  }

  extension Duration {
    /// Nanoseconds, clamped to 0 and the largest count.
    fileprivate var clampedNanoseconds: UInt64 {
      let (seconds, attoseconds) = components
      if seconds < 0 || attoseconds < 0 { return 0 }
      let (whole, isFar) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
      let (sum, isFurther) = whole.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000))
      return isFar || isFurther ? .max : sum
    }
  }
#endif
