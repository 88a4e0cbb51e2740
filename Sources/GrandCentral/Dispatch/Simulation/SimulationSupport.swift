// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What `GrandCentralTesting` needs of the engine: the switch to the simulated world, an engine of its own for each run, and what the
// library knows of threads that wait. The Embedded build and the drop-in have no such product, but for the drop-in that simulates
// whole processes.
#if !hasFeature(Embedded) && (!GRANDCENTRAL_DROPIN || GRANDCENTRAL_SIMULATION)
  import CPlatform
  import Synchronization

  /// The functions that stand in for the kernel; see World.swift.
  package struct SimulatedKernel: @unchecked Sendable {  // used by one thread at a time (World.U1)
    fileprivate let functions: World.Functions

    @_optimize(size) package init(
      processors: Int,
      wait: @escaping (_ address: UnsafeRawPointer, _ expected: UInt32, _ deadline: UInt64) -> Bool,
      wake: @escaping (_ address: UnsafeRawPointer, _ count: Int) -> Int,
      sleep: @escaping (_ nanoseconds: UInt64) -> Void,
      now: @escaping () -> UInt64,
      start: @escaping (_ name: String, _ body: @escaping () -> Void) -> Void,
      poll: @escaping (_ timeout: UInt64, _ look: () -> Int) -> Int,
      mayEndPolls: @escaping () -> Void,
      note: @escaping (_ kind: UInt8, _ queue: UInt32) -> Void,
      misuse: @escaping (_ message: String) -> Never,
      callMain: @escaping () -> Void
    ) {
      functions = World.Functions(
        wait: { word, expected, deadline in Sanitizer.unseen { wait(word, expected, deadline) } },
        wake: { word, count in Sanitizer.unseen { wake(word, count) } },
        sleep: { time in Sanitizer.unseen { sleep(time) } },
        now: { Sanitizer.unseen(now) },
        start: { name, body in Sanitizer.unseen { start(name, body) } },
        poll: { timeout, look in Sanitizer.unseen { poll(timeout) { Sanitizer.seen(look) } } },
        mayEndPolls: { Sanitizer.unseen(mayEndPolls) },
        note: { kind, queue in Sanitizer.unseen { note(kind, queue) } },
        misuse: { message in Sanitizer.unseen { misuse(message) } },
        callMain: { Sanitizer.unseen(callMain) },
        processors: processors)
    }

    /// The calling thread is the simulation's thread of this number from now on.
    package func enter(number: Int) { World.enter(functions, number: number) }

    /// The calling thread is about to leave the simulation, and what it keeps goes with it.
    package static func leave() {
      Magazine.flushThread()
      World.leave()
    }

    /// While the calling thread has no turn the handler of a signal may run on it, which is in the real world.
    package static func setAside(_ body: () -> Void) { World.setAside(body) }

    package static let mostThreads = World.mostThreads
  }

  /// Where a thread of a simulation waits for its turn, in the real world.
  package struct SimulatedTurn: Sendable {
    private let baton = Baton()
    package init() {}
    package func pass() { baton.pass() }
    package func wait() { baton.wait() }
    /// As `wait`, for so long at most; false if the time has passed.
    package func wait(nanoseconds: UInt64) -> Bool { baton.wait(nanoseconds: nanoseconds) }
    /// What the thread does is unseen (`SimulatedOrder`).
    package static func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
      Baton.startThread { Sanitizer.unseen(body) }
    }
    /// What the kernel calls the calling thread, which takes no part now.
    package static var kernelID: UInt32 { Thread.id }
  }

  /// What ThreadSanitizer sees of a simulation: the program and the library, as if each thread had a processor. It does not see how the
  /// turn goes from thread to thread, nor what the simulation notes.
  package enum SimulatedOrder {
    package static func unseen<Result>(_ body: () -> Result) -> Result { Sanitizer.unseen(body) }
    /// Inside of `unseen`.
    package static func seen<Result>(_ body: () -> Result) -> Result { Sanitizer.seen(body) }
    /// Inside of `unseen`: what the thread has done so far comes before whatever follows a `comesAfter` with the same object.
    @_optimize(size) package static func comesBefore(_ object: AnyObject) {
      seen { Sanitizer.comesBefore(object) }
    }
    /// Inside of `unseen`.
    @_optimize(size) package static func comesAfter(_ object: AnyObject) {
      seen { Sanitizer.comesAfter(object) }
    }
    /// Whether it is there.
    package static let isWatched = Sanitizer.isWatched
    /// How many reports it has made.
    package static var reports: Int { Sanitizer.reports }
    /// Calls the function behind each report, on the thread that has raced; nil calls none.
    package static func listen(_ heard: (@convention(c) () -> Void)?) { Sanitizer.listen(heard) }
  }

  package enum SimulationSupport {
    // MARK: The process's engine makes room

    /// What is put back when the simulations are over.
    package struct Outside {
      fileprivate let cycles: Settings.Cycles
    }

    /// Puts the process's engine aside, for threads that take no part. Nil if its threads do not come to rest: something still runs
    /// or waits in it.
    @_optimize(size) package static func leaveRealWorld() -> Outside? {
      let engine = Engine.existing
      if let engine {
        var patience = 2_000
        engine.pointee.close()
        while !engine.pointee.isStill {
          patience -= 1
          if patience == 0 {
            engine.pointee.reopen()
            return nil
          }
          Thread.sleep(nanoseconds: 500_000)
          engine.pointee.close()
        }
      }
      InsightRegion.makeAndAwait()
      let outside = Outside(cycles: Settings.cycles)
      World.setBegun(true)
      Engine.goApart()
      // The simulation finds deadlocks by itself, and goes on.
      Settings.setCycles(.off)
      Backoff.neverSpin(true)
      Cycles.countAsLong(true)
      return outside
    }

    package static func returnToRealWorld(_ outside: Outside) {
      Cycles.countAsLong(false)
      Backoff.neverSpin(false)
      Settings.setCycles(outside.cycles)
      World.setBegun(false)
      Engine.takeBackSignals()
      Engine.comeTogether()
      Engine.existing?.pointee.reopen()
    }

    /// A run is given up: one of its threads may go on at any time.
    package static func giveUpRun() {
      stopNotes()
      Engine.stayApart()
    }

    // MARK: Tasks of Swift

    /// The time of the run that the calling thread takes part in; else 0.
    package static func now() -> UInt64 { World.current?.now() ?? 0 }

    /// Swift's clocks go with the time of the run, on its threads.
    package static func noteSwiftClocks() {
      // relaxed: set once, before the first run.
      World.haveSwiftClocks.store(true, ordering: .relaxed)
    }

    private static let isPoolOfTasks = Atomic<Bool>(false)

    /// Tasks that prefer no queue take part in a run, because they are on the library's pool.
    package static func noteTasksPool() {
      // relaxed: set once, before anything starts a task.
      isPoolOfTasks.store(true, ordering: .relaxed)
    }

    /// Whether such a task, which the calling thread has started, takes no part in its run.
    package static func isTaskOutside() -> Bool {
      // relaxed: see above.
      isSimulated && !isPoolOfTasks.load(ordering: .relaxed)
    }

    // MARK: Misuse of the kit

    package enum Misuse { case nested, processors, runs }

    package static func fail(_ misuse: Misuse, _ text: String) -> Never {
      switch misuse {
      case .nested: Fault.misuse(.simulationInsideSimulation, text)
      case .processors: Fault.misuse(.simulatedProcessorsOutOfRange, text)
      case .runs: Fault.misuse(.simulationWithoutRuns, text)
      }
    }

    // MARK: A run

    private static let runs = Atomic<UInt32>(0)

    /// The first thread of a run: a fresh engine is there from now on, and what would be recorded is told to the simulation.
    @_optimize(size) package static func beginRun() {
      // relaxed: a number.
      World.current?.run = runs.wrappingAdd(1, ordering: .relaxed).newValue
      World.current?.engine = UnsafeMutableRawPointer(Engine.makeApart())
      #if !GRANDCENTRAL_DROPIN
        World.current?.main = SimulatedMainQueue()
      #endif
      InsightRegion.turnOn(InsightLayout.Switch.simulate)
    }

    /// Nothing is told any more. For a run that ends without `endRun`, too, whose engine stays with its threads.
    package static func stopNotes() { InsightRegion.turnOff(InsightLayout.Switch.simulate) }

    /// Has the engine's threads end that have nothing to do; the run's first thread then lets them.
    package static func closeEngine() { Engine.shared.pointee.close() }

    package static var engineIsStill: Bool { Engine.shared.pointee.isStill }

    /// How many timers have not fired.
    package static var timersLeft: Int { Engine.current.timers.count }

    /// Whether there is something to do that no thread has taken on yet.
    package static var isOwed: Bool { Engine.current.isOwed }

    /// Whether there is a job that no worker has taken yet.
    package static var hasUntaken: Bool { Engine.current.hasUntaken }
    package static func addWorkerForUntaken() { Engine.current.addWorkerForUntaken() }

    /// Runs the items of the run's main queue, on its first thread.
    package static func drainMain() {
      #if GRANDCENTRAL_DROPIN
        let queue = GlobalQueues.main
      #else
        let queue = SimulatedMainQueue.ofRun()
      #endif
      while queue.drainOnMain() != .empty {}
    }

    /// The run's engine goes; no thread is in it.
    @_optimize(size) package static func endRun() {
      World.current?.main = nil
      stopNotes()
      let engine = Engine.shared
      engine.pointee.timers.abandon()
      if let world = World.current {
        IOScheduler.endRun(world)
        FileWatches.endRun(world)
        world.engine = nil
      }
      engine.pointee.discard()
      engine.deinitialize(count: 1)
      engine.deallocate()
    }

    // MARK: Threads

    /// Kinds of points: what was noted before has been done; an item is about to begin; and what the recorder does not write down.
    package static var done: UInt8 { World.done }
    package static var itemBegins: UInt8 { World.itemBegins }
    package static var signals: UInt8 { World.signals }
    package static var awaitsSignal: UInt8 { World.awaitsSignal }
    package static var enters: UInt8 { World.enters }
    package static var leaves: UInt8 { World.leaves }
    package static var awaitsGroup: UInt8 { World.awaitsGroup }
    package static var asksForTurn: UInt8 { World.asksForTurn }
    package static var asksToNotify: UInt8 { World.asksToNotify }
    package static var setsTimer: UInt8 { World.setsTimer }
    package static var changes: UInt8 { World.changes }
    package static var looks: UInt8 { World.looks }
    package static var isBeyondOrders: UInt8 { World.isBeyondOrders }
    package static var claims: UInt8 { World.claims }
    package static var firesTimers: UInt8 { World.firesTimers }
    package static var stopsTimer: UInt8 { World.stopsTimer }
    package static var isPart: UInt32 { World.isPart }
    /// What is told with `isBeyondOrders`, in place of a queue: of tasks, references, locks, activation, `asyncAndWait`, pools.
    package static var beyond: (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32) {
      func of(_ what: World.Beyond) -> UInt32 { what.rawValue }
      return (of(.tasks), of(.references), of(.locks), of(.activation), of(.asyncAndWait), of(.pools))
    }
    /// Kinds of records: a queue is suspended, resumed, and goes; a worker begins.
    package static var suspends: UInt8 { Recorder.Kind.suspend.rawValue }
    package static var resumes: UInt8 { Recorder.Kind.resume.rawValue }
    package static var queueGoes: UInt8 { Recorder.Kind.freed.rawValue }
    package static var workerBegins: UInt8 { Recorder.Kind.workerBegin.rawValue }
    package static var submits: UInt8 { Recorder.Kind.submit.rawValue }
    package static var syncBegins: UInt8 { Recorder.Kind.syncBegin.rawValue }
    package static var syncEnds: UInt8 { Recorder.Kind.syncEnd.rawValue }
    package static var retargets: UInt8 { Recorder.Kind.retarget.rawValue }
    package static var hasSlept: UInt8 { Recorder.Kind.sleep.rawValue }
    package static var applies: UInt8 { Recorder.Kind.apply.rawValue }

    /// Whether a record tells of a part of an operation: another thread may be half way through what the records around it tell of.
    package static func isInside(_ kind: UInt8) -> Bool {
      switch Recorder.Kind(rawValue: kind) {
      case .wait, .sleep, .wake, .workerBegin, .workerEnd, .freed: true
      case .timer, .source, .signal, .groupEmpty, .compensate, .transfer, .steal: true
      default: false
      }
    }

    /// What the last note was about, where that is no queue.
    package static var object: UInt { World.current?.object ?? 0 }

    /// What a queue is, for a search for dependent operations.
    package enum QueueKind { case serial, concurrent, sorted, global, other }

    /// The queue's kind, and the number of its target or 0.
    @_optimize(size) package static func queue(_ number: UInt32) -> (kind: QueueKind, target: UInt32) {
      guard number != 0, let memory = InsightRegion.memory else { return (.other, 0) }
      let entry = InsightRegion.objects(memory)[Int(number)]
      switch InsightObjects.Kind(rawValue: entry.kind) {
      case .serial: return (.serial, entry.target)
      case .main: return (.serial, 0)
      case .concurrent: return (.concurrent, entry.target)
      case .workloop: return (.sorted, entry.target)
      case .global: return (.global, 0)
      default: return (.other, entry.target)
      }
    }

    /// Whether the calling thread is a worker that has nothing to do.
    package static var isIdle: Bool {
      // relaxed: the calling thread's own.
      Worker.current?.pointee.isIdle.load(ordering: .relaxed) ?? false
    }

    /// Whether the calling thread is a worker that looks again from time to time, and no one that waits for a timer or an event.
    package static var naps: Bool {
      // relaxed: the calling thread's own.
      Worker.current.map { $0.pointee.isIdle.load(ordering: .relaxed) && !$0.pointee.inPoll.load(ordering: .relaxed) }
        ?? false
    }

    /// A point at which another thread may go on. Nothing in the real world.
    package static func note(_ kind: UInt8) { World.current?.note(kind, 0) }

    package static var isSimulated: Bool { World.isSimulated }

    /// Whether the calling thread is the run's first one, which stands for the main thread.
    package static var isFirst: Bool { World.isFirst }

    /// A thread that has used the library beside the simulation.
    package struct Stranger {
      /// The kernel's id.
      package let id: UInt32
      package let name: String
      /// The label of the queue that it has used; empty if that is not known.
      package let queue: String
    }

    /// The first stranger since this was asked before.
    @_optimize(size) package static func takeStranger() -> Stranger? {
      guard let (id, name, queue) = World.takeStranger() else { return nil }
      return Stranger(id: id, name: name, queue: label(ofObject: queue))
    }

    /// Wakes threads of the real world that wait for the word at the address; as `SimulatedKernel`'s `wake`.
    package static func wakeOutside(_ address: UnsafeRawPointer, _ count: Int) -> Int {
      Futex.wakeInKernel(address, count: Int32(clamping: count))
    }

    /// The number of a simulated thread that has this id.
    package static func number(ofThread id: UInt32) -> Int? { id >= World.firstID ? Int(id - World.firstID) : nil }

    /// The number of the calling thread, if it is one of a simulation.
    package static var currentNumber: Int? { World.isSimulated ? number(ofThread: Thread.id) : nil }

    // MARK: Words

    /// What a thread waits for, as it has said before it began.
    package struct Wait {
      package let wait: GrandCentralRuntime.SnapshotWait
      /// The library's number of the queue that is waited for, or 0.
      package let queue: UInt32
      /// Of a group, its members under way.
      package let members: Int
      /// The label of the queue whose item the thread is inside of.
      package let inside: String
      /// The addresses of what is waited for and of that queue, or 0.
      package let object: UInt64
      package let insideObject: UInt64
    }

    /// The thread that has the entry stands still for good: another one may use it.
    package static func giveBack(entry: UnsafeRawPointer) {
      InsightThread(entry: .init(mutating: entry.assumingMemoryBound(to: InsightLayout.ThreadEntry.self))).giveBack()
    }

    /// The calling thread's note, for `wait(of:)`.
    package static var currentEntry: UnsafeRawPointer? { InsightThread.current.map { UnsafeRawPointer($0.entry) } }

    /// Nil where the thread has not said anything.
    @_optimize(size) package static func wait(of entry: UnsafeRawPointer) -> Wait? {
      let entry = entry.load(as: InsightLayout.ThreadEntry.self)
      guard entry.state == InsightLayout.State.waits else { return nil }
      return Wait(
        wait: GrandCentralRuntime.SnapshotWait(entry), queue: entry.number, members: Int(entry.count),
        inside: InsightText.read(entry.inside), object: entry.object, insideObject: entry.inside_object)
    }

    /// The label of the queue that has the number.
    @_optimize(size) package static func label(ofObject number: UInt32) -> String {
      guard number != 0, let memory = InsightRegion.memory else { return "" }
      let entry = InsightRegion.objects(memory) + Int(number)
      let isQueue = InsightObjects.Kind(rawValue: entry.pointee.kind)?.isQueue ?? false
      return isQueue ? InsightText.read(entry.pointee.label) : ""
    }
  }
#endif
