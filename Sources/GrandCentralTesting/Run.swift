// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

// One run: its threads, of which one goes on at a time, and its clock.
//
// Run.R1  The thread that has the turn is `current`; it alone touches the run's fields. It passes the turn to one that is `ready`.
// Run.R2  `ready` holds the numbers of all threads that can go on, in order, the current one among them. The schedule chooses among
//     them at each point, and at each wait.
// Run.R3  Time stands still while a thread is ready. When none is, it jumps to the next deadline. If there is none, the run is over:
//     all threads wait for ever.
// Run.R4  A run that fails stops where it is: its threads stay where they wait, for nothing unwinds them, and its engine stays with
//     them. A run that ends leaves nothing behind.
// Run.R5  A run that does not get on is given up: the thread that computes, or waits outside, stays where it next comes by. Until
//     then it is in a process that has gone on without it, and uses the run's engine alone (Worlds.E3).
// Run.R6  A run beside which a thread that takes no part has used the library goes on to its end, and has failed then. If it cannot go
//     on, that thread may be the reason, and not a deadlock.
// Run.R7  ThreadSanitizer sees what the program and the library do, and not the run (`SimulatedOrder`). For it a thread's start comes before its
//     steps, and all steps before the end. A `rest` divides what the first thread does before from all that others do in it, and that from what the
//     first thread does then.
// Run.R8  A thread that has the turn, and sleeps outside, loses it. See Run+Outside.
// Run.R9  Nothing waits in real time for the events of sources and channels that come from outside. A run that can only go on by one of
//     them is an escape, and no deadlock. See Run+Events.
final class Run: @unchecked Sendable {  // Run.R1
  static let start: UInt64 = 1_000_000_000_000
  /// Some seconds: the engine's patience is at most half of one.
  static let mostTicks = 3_000

  var members: [Member] = []
  var current = 0
  var ready: [Int] = []
  /// Those that wait for a word, in the order in which they came.
  var sleepers: [Int] = []
  var polls = 0
  /// The step at which those that poll were asked last, because nobody else could go on.
  var lookedAt = -1
  var now = Run.start
  private(set) var events = Events()
  /// Also read by the thread that waits for the run: does it get on?
  let progress = Atomic<Int>(0)
  private(set) var step = 0
  private let limit: Int
  private let schedule: any Schedule
  /// The schedule, if it wants to know what is done.
  let orders: OrderSchedule?
  /// Whether there is a point before each operation of the library's.
  let isFine: Bool
  /// Kinds of points that are there for that alone.
  private let fineKinds = (first: SimulationSupport.asksForTurn, last: SimulationSupport.stopsTimer)
  private let changes = SimulationSupport.changes
  private(set) var record = SwitchRecord()
  let carriers: Carriers
  let places: WaitPlaces?
  /// Passed when the run is over.
  let over = SimulatedTurn()
  var outcome = Outcome.ended
  /// What `Simulation.expect` has found.
  var complaint: String?
  /// Whether a task of the run is on Swift's own executor, where it takes no part.
  var hasTaskOutside = false
  /// What the body had thrown, or `complaint`, when the run failed by something else.
  var earlier: SimulationFailure.Reason?
  /// Run.R6
  var escape: SimulationFailure.Reason?
  /// Run.R9
  var sources = SourcesOfRun()
  /// The run has failed because no thread could go on.
  var waitsForEver = false
  private(set) var timersLeft = 0
  private(set) var leftovers = Leftovers()
  var mainIsCalled = false
  /// Whether a thread has called the first one since that has begun to wait for it.
  var isCalled = false
  /// The run's engine is there.
  private(set) var hasBegun = false
  /// How often workers that nap have looked for a job that is still there.
  var looks = 0
  /// The program has come to its end: how the engine's threads end makes no difference to it.
  private(set) var isClosing = false
  /// For the thread that goes on next, at its point: it adds a worker, and no more.
  private var isToAddWorker = false
  var kernel: SimulatedKernel?
  var descriptors: Descriptors?
  /// Run.R5
  let isGivenUp = Atomic<Bool>(false)
  /// Run.R8
  let outsiders = Outsiders()
  /// What the kernel calls the thread that has the turn.
  var kernelID: UInt32 = 0
  /// How often threads have gone on in the program.
  var timesOut: UInt64 = 0
  /// How often time has passed at this step already, with nothing to come but ticks of the monitor.
  var ticks = (count: 0, step: 0)

  var steps: Int { step }
  var told: ToldEvents { events.told(threads: members.map(\.name)) }

