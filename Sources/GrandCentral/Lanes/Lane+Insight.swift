// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// What a queue's records say. All of it runs only while recording is on.
extension Lane {
  /// The queue's number in the insight region, given when it is first asked for; 0 if there is none to give.
  final var insightNumber: UInt32 {
    let seen = insight.known
    return seen != 0 ? seen : numberInsight(suspensions: nil, levels: Self.levelsAtOnce)
  }

  /// So many levels of targets get a number together: a chain may be longer than a stack is deep.
  private static let levelsAtOnce = 64

  @inline(never)
  @_optimize(size)
  private final func numberInsight(suspensions: Int?, levels: Int) -> UInt32 {
    let target = targetForInsight(levels)
    let count = suspensions ?? countSuspensions()
    let facts = InsightObjects.Facts(
      kind: insightKind, address: reference.word, label: name, target: target,
      // relaxed: what it is now.
      qos: ownQoS.rawValue >> 8, width: width.load(ordering: .relaxed),
      begin: InsightObjects.State(
        suspensions: UInt32(clamping: count), isInactive: state.load(ordering: .relaxed).has(LaneState.inactive)))
    return insight.give(facts)
  }

  @_optimize(size)
  private final func countSuspensions() -> Int {
    extrasReference?.use { extras in extras.lock.withLock { extras.suspensions } } ?? 0
  }

  /// The number of the target. A target without one gets one, because a tool shows the chain.
  private final func targetForInsight(_ levels: Int) -> UInt32 {
    if kind.isBuiltIn || levels == 0 { return 0 }
    var number: UInt32 = 0
    withTarget { target in
      let seen = target.insight.known
      number = seen != 0 ? seen : target.numberInsight(suspensions: nil, levels: levels - 1)
    }
    return number
  }

  private final var insightKind: InsightObjects.Kind {
    switch kind {
    case .serial, .counted: .serial
    case .concurrent: .concurrent
    case .sorted: .workloop
    case .main: .main
    case .runQueue: .global
    }
  }

  /// Where the state is, from the queue's address: a tool that may read the process's memory finds there which thread holds the
  /// queue at that moment.
  final var placeOfState: UInt32 { UInt32(truncatingIfNeeded: state.address &- reference.bits) }

  /// The queue has been suspended once more, or once less; the caller holds the lock of its extras. The queue gets a number, so
  /// that a tool that looks at a program that hangs sees the suspension. So does a queue that is made inactive.
  final func noteSuspensions(_ count: Int, _ kind: Recorder.Kind) {
    guard InsightRegion.awaited != nil else { return }
    let known = insight.known
    let number = known != 0 ? known : numberInsight(suspensions: count, levels: Self.levelsAtOnce)
    InsightObjects.suspend(number, UInt32(clamping: count))
    if Recorder.isOn { Recorder.note(kind, queue: number) }
  }

  /// The queue has another target; the caller holds no lock.
  @inline(never)
  @_optimize(size)
  final func noteTarget(_ target: Lane) {
    let number = Recorder.isOn ? insightNumber : insight.known
    if number == 0 { return }
    let above = target.insightNumber
    InsightObjects.retarget(number, above)
    if Recorder.isOn { Recorder.note(.retarget, queue: number, argument: above) }
  }

  final func noteActivation() {
    let number = insight.known
    if number != 0 { InsightObjects.activate(number) }
  }

  // MARK: Records

  /// An item has been put into this queue.
  @inline(never)
  final func recordSubmission(of job: Job) {
    // A lane that goes through its target is no item, and neither is a thread that waits for its turn.
    if job.flags.contains(.waiter) || Self.isPassage(job) { return }
    Recorder.note(
      .submit, queue: insightNumber, argument: Self.insightNumber(of: job), word: UInt64(Self.function(of: job)))
    if Probes.areOn { probePush(job) }
    if kind.isRunQueue { recordOnGlobal(job) }
  }

  @inline(never)
  final func runRecorded(_ job: Job) { record(job) { job.run() } }

  @inline(never)
  final func endSyncRecorded(_ context: UnsafeMutablePointer<QueueContext>) {
    recordSync(.syncEnd)
    endSyncUnseen(context)
  }

