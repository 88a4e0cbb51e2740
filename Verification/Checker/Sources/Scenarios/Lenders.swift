// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit
import Synchronization

@testable import GrandCentral

// What threads that wait lend to bands (`Loans.swift`): for as long as they wait, no longer, and each loan is given back once.

func lenders() -> [Scenario] { counts() + searches() + waits() + tasksThatLend() }

private let normalAndBackground = Band.normal.ordered | Band.background.ordered

/// What a search would serve whose turn it is to serve a band that was lent to.
private func served(_ pending: UInt32) -> Band? { engine.pointee.loans.bandToServe(pending, 2) }

/// Whether each loan that was made was given back, and once.
private func checkGivenBack(_ loans: [Loan], _ run: ScenarioRun) {
  let other = Loan(from: .background, to: .maintenance)
  for loan in loans {
    let pending = (loan.lender.ordered | loan.borrowers) & Band.allOrdered
    run.check(served(pending) == nil, "nobody waits, and a band is served out of its order")
    engine.pointee.loans.change(1, loan)
    run.check(served(pending) != nil, "a loan was given back twice: the next one counts for nothing")
    // The look ends at the sum, if that is zero.
    engine.pointee.loans.change(-1, other)
    run.check(served(pending) == nil, "nobody waits, and the sum says that somebody does")
    engine.pointee.loans.change(1, other)
    engine.pointee.loans.change(-1, loan)
  }
}

// MARK: The counts

private func counts() -> [Scenario] {
  /// Each thread's wait is noted, and over.
  func waits(_ name: String, _ borrowers: [Band?]) -> Scenario {
    protocolScenario(name, of: "Loans", unusual: 0) { run in
      _ = engine
      for borrower in borrowers { run.thread { Loan.make(from: .normal, to: borrower).end() } }
      run.finally { checkGivenBack(borrowers.map { Loan(from: .normal, to: $0) }, run) }
    }
  }
  /// The searcher looks while the lender waits for its answer: the lender waits all the time.
  func lasts(_ name: String, others: [Band?]) -> Scenario {
    protocolScenario(name, of: "Loans", unusual: 0) { run in
      _ = engine
      let searcher = Box(Parker()), lender = Box(Parker())
      run.thread {
        let loan = Loan.make(from: .normal, to: .background)
        searcher.value.unpark()
        _ = lender.value.park()
        loan.end()
      }
      run.thread {
        _ = searcher.value.park()
        run.check(served(normalAndBackground) == .background, "a thread waits, and the band is not served")
        run.check(engine.pointee.loans.bandToServe(normalAndBackground, 0) == nil, "the band has each turn")
        lender.value.unpark()
      }
      for other in others { run.thread { Loan.make(from: .normal, to: other).end() } }
      run.finally {
        checkGivenBack([Loan(from: .normal, to: .background)] + others.map { Loan(from: .normal, to: $0) }, run)
      }
    }
  }
  return [
    waits("W4: two threads lend to one band", [.background, .background]),
    waits("W4: two threads lend to one band, and to any", [.background, nil]),
    waits("W4: three threads lend to one band", [.background, .background, .background]),
    lasts("W4: a band is served while a thread waits", others: []),
    lasts("W4: a band is served while a thread waits, and another one's wait begins and ends", others: [.background]),
    protocolScenario("W4: a search behind the end of a wait serves no band", of: "Loans", unusual: 0) { run in
      _ = engine
      let searcher = Box(Parker())
      run.thread {
        Loan.make(from: .normal, to: .background).end()
        searcher.value.unpark()
      }
      run.thread {
        _ = searcher.value.park()
        run.check(served(normalAndBackground) == nil, "nobody waits, and a band is served out of its order")
      }
    },
  ]
}

// MARK: What a search makes of it

private func searches() -> [Scenario] {
  /// What a worker starts while `lender` begins to wait, and is back. Loans change what comes next, and nothing else.
  func beside(_ name: String, _ lender: Band, _ bands: [Band]) -> Scenario {
    protocolScenario(name, of: "Loans", unusual: 0) { run in
      standInForPool()
      engine.pointee.setParallelism(1)
      let worker = engine.pointee.workers.take()
      _ = worker.pointee.take(engine.pointee.places[0])
      // A job's owner says when it was submitted.
      for (index, band) in bands.enumerated() {
        let job = makeJob(band)
        job.owner = UnsafeMutableRawPointer(bitPattern: index + 1)
        engine.pointee.submit(job)
      }
      var started: [(band: Band, number: Int, isLent: Bool)] = []
      run.thread { Loan.make(from: lender, to: .background).end() }
      run.thread {
        for _ in bands {
          guard let job = engine.pointee.places[0].pointee.findWork(in: engine.pointee) else { return }
          let turn = engine.pointee.places[0].pointee.turns.load(ordering: .relaxed)
          started.append((job.band, Int(bitPattern: job.owner), turn & 2 != 0))
        }
      }
      run.finally {
        run.check(started.count == bands.count, "work is pending, and the search finds nothing")
        for (index, job) in started.enumerated() {
          for later in started[(index + 1)...] where later.band <= job.band {
            run.check(later.band < job.band || later.number > job.number, "a band's jobs do not start in order")
            if later.band == job.band { continue }
            run.check(job.isLent, "less urgent work is started out of turn")
            run.check(job.band == .background, "work is started out of its order that nobody lends to")
            run.check(later.band >= lender, "work that is more urgent than the lender has waited")
          }
        }
        checkGivenBack([Loan(from: lender, to: .background)], run)
      }
    }
  }
  return [
    beside(
      "W4, Q6: a thread lends beside a search: every second turn, in order", .normal,
      [.normal, .normal, .normal, .background, .background]),
    beside(
      "Q6: what is more urgent than the lender comes first, beside a search", .utility,
      [.normal, .normal, .utility, .background]),
  ]
}