  init(
    _ schedule: any Schedule, processors: Int, limit: Int, carriers: Carriers, isFine: Bool = false,
    places: WaitPlaces? = nil
  ) {
    self.schedule = schedule
    orders = schedule as? OrderSchedule
    self.isFine = isFine
    self.limit = limit
    self.carriers = carriers
    self.places = places
    kernel = SimulatedKernel(
      processors: processors,
      wait: { [unowned self] word, expected, deadline in visit { wait(for: word, while: expected, until: deadline) } },
      wake: { [unowned self] word, count in wakeBoth(word, count) },
      sleep: { [unowned self] time in visit { sleep(time) } },
      now: { [unowned self] in visit { now } },
      start: { [unowned self] name, body in visit { start(name, body) } },
      poll: { [unowned self] timeout, look in visit { poll(timeout, look) } },
      mayEndPolls: { [unowned self] in visit { wakePolls() } },
      note: { [unowned self] kind, queue in visit { note(kind, queue) } },
      misuse: { [unowned self] message in present.fail(.misuse(message)) },
      callMain: { [unowned self] in visit { callMain() } })
  }

  /// No thread is in the run any more.
  func dismantle() {
    kernel = nil
  }

  // MARK: Threads

  /// Starts the run. The calling thread takes no part: it waits for `over`.
  func begin(_ body: @escaping () throws -> Void) {
    SimulatedOrder.unseen {
      guard let first = carriers.take() else {
        // `fail` is for threads that take part: it does not return.
        outcome = .failed(.noThread)
        return over.pass()
      }
      carriers.give(first)
      add("test") { [unowned self] in
        SimulationSupport.beginRun()
        hasBegun = true
        goOut()
        if case .failure(let error) = SimulatedOrder.seen({ Result(catching: body) }) { outcome = .threw(error) }
        comeIn()
        finish()
      }
      current = 0
      members[0].carrier.pass()
    }
  }

  /// The thread may go on at once: what its starter does next comes too late for it then.
  private func start(_ name: String, _ body: @escaping () -> Void) {
    add(name) { [unowned self] in
      goOut()
      SimulatedOrder.seen(body)
      comeIn()
    }
    members[members.count - 1].isComing = true
    countStep()
    if !isFine { point() }
  }

  private func add(_ name: String, _ body: @escaping () -> Void) {
    guard members.count < SimulatedKernel.mostThreads, let carrier = carriers.take() else {
      fail(.noThread)
    }
    let number = members.count
    members.append(Member(name: name, carrier: carrier))
    ready.append(number)
    SimulatedOrder.comesBefore(carrier)
    carrier.prepare { [unowned self] in
      SimulatedOrder.comesAfter(carrier)
      kernel.unsafelyUnwrapped.enter(number: number)
      kernelID = carrier.kernelID
      record(Events.Kind.begins, 0)
      body()
      end(number)
    }
  }

  /// The last step of a thread, which goes back into the real world.
  func end(_ number: Int) {
    record(Events.Kind.ends, 0)
    members[number].wait = .ended
    ready.removeAll { $0 == number }
    if number == 0 { SimulationSupport.endRun() }
    // Found while the thread takes part: it may be the one that sees that nothing can go on, and stay.
    let heir = number == 0 ? nil : next(after: nil)
    SimulatedKernel.leave()
    members[number].entry = nil
    carriers.give(members[number].carrier)
    SimulatedOrder.comesBefore(self)
    guard let heir else { return over.pass() }
    hand(heir)
  }

  /// The thread of that number goes on; the calling one has nothing more to do with the run.
  func hand(_ heir: Int) {
    current = heir
    members[heir].isComing = false
    members[heir].carrier.pass()
  }

  /// The body has returned: what it has started comes to its end, or does not.
  private func finish() {
    rest(.untilEnd)
    if members.contains(where: { isStuck($0) }) { fail(.deadlock(describeWaits())) }
    timersLeft = SimulationSupport.timersLeft
    isClosing = true
    dropDelayed()
    while !SimulationSupport.engineIsStill {
      SimulationSupport.closeEngine()
      rest(.untilClosed)
    }
    lookForStrangers()
  }

  /// Whether the thread waits for something other than work.
  func isStuck(_ member: Member) -> Bool {
    switch member.wait {
    case .nothing, .rest, .ended: false
    case .word, .sleep, .poll, .outside: !member.isIdle && !member.isMonitor
    }
  }

  /// What is begun and not ended now, a sentence for each. By a thread of the run.
  var leftNow: [String] { leftovers.sentences(timers: SimulationSupport.timersLeft) }

  // MARK: Points and waits

  func record(_ kind: UInt8, _ queue: UInt32) {
    countStep()
    events.add(Events.Event(step: step, time: now, thread: current, kind: kind, queue: queue))
    if step > limit { fail(.endless(describeWaits())) }
  }

  /// One step more: a schedule tells points apart by that.
  func countStep() {
    step += 1
    // relaxed: only whether it changes.
    progress.store(step, ordering: .relaxed)
  }