  /// Runs `body`, which is the work of `job`, and records it as an item of this queue.
  @inline(never)
  final func record(_ job: Job, _ body: () -> Void) {
    if Self.isPassage(job) { return body() }
    recordItem(job, body)
  }

  private final func recordItem(_ job: Job, _ body: () -> Void) {
    let number = insightNumber
    let argument = Self.insightNumber(of: job)
    let function = UInt64(InsightLayout.code(of: job.bits, calledBy: Self.function(of: job)))
    // The recorder writes an item down at its end; a simulation may let another thread go on before it begins.
    World.current?.note(World.itemBegins, number)
    let begun = Cycles.now
    let outer = InsightThread.ready?.beginItem(of: number, function, at: begun)
    let probed = Probes.areOn ? probeBegin(job) : nil
    body()
    if let probed { probeEnd(probed) }
    let ended = Cycles.now
    Recorder.note(.item, from: begun, to: ended, queue: number, argument: argument, word: function)
    // The thread may have left the region meanwhile, in the child of a fork.
    InsightThread.current?.endItem(outer)
  }

  /// Items of a global queue are jobs of the engine, which knows no queues: the job names its queue, and the function to
  /// record.
  private final func recordOnGlobal(_ job: Job) {
    // As in `nameQueue`: the job's own link is free, and global queues live for ever.
    job.link = reference.word
    job.inner = job.invoke
    job.invoke = Lane.recordedOnGlobal
  }

  static func isRecordedOnGlobal(_ job: Job) -> Bool { address(job.invoke) == address(recordedOnGlobal) }

  static let recordedOnGlobal: Job.Invoke = { raw in
    let job = Job(raw: raw)
    // unsafe: see `recordOnGlobal`.
    Borrowed<Lane>(word: job.link!).use { queue in
      if job.band == queue.ownQoS.band {
        queue.recordItem(job) { job.inner(raw) }
      } else {
        // In another band: as `nameQueue` does it.
        var context = QueueContext()
        _withUnprotectedUnsafeMutablePointer(to: &context) { context in
          QueueContext.push(context, queue, .nothing)
          queue.recordItem(job) { job.inner(raw) }
          QueueContext.pop(context)
        }
      }
    }
  }

  /// Whether the job only leads to other jobs.
  private static func isPassage(_ job: Job) -> Bool {
    let runner = runner(of: job)
    return runner == address(activation) || runner == address(redirectedInWrapper)
  }

  static func address(_ invoke: Job.Invoke) -> UInt { unsafeBitCast(invoke, to: UInt.self) }

  /// Nodes are 64 bytes: these are the bits in which they differ.
  private static func insightNumber(of job: Job) -> UInt32 {
    UInt32(truncatingIfNeeded: job.bits >> 6)
  }

  /// The address of the item's code: the closure's function or the C function, otherwise the function that runs the item.
  @inline(never)
  static func function(of job: Job) -> UInt {
    job.flags.isDisjoint(with: .hasWords) ? runner(of: job) : job.bodyFunction
  }

  /// The address of the function that runs the job in the end: behind a reader's way through a global queue, a record, or a count.
  @inline(never)
  @_optimize(size)
  static func runner(of job: Job) -> UInt {
    let invoke = address(job.invoke)
    // relaxed: set once; what has published a job of a lane that counts has published this.
    let counting = countingRunner.load(ordering: .relaxed)
    let isWrapped = invoke == address(redirected) || invoke == address(recordedOnGlobal) || invoke == counting
    return isWrapped ? address(job.inner) : invoke
  }

  // MARK: Synchronous items

  @inline(never)
  final func beginSyncRecorded(_ context: UnsafeMutablePointer<QueueContext>, barrier: Bool) -> Bool {
    tellQuestion()
    let begins = beginSyncUnseen(context, barrier: barrier)
    if begins { recordSync(.syncBegin) }
    return begins
  }

  /// In a simulation: the step that follows asks for a turn on the lane.
  @inline(never)
  final func tellQuestion() { World.current?.note(World.asksForTurn, insightNumber) }

  @inline(never)
  final func recordSync(_ kind: Recorder.Kind) {
    Recorder.note(kind, queue: insightNumber)
    if Probes.areOn { probeSync(begins: kind == .syncBegin) }
  }
}
