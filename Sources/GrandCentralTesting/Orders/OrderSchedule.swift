// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

/// Follows a search for all orders through one run: lets eager threads go on, chooses among processes elsewhere, and tells the search
/// what was done. See Operation.swift.
final class OrderSchedule: Schedule {
  typealias Name = UInt64

  private(set) var places: [Place]
  /// What was not seen, or not done, of what Operation.swift speaks of.
  private(set) var gaps: OrderGaps = []
  /// Order.R2
  private(set) var isRedundant = false

  private static let touch = Operation(kind: .touches, object: 0)

  private let dependence: Dependence
  /// Whether the program is known to yield; and whether it has.
  private let yields: Bool
  private(set) var hasYielded = false
  private var followed: Int
  private var trace = OrderTrace()
  private var members: [Member]
  private var processes: [Process]
  private var active: Active?
  private var queues = KnownQueues()
  /// Items of serial queues that have not begun.
  private var waiting: [UInt32: [Submission]] = [:]
  /// What has come before the last end on a serial queue.
  private var ends: [UInt: StepClock] = [:]
  /// Now; and how many processes have begun at this instant behind no step, and for events.
  private var instant: (time: UInt64, begun: Int, fired: Int) = (0, 0, 0)
  private var rest = StepClock()

  init(_ places: [Place], _ dependence: Dependence, yields: Bool) {
    self.yields = yields
    self.places = places
    self.dependence = dependence
    followed = places.count
    members = [Member(process: 0)]
    processes = [Process(name: 1, clock: StepClock())]
  }

  // MARK: What is done

  /// Called behind each note of the library's, before another thread may go on.
  func note(_ kind: UInt8, _ queue: UInt32, by thread: Int, at time: UInt64) {
    know(thread)
    if time != instant.time { instant = (time, 0, 0) }
    if members[thread].process == nil {
      if kind == SimulationSupport.firesTimers || active == nil && Self.isOfEvent(kind) {
        instant.fired += 1
        members[thread].isFiring = true
        begin(thread, as: Self.name(instant.time, instant.fired, 0), submission: nil, on: [])
      } else if Self.isOfProgram(kind) {
        lacks(.loop)
        members[thread].isBare = true
        begin(thread, submission: nil, on: [])
      }
    }
    switch kind {
    case SimulationSupport.itemBegins: itemBegins(thread, queue)
    case Events.Kind.itemEnds: itemEnds(thread, queue)
    case SimulationSupport.submits:
      ask(thread, queue)
      noteSubmission(thread, queue)
    // A thread asks for its turn on a queue upon a queue from above, for one after the other.
    case SimulationSupport.asksForTurn:
      add(queues.chain(queue).prefix(1).map { Operation(kind: .asks, object: $0) }, thread)
    case SimulationSupport.syncBegins:
      if let process = members[thread].process { processes[process].entered += queues.serial(queue) }
      if yields { add([Self.touch], thread) }
    case SimulationSupport.syncEnds:
      if let process = members[thread].process { processes[process].leaves += queues.serial(queue) }
      add(asksBelow(queue), thread)
    case SimulationSupport.suspends: lacks(.suspendedQueue)
    case SimulationSupport.isBeyondOrders: lacks(Self.gap(queue))
    case SimulationSupport.queueGoes:
      queues.forget(queue)
      waiting[queue] = nil
    case SimulationSupport.retargets: lacks(.changedTarget)
    case SimulationSupport.applies:
      lacks(.loop)
      stopBare(thread)
    case SimulationSupport.hasSlept: stopBare(thread)
    case SimulationSupport.done:
      // The thread has not got it, and is about to join those that wait.
      if queue == 1, let active, active.process == members[thread].process { add(active.operations, thread) }
    case Events.Kind.yield:
      hasYielded = true
      if active?.process == members[thread].process { active?.operations.append(Self.touch) }
      add([Self.touch], thread)
    default:
      guard let operation = Operation.kind(of: kind) else { break }
      add([Operation(kind: operation, object: operation.isOnTimers ? 0 : SimulationSupport.object)], thread)
    }
    if !queues.areAllKnown { lacks(.tooFewNumbers) }
    if queues.areSorted { lacks(.sortedQueue) }
  }

  func lacks(_ gap: OrderGap) {
    // A run that was given up goes on without an order.
    if !isRedundant { gaps.insert(OrderGaps(gap)) }
  }

  private static func gap(_ word: UInt32) -> OrderGap {
    let (tasks, references, locks, activation, asyncAndWait, pools) = SimulationSupport.beyond
    return switch word {
    case tasks: .tasks
    case references: .lastReference
    case locks: .libraryLock
    case activation: .activation
    case asyncAndWait: .asyncAndWait
    case pools: .queuePool
    default: .kernel
    }
  }

  /// What engine threads do not do by themselves.
  private static func isOfProgram(_ kind: UInt8) -> Bool {
    switch kind {
    case Events.Kind.yield, SimulationSupport.signals, SimulationSupport.awaitsSignal, SimulationSupport.enters,
      SimulationSupport.leaves, SimulationSupport.awaitsGroup, SimulationSupport.asksForTurn,
      SimulationSupport.asksToNotify, SimulationSupport.syncBegins,
      SimulationSupport.syncEnds:
      true
    default: false
    }
  }

