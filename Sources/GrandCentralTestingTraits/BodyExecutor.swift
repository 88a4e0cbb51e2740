// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentralTesting
import Synchronization
import Testing

/// Has the jobs of a test's function run on the first thread of a run, one run after the other.
///
/// The test's task waits until a run wants the function (`isWanted`), and starts a task that prefers this executor. The run's thread,
/// which waits with its turn meanwhile, then runs that task's jobs.
final class BodyExecutor: TaskExecutor, @unchecked Sendable {  // guarded by the mutex
  private struct State {
    var jobs: [(job: UnownedJob, isOfRun: Bool)] = []
    var isWanted = false
    var isClosed = false
    var isFinished = false
    var isCancelled = false
    var thrown: (any Error)?
    var issue: String?
    var waiting: CheckedContinuation<Bool, Never>?
  }

  private let state = Mutex(State())
  /// For how many milliseconds a job may be on its way from outside of the simulation. Once none has come that is known.
  private let patience = Atomic<Int>(BodyExecutor.longPatience)
  private static let (longPatience, shortPatience) = (1_000, 10)

  /// Posted when there is a job.
  private let news: UnsafeMutablePointer<sem_t>

  init() {
    news = .allocate(capacity: 1)
    sem_init(news, 0, 0)
  }

  deinit {
    sem_destroy(news)
    news.deallocate()
  }

  // MARK: The task of the test

  /// Waits until a run wants the function; false when there will be none.
  func isWanted() async -> Bool {
    await withCheckedContinuation { continuation in
      let answer = state.withLock { state -> Bool? in
        if state.isClosed { return false }
        if state.isWanted {
          state.isWanted = false
          return true
        }
        state.waiting = continuation
        return nil
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }

  /// The test is cancelled, by the function or by its time limit: no further run calls the function.
  func cancel() { state.withLock { $0.isCancelled = true } }

  /// The function has returned.
  func finish(_ thrown: (any Error)?, _ issue: String?) {
    state.withLock {
      $0.isFinished = true
      $0.thrown = thrown
      $0.issue = issue
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isOfRun = Simulation.current != nil
    state.withLock { $0.jobs.append((job, isOfRun)) }
    sem_post(news)
    if isOfRun { Simulation.call() }
  }

  // MARK: The thread of the run

  /// Runs the function.
  func perform(_ sim: Simulation) throws {
    if state.withLock({ $0.isCancelled }) { throw CancellationError() }
    // What a run that has failed brought last is of a function that goes on nowhere. From the next step on there may be new jobs.
    while sem_trywait(news) == 0 {}
    let waiting = state.withLock { state in
      state.jobs.removeAll()
      state.isFinished = false
      let waiting = state.waiting
      state.waiting = nil
      state.isWanted = waiting == nil
      return waiting
    }
    Simulation.resume { waiting?.resume(returning: true) }
    // The test's task starts the function in real time. The run does not take that for a wait outside, however long it is.
    sim.holdTurn { while sem_wait(news) != 0 {} }
    var jobsInARow = 0
    while true {
      let job = state.withLock { $0.jobs.removeFirst().job }
      job.runSynchronously(on: asUnownedTaskExecutor())
      if state.withLock({ $0.isFinished }) { break }
      if hasJobOfRun {
        jobsInARow += 1
        letOthersGoOn(sim, jobsInARow)
      } else {
        jobsInARow = 0
        // The function awaits something, which the simulation may bring. A call may come late, for a job that was taken before.
        while sim.restUntilCalled(), !hasJobOfRun {}
      }
      if !hasNews() { sim.deadlock("the test's function awaits what nothing in the simulation brings") }
    }
    let (thrown, issue, isCancelled) = state.withLock { ($0.thrown, $0.issue, $0.isCancelled) }
    // What `#require` throws says less than the issue that it has recorded before.
    if let issue, isCancelled || thrown is ExpectationFailedError { throw RecordedIssue(issue) }
    if let thrown { throw thrown }
    if let issue { sim.expect(false, issue) }
  }

  /// Whether the run itself has brought a job. When others do, in real time, makes no difference to it.
  private var hasJobOfRun: Bool { state.withLock { $0.jobs.contains { $0.isOfRun } } }

  private static let mostJobsInARow = 1_000

  /// Between a job and the next one, which is there already. A function that yields over and over may wait for what others do, or for time to
  /// pass: after a thousand jobs some passes, and more the next time, up to a second.
  private func letOthersGoOn(_ sim: Simulation, _ jobsInARow: Int) {
    let (times, rest) = jobsInARow.quotientAndRemainder(dividingBy: Self.mostJobsInARow)
    if rest != 0 { return Simulation.yield() }
    sim.advance(by: Duration.milliseconds(min(1_000, 1 << min(times - 1, 10))))
  }

  /// Takes one announcement of a job; false if none comes. A task that does not prefer this executor brings it in real time.
  private func hasNews() -> Bool {
    // relaxed: one thread at a time.
    let milliseconds = patience.load(ordering: .relaxed)
    var end = timespec()
    clock_gettime(CLOCK_REALTIME, &end)
    let nanoseconds = end.tv_nsec + milliseconds * 1_000_000
    end = timespec(tv_sec: end.tv_sec + nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
    while sem_timedwait(news, &end) != 0 {
      if errno == EINTR { continue }
      // relaxed: see above.
      patience.store(Self.shortPatience, ordering: .relaxed)
      return false
    }
    return true
  }

  /// There is no run any more.
  func close() {
    let waiting = state.withLock { state in
      state.isClosed = true
      let waiting = state.waiting
      state.waiting = nil
      return waiting
    }
    waiting?.resume(returning: false)
  }
}

/// Starts a thread of its own: an exploration blocks its caller.
func startThread(_ body: @escaping @Sendable () -> Void) {
  var thread = pthread_t()
  let box = Unmanaged.passRetained(Box(body: body))
  let error = pthread_create(
    &thread, nil,
    { raw in
      // unsafe: retained below, for this thread.
      Unmanaged<Box>.fromOpaque(raw!).takeRetainedValue().body()
      return nil
    }, box.toOpaque())
  // A failed precondition has no text in a build with optimisation.
  if error != 0 { fatalError("there is no thread for the simulation: pthread_create has failed with error \(error)") }
  pthread_detach(thread)
}

private final class Box: Sendable {
  let body: @Sendable () -> Void
  init(body: @escaping @Sendable () -> Void) { self.body = body }
}
