// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit

@testable import GrandCentral

/// A scenario of a protocol alone, on one processor: no thread spins, so that the search ends. What the library finds out once is
/// found out before the threads begin.
func protocolScenario(
  _ name: String, of file: String, unusual: Int = 1, isSmall: Bool = true, steps: UInt64 = 20_000,
  _ body: @escaping (ScenarioRun) -> Void
) -> Scenario {
  Scenario(name, of: file, unusual: unusual, isSmall: isSmall, steps: steps) { run in
    ck_machine_set_processors(1)
    _ = Backoff.maySpin
    // Only the scenarios of WaitCycles look for cycles.
    Settings.setCycles(.off)
    body(run)
  }
}

/// The scenario's threads are all there is: a worker that searches is counted, so that none is woken or started. What is
/// submitted stays where it is laid.
func standInForPool() { Engine.shared.pointee.pool.update { $0.startSearching() } }

/// The calling thread is the poller: takes what the kernel has to tell, and reports it.
func poll() {
  let engine = Engine.shared
  engine.pointee.poller.look(engine.pointee.timers, asksKernel: true)
  _ = engine.pointee.poller.dispatchEvents(in: engine.pointee)
}

/// The calling thread is a worker: runs what waits, up to so many jobs.
func work(_ most: Int = .max) {
  var left = most
  while left > 0, let job = nextJob() {
    job.run()
    left -= 1
  }
}

private func nextJob() -> Job? {
  for rank in 0..<Band.count {
    if let raw = Engine.shared.pointee.runQueues[rank].dequeue() { return Job(raw: raw) }
    if let job = Engine.shared.pointee.takeLoose(from: Band(rank: UInt8(rank))) { return job }
  }
  return nil
}

var engine: Engine.Pointer { Engine.shared }

/// A job that no worker runs: its node is the plain location that it publishes.
func makeJob(_ band: Band = .normal) -> Job { Job(invoke: { _ in }, flags: [], qos: 0, band: band, owner: nil) }

/// The job's owner is written before it is submitted, and read by the finder. The accessors may be inlined here, where no
/// instrumentation tells the core.
func sign(_ job: Job) {
  ck_plain_write(job.raw + 40, 8)
  job.owner = UnsafeMutableRawPointer(bitPattern: 0x40)
}

func isSigned(_ job: Job) -> Bool {
  ck_plain_read(job.raw + 40, 8)
  return job.owner == UnsafeMutableRawPointer(bitPattern: 0x40)
}

/// Counts the calling scenario's workers as live, `searching` of them as searching; no other one is woken or started.
func setPool(live: Int, searching: Int = 0) {
  engine.pointee.pool.update {
    $0.rawValue = UInt64(live) * PoolState.liveOne + UInt64(searching) * PoolState.searchingOne
  }
}

/// Of `live` workers one sleeps, the others search. Returns the sleeper: its token says that it was woken.
func addSleeper(live: Int, target: Int) -> Worker.Pointer {
  engine.pointee.setParallelism(target)
  setPool(live: live, searching: live)
  let worker = engine.pointee.workers.take()
  engine.pointee.joinIdle(worker)
  return worker
}

/// The monitor counts as awake, and has no thread: what is left to it stays there.
func standInForMonitor() { engine.pointee.monitor.state.store(Monitor.State.awake, ordering: .relaxed) }

/// The calling thread is the worker's.
func become(_ worker: Worker.Pointer) { gc_thread_self().pointee.worker = UnsafeMutableRawPointer(worker) }

/// A timer that is due so many nanoseconds from now, and that nobody hears of.
func makeTimer(_ delay: UInt64) -> UnsafeMutablePointer<TimerEntry> {
  let entry = Memory.allocate(64, alignment: 64).bindMemory(to: TimerEntry.self, capacity: 1)
  entry.initialize(to: TimerEntry(deadline: Clock.uptime.now() + delay))
  return entry
}

/// A queue that runs nothing: what is sent there stays in its list.
func sleepingQueue() -> DispatchQueue { DispatchQueue(label: "sleeping", attributes: .initiallyInactive) }

/// The ends of a pipe, reading and writing.
func makePipe() -> (reading: Int32, writing: Int32) {
  var ends: (Int32, Int32) = (0, 0)
  let error = withUnsafeMutableBytes(of: &ends) { gc_pipe($0.baseAddress!.assumingMemoryBound(to: Int32.self)) }
  require(error == 0, "the scenario has no pipe")
  return (ends.0, ends.1)
}

/// A node for lists and queues: its first word is theirs, the second one a plain number.
struct Node {
  let raw: UnsafeMutableRawPointer

  init(_ number: Int) {
    raw = Memory.allocate(Magazine.nodeSize)
    set(number)
  }

  init(raw: UnsafeMutableRawPointer) { self.raw = raw }

  func set(_ number: Int) {
    ck_plain_write(raw + 8, 8)
    raw.storeBytes(of: number, toByteOffset: 8, as: Int.self)
  }

  var number: Int {
    ck_plain_read(raw + 8, 8)
    return raw.load(fromByteOffset: 8, as: Int.self)
  }

  /// Its memory is gone: a later access is found.
  func free() { Memory.free(raw) }
}