  /// What a thread does first for an event that has come with the time.
  private static func isOfEvent(_ kind: UInt8) -> Bool {
    kind == SimulationSupport.changes || kind == SimulationSupport.submits
  }

  private func stopBare(_ thread: Int) {
    if !members[thread].isBare, !members[thread].isFiring { return }
    members[thread].isBare = false
    members[thread].isFiring = false
    members[thread].process = nil
  }

  /// Those that have handed out their events, and wait for others.
  private func stopFiring(except ready: [Int]) {
    for thread in members.indices where members[thread].isFiring && !ready.contains(thread) { stopBare(thread) }
  }

  private func know(_ thread: Int) {
    while members.count <= thread { members.append(Member()) }
  }

  /// Of the thread's next step; of the step under way for an eager thread.
  private func add(_ operations: [Operation], _ thread: Int) {
    if let process = members[thread].process {
      processes[process].upcoming += operations
    } else {
      active?.operations += operations
    }
  }

  private func ask(_ thread: Int, _ queue: UInt32) {
    add(queues.chain(queue).map { Operation(kind: .asks, object: $0) }, thread)
  }

  /// A queue that stands on another one, at the end of a turn: if it is empty now, it has its next turn there behind all that wait. If it is not,
  /// it may ask for that turn now.
  private func asksBelow(_ queue: UInt32) -> [Operation] {
    queues.chain(queue).dropFirst().map { Operation(kind: .asks, object: $0) }
  }

  private func noteSubmission(_ thread: Int, _ queue: UInt32) {
    let process = members[thread].process ?? active?.process
    if let process { processes[process].submissions += 1 }
    guard queues.kind(queue) == .serial else { return }
    // Where time has let it come it is behind all that was.
    let one = process ?? 0
    let step = process == nil ? 0 : processes[one].steps + (members[thread].process == nil ? 0 : 1)
    let submission = Submission(process: one, step: step, number: processes[one].submissions)
    if members[thread].process == nil {
      waiting[queue, default: []].append(submission)
    } else {
      // Until then others may put theirs in.
      processes[one].submitting.append((queue, submission))
    }
  }

  private func itemBegins(_ thread: Int, _ queue: UInt32) {
    let submission = waiting[queue]?.isEmpty ?? true ? nil : waiting[queue]?.removeFirst()
    stopBare(thread)
    if let process = members[thread].process {
      processes[process].entered += queues.serial(queue)
      if let submission { processes[process].submitted.append(submission) }
    } else {
      begin(thread, submission: submission, on: queues.serial(queue))
    }
    members[thread].depth += 1
    if yields { add([Self.touch], thread) }
  }

  private func itemEnds(_ thread: Int, _ queue: UInt32) {
    members[thread].depth -= 1
    let isLast = thread != 0 && members[thread].depth <= 0
    let operations = asksBelow(queue)
    if operations.isEmpty {
      active?.leaves += queues.serial(queue)
      if isLast { members[thread].process = nil }
    } else if let process = members[thread].process {
      // A step by itself, wherever the one before it has ended: what a process does next must not depend on what others have done.
      processes[process].leaves += queues.serial(queue)
      add(operations, thread)
      members[thread].isEnding = isLast
    }
  }

  /// A process begins on an eager thread.
  private func begin(_ thread: Int, submission: Submission?, on serial: [UInt]) {
    let name: Name
    if let submission, submission.step > 0 {
      name = Self.name(processes[submission.process].name, submission.number, 0)
    } else if let active {
      processes[active.process].begun += 1
      let parent = processes[active.process]
      name = Self.name(parent.name, parent.submissions, parent.begun)
    } else {
      instant.begun += 1
      name = Self.name(instant.time, 0, instant.begun)
    }
    begin(thread, as: name, submission: submission, on: serial)
  }

  private func begin(_ thread: Int, as name: Name, submission: Submission?, on serial: [UInt]) {
    var process = Process(name: name, clock: rest)
    process.entered = serial
    if let submission { process.submitted = [submission] }
    members[thread].process = processes.count
    active?.woken.append(processes.count)
    processes.append(process)
  }

  private static func name(_ parent: UInt64, _ number: Int, _ child: Int) -> Name {
    OrderTrace.mix(OrderTrace.mix(parent, UInt64(number)), UInt64(child))
  }

  /// No process can go on: what comes next comes behind all of it.
  func allWait() {
    endStep()
    stopFiring(except: [])
    rest = trace.all
    for index in processes.indices { processes[index].clock.join(rest) }
    for index in members.indices { members[index].wasReady = false }
  }

  // MARK: What comes next