  /// Another thread may go on here, unless what the thread has just done is independent of all that others do: then they could as
  /// well have gone on before.
  func note(_ kind: UInt8, _ queue: UInt32) {
    if kind == changes { sources.note(SimulationSupport.object) }
    let isOnlyFine = kind >= fineKinds.first && kind <= fineKinds.last
    if isOnlyFine, !isFine || !hasBegun { return }
    if let orders, hasBegun, !isClosing { orders.note(kind, queue, by: current, at: now) }
    if kind == SimulationSupport.isBeyondOrders || isOnlyFine && queue == SimulationSupport.isPart { return }
    if isOnlyFine || kind == SimulationSupport.done || kind == SimulationSupport.claims {
      countStep()
      return point()
    }
    leftovers.note(kind, queue)
    members[current].note(kind, queue)
    record(kind, queue)
    // From its start until then a worker has touched nothing but its own record.
    if kind == SimulationSupport.workerBegins || isFine && SimulationSupport.isInside(kind) { return }
    point()
  }

  func point() {
    settle()
    if isFine {
      endNaps()
      addWorker()
    }
    if ready.count < 2, orders == nil { return }
    members[current].isAtPoint = true
    go(to: choose(current: current))
    while isToAddWorker {
      isToAddWorker = false
      addWorker()
      go(to: next(after: nil))
    }
    members[current].isAtPoint = false
  }

  private func wait(for address: UnsafeRawPointer, while expected: UInt32, until deadline: UInt64) -> Bool {
    // unsafe: the address of an atomic word.
    // relaxed: a look. A thread that changes the word, and has no turn, comes in before it wakes those that wait.
    if address.assumingMemoryBound(to: Atomic<UInt32>.self).pointee.load(ordering: .relaxed) != expected { return true }
    if deadline <= now { return false }
    sleepers.append(current)
    return block(.word(address), until: deadline)
  }

  func sleep(_ nanoseconds: UInt64) { block(.sleep, until: now.addingSaturated(nanoseconds)) }

  private func poll(_ timeout: UInt64, _ look: () -> Int) -> Int {
    let deadline = timeout == .max ? timeout : now.addingSaturated(timeout)
    while true {
      let count = look()
      if count != 0 || now >= deadline { return count }
      // Until a descriptor may have become ready.
      polls += 1
      block(.poll, until: deadline)
    }
  }

  func wakePolls() {
    if polls == 0 { return }
    for number in members.indices where members[number].wait == .poll { release(number, wasWoken: true) }
  }

  @discardableResult
  func block(_ wait: Wait, until deadline: UInt64) -> Bool {
    let me = current
    members[me].wait = wait
    members[me].deadline = deadline
    members[me].waits += 1
    places?.note(me, members[me].name, waits: members[me].waits)
    members[me].isIdle = SimulationSupport.isIdle
    members[me].naps = SimulationSupport.naps
    members[me].entry = SimulationSupport.currentEntry
    ready.removeAll { $0 == me }
    go(to: next(after: nil))
    return members[me].wasWoken
  }

  /// The thread can go on.
  func release(_ number: Int, wasWoken: Bool) {
    switch members[number].wait {
    case .word: sleepers.removeAll { $0 == number }
    case .poll: polls -= 1
    case .nothing, .sleep, .rest, .outside, .ended: break
    }
    members[number].wait = .nothing
    members[number].deadline = .max
    members[number].wasWoken = wasWoken
    members[number].isComing = members[number].isIdle
    ready.insert(number, at: ready.firstIndex { $0 > number } ?? ready.count)
  }

  func next(after thread: Int?) -> Int {
    settle()
    while ready.isEmpty { letTimePass() }
    if isFine {
      endNaps()
      // The calling thread waits already.
      if wantsWorker, let helper = ready.first(where: { members[$0].isAtPoint }) {
        isToAddWorker = true
        return helper
      }
    }
    return ready.count == 1 && orders == nil ? ready[0] : choose(current: thread)
  }

  private func choose(current thread: Int?) -> Int {
    if isClosing { return Switch.usual(among: ready, current: thread) }
    let chosen = schedule.choose(among: ready, current: thread, from: current)
    if ready.count > 1 { record.add(chosen, among: ready, current: thread, from: current) }
    return chosen
  }

  private func go(to number: Int) {
    members[number].isComing = false
    if number == current { return }
    SimulatedOrder.comesBefore(self)
    members[current].entry = SimulationSupport.currentEntry
    let me = members[current].carrier
    current = number
    let heir = members[number].carrier
    SimulatedKernel.setAside {
      heir.pass()
      me.wait()
    }
    kernelID = me.kernelID
    SimulatedOrder.comesAfter(members[0].carrier)
  }
}

#if !GRANDCENTRAL_DROPIN
  extension UInt64 {
    func addingSaturated(_ other: UInt64) -> UInt64 {
      let (sum, overflow) = addingReportingOverflow(other)
      return overflow ? .max : sum
    }
  }
#endif