// MARK: Threads that wait

private func waits() -> [Scenario] {
  /// An item of a global queue that is less urgent than the threads that wait for it.
  func item(
    _ name: String, waiters: Int = 1, ends: Bool = true, unusual: Int = 0, isSmall: Bool = true,
    _ wait: @escaping (DispatchWorkItem) -> Void
  ) -> Scenario {
    protocolScenario(name, of: "Loans", unusual: unusual, isSmall: isSmall) { run in
      standInForPool()
      let item = DispatchWorkItem {}
      item.noteSubmission(to: GlobalQueues.background)
      if ends { run.thread { item.perform() } }
      for _ in 0..<waiters { run.thread { wait(item) } }
      run.finally { checkGivenBack([Loan(from: .normal, to: .background)], run) }
    }
  }
  let briefly: (DispatchWorkItem) -> Void = { _ = $0.wait(timeout: .now() + .milliseconds(1)) }
  return [
    item("W4: a wait for an item ends beside the item") { $0.wait() },
    item("W4: a wait for an item gives up", ends: false, briefly),
    item("W4: a wait for an item gives up beside its end", unusual: 1, isSmall: false, briefly),
    item("W4: two wait for an item", waiters: 2, isSmall: false) { $0.wait() },
    item("W4: two waits for an item give up", waiters: 2, ends: false, isSmall: false, briefly),
  ]
}

// MARK: Tasks that wait

/// Runs no job by itself: a scenario's thread does.
private final class LentJobs: TaskExecutor, @unchecked Sendable {  // fibres take turns
  private var waiting: [UnownedJob] = []

  func enqueue(_ job: consuming ExecutorJob) { waiting.append(UnownedJob(job)) }
  func runOne() { waiting.removeFirst().runSynchronously(on: asUnownedTaskExecutor()) }
  var isEmpty: Bool { waiting.isEmpty }
}

/// Waits as for an item of a global queue: the waiter lends to that queue's band.
private final class LentHost: AsyncWaitable {
  let semaphore = DispatchSemaphore(value: 0)

  /// The runtime notes next that the waiter is to be told when the task becomes more urgent.
  var comesFromQueue: Bool {
    ck_machine_sync_tasks()
    return true
  }

  func tryWait() -> Bool { semaphore.tryWait() }
  func leave(_ waiter: UnsafeMutablePointer<Waiter>) -> Bool { semaphore.leave(waiter) }
  func boostSubmission(for waiter: Band) -> Loan { Loan.make(from: waiter, to: .maintenance) }

  func join(_ waiter: UnsafeMutablePointer<Waiter>, urgency: UInt8) -> Bool {
    ck_machine_sync_tasks()
    return semaphore.join(waiter, urgency: urgency)
  }
}

private func escalate(_ task: Task<Void, Never>, to priority: TaskPriority) {
  ck_machine_cancelling(true)
  task.escalatePriority(to: priority)
  ck_machine_cancelling(false)
}

private func tasksThatLend() -> [Scenario] {
  func escalated(_ name: String, isSmall: Bool = true, signals: Bool) -> Scenario {
    protocolScenario(name, of: "AsyncWaiter", unusual: 0, isSmall: isSmall) { run in
      _ = engine
      let host = LentHost(), jobs = LentJobs(), outcome = Counter()
      let task = Task(executorPreference: jobs, priority: .background) {
        if await AsyncWaiter.wait(for: host, until: .never) == .success { outcome.value += 1 }
      }
      run.thread { jobs.runOne() }
      run.thread { escalate(task, to: .high) }
      if signals { run.thread { host.semaphore.signal() } }
      run.finally {
        if !signals { host.semaphore.signal() }
        while !jobs.isEmpty { jobs.runOne() }
        run.check(outcome.value == 1, "the task has not gone on")
        checkGivenBack((0..<5).map { Loan(from: Band(rank: $0), to: .maintenance) }, run)
      }
    }
  }
  return [
    escalated("W4: a task that begins to wait becomes more urgent: it lends once", signals: false),
    escalated("W4: the same beside the end of its wait", signals: true),
  ]
}