  func choose(among ready: [Int], current: Int?, from thread: Int) -> Int {
    know(ready[ready.count - 1])
    stopFiring(except: ready)
    for one in ready where !members[one].wasReady {
      guard let process = members[one].process else { continue }
      active?.woken.append(process)
      // Its deadline may have come: then it gives up what it has waited for.
      if active == nil { processes[process].upcoming += trace.lastOperations(of: process) }
    }
    for index in members.indices { members[index].wasReady = false }
    for one in ready { members[one].wasReady = true }
    if let current, members[current].process == nil { return current }
    for one in ready where members[one].process == nil { return one }
    if SimulationSupport.hasUntaken { lacks(.untakenItem) }
    endStep()
    if isRedundant { return current ?? ready[0] }
    guard let chosen = go(ready, current) else {
      isRedundant = true
      return current ?? ready[0]
    }
    beginStep(chosen)
    return chosen
  }

  private func name(of thread: Int) -> Name { members[thread].process.map { processes[$0].name } ?? 0 }

  /// The thread whose process goes on at the next place; nil if all sleep.
  private func go(_ ready: [Int], _ current: Int?) -> Int? {
    let index = trace.count
    if index < followed {
      if let wanted = ready.first(where: { name(of: $0) == places[index].chosen }) { return wanted }
      // Order.R4: the process cannot go on here.
      lacks(.lostWay)
      places.removeSubrange(index...)
      followed = index
    }
    var sleep: [Name: Int] = [:]
    if let before = places.last, dependence.extent == .classes {
      for thread in ready {
        guard let process = members[thread].process, let count = before.sleep[processes[process].name],
          processes[process].name != before.chosen
        else { continue }
        // Objects have other numbers in each run: what it would do is known by what it has noted. The pool's part is not.
        let upcoming = processes[process].upcoming
        let stays =
          upcoming.count == count ? !dependence.holds(upcoming, before.operations) : before.operations.isEmpty
        if stays { sleep[processes[process].name] = count }
      }
    }
    let awake = ready.filter { sleep[name(of: $0)] == nil }
    guard let first = awake.first else { return nil }
    // The same one as before: that is the shortest search. For ThreadSanitizer the oldest one, the body's above all: then items stand
    // before their beginnings side by side, each on a worker of its own, and it sees their races.
    let usual = SimulatedOrder.isWatched ? nil : current.flatMap { awake.contains($0) ? $0 : nil }
    var chosen = usual ?? first
    let names = ready.map { name(of: $0) }
    var wanted: [Name]?
    if dependence.extent == .operations, let quiet = ready.first(where: { isQuiet($0) }) {
      chosen = quiet
    } else if dependence.extent != .classes {
      wanted = names
    }
    let its = self.name(of: chosen)
    places.append(Place(ready: names, sleep: sleep, wanted: wanted ?? [its], chosen: its))
    return chosen
  }

  private func isQuiet(_ thread: Int) -> Bool {
    members[thread].process.map { processes[$0].upcoming.isEmpty } ?? true
  }

  private func beginStep(_ thread: Int) {
    guard let process = members[thread].process else { return }
    // What has let it come to where it stands.
    for submission in processes[process].submitted where submission.step > 0 {
      if let clock = trace.clock(of: submission.process, step: submission.step) {
        processes[process].clock.join(clock)
      }
    }
    for queue in processes[process].entered {
      if let clock = ends[queue] { processes[process].clock.join(clock) }
    }
    for (queue, submission) in processes[process].submitting { waiting[queue, default: []].append(submission) }
    processes[process].submitting = []
    processes[process].submitted = []
    processes[process].entered = []
    processes[process].steps += 1
    active = Active(
      process: process, operations: processes[process].upcoming, leaves: processes[process].leaves)
    processes[process].upcoming = []
    processes[process].leaves = []
    if members[thread].isEnding {
      members[thread].isEnding = false
      members[thread].process = nil
    }
  }

  /// Behind a step, with all that it has brought about.
  private func endStep() {
    guard let active else { return }
    self.active = nil
    let place = trace.count
    let step = OrderTrace.Step(
      process: active.process, name: processes[active.process].name, number: processes[active.process].steps,
      operations: active.operations)
    let (clock, races) = trace.add(step, behind: processes[active.process].clock, dependence)
    processes[active.process].clock = clock
    for process in active.woken { processes[process].clock.join(clock) }
    for queue in active.leaves { ends[queue] = clock }
    places[place].operations = active.operations
    // The races of what was followed are known, but for those of its last step.
    if dependence.extent == .classes, place + 1 >= followed { for race in races { turnRound(race, place) } }
  }

  func end() { endStep() }

  /// Follows from the class of the run.
  var classHash: UInt64 { trace.hash(dependence) }

  /// Order.R1
  private func turnRound(_ earlier: Int, _ later: Int) {
    let first = trace.firstSteps(notBehind: earlier, upTo: later).map { processes[$0].name }
    if first.contains(where: { places[earlier].wanted.contains($0) || places[earlier].sleep[$0] != nil }) { return }
    if let one = first.first(where: { places[earlier].ready.contains($0) }) {
      places[earlier].wanted.append(one)
    } else {
      for one in places[earlier].ready where !places[earlier].wanted.contains(one) {
        places[earlier].wanted.append(one)
      }
    }
  }
}
