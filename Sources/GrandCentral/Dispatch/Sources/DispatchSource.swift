// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Watches something – time, a descriptor, a signal, a process, a file, or what the program itself reports – and runs a
/// handler on a queue when it happens.
///
/// A source is made inactive. Set its handlers, then activate it:
///
/// ```swift
/// let source = DispatchSource.makeReadSource(fileDescriptor: socket, queue: queue)
/// source.setEventHandler { readSome(socket) }
/// source.setCancelHandler { close(socket) }
/// source.activate()
/// ```
///
/// Events that come before the handler has started are merged into one call; a handler never runs beside itself. An active source stays
/// alive until it has been cancelled and its cancel handler has run; a timer without one, until it has fired for the last time. A suspended
/// source does not: keep a reference to it until it has been resumed; releasing the last one traps (GC0002).
///
/// Differences from libdispatch: process, file-system and memory-pressure sources exist on Linux too; an active source, whether the program
/// has a reference to it or not, goes on until it is cancelled.
///
/// The state machine is in SourceState.swift; the kinds are subclasses, and say how to begin and end watching, and what
/// an event's data are.
public class DispatchSource: DispatchObject, DispatchSourceProtocol, @unchecked Sendable {  // atomic, or as below
  // What is not atomic is guarded by `lock`, or belongs to the delivery (SourceState.V1).

  let state = AtomicState<SourceState>(SourceState(rawValue: SourceState.inactive))
  /// Guarded by `lock`: the target, retained by this reference.
  @exclusivity(unchecked) private(set) final var target: DispatchQueue
  /// Guarded by `lock`.
  @exclusivity(unchecked) final var handlers = SourceHandlers()
  let lock = Lock()
  /// Written by the delivery: `data` of this call.
  let snapshot = Atomic<UInt>(0)
  /// Set by the activator before the registration is delayed for the first time.
  @exclusivity(unchecked) final var retry: Retry.Pointer?
  /// The lowest QoS of the handlers.
  let floor = Atomic<UInt16>(0)
  /// Written under the lock: the roles whose handlers are barriers; of a finished source, what became of the handlers.
  let barriers = Atomic<UInt8>(0)
  /// In a simulation: the thread that delivers. It lies where there was room: one word more, and the timers of very many sources cost
  /// another line of the cache.
  let deliverer = Atomic<UInt32>(0)
  /// What the source watches, as a number: a descriptor, a signal, a process; 0 if its kind has none.
  public let handle: UInt
  /// What the source watches for, as the bits of its kind's option set; 0 if its kind has none.
  public let mask: UInt
  /// The source's number in the insight region.
  let insight = InsightNumber()

  init(handle: UInt, mask: UInt, queue: DispatchQueue?) {
    self.handle = handle
    self.mask = mask
    target = queue ?? GlobalQueues.default
    super.init()
    if Recorder.numbersObjects { enterInsight() }
  }

  deinit {
    requireReleasable()
    if insight.isGiven { insight.end() }
    lastContext?.finalize(on: target)
    freeRetry()
  }

  // MARK: What a kind provides

  /// For messages.
  var kindName: String { "source" }
  var insightKind: InsightObjects.Kind { .source }

  /// Begins to watch. Called by the activator; and again, one call at a time, as long as it returns a shortage.
  func register() -> Errno? { nil }

  /// Ends watching; true when no event can come any more, else the kind calls `didUnregister` later.
  func unregister() -> Bool { true }

  /// Delivery: the data of the event, or nil if there is none after all (SourceState.V6).
  func takeEvent() -> UInt? { 0 }

  /// Delivery: the handler has returned, or there was nothing to call it for.
  func finishEvent(wasSilenced: Bool) {}

  /// The last step, before the cancel handler: no delivery runs or comes any more.
  func didFinish() {}

  // MARK: Reading

  /// What the running event handler was called for; the meaning depends on the kind.
  public final var data: UInt {
    if Recorder.isOn { tellLookAtData() }
    // relaxed: written by the delivery before it calls the handler that asks.
    return snapshot.load(ordering: .relaxed)
  }

  /// Whether `cancel()` has been called. The cancel handler may not have run yet.
  public final var isCancelled: Bool {
    if Recorder.isOn { World.tell(World.looks, on: self) }
    return state.load().has(SourceState.cancelled)
  }

  // MARK: Handlers

  /// Sets what to run when something has happened; nil removes it. A change takes effect with the next event.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func setEventHandler(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
  ) {
    set(.event, handler.map { SourceHandler($0, qos: qos, flags: flags) })
  }

  /// Sets a work item that is performed when something has happened. A change takes effect with the next event.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func setEventHandler(handler: DispatchWorkItem) { set(.event, SourceHandler(handler)) }

  /// Sets what to run once, when the kernel has been told what to watch; nil removes it. On a source that watches
  /// already it runs soon.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func setRegistrationHandler(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
  ) {
    set(.registration, handler.map { SourceHandler($0, qos: qos, flags: flags) })
  }

  /// Sets a work item that is performed once, when the kernel has been told what to watch.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func setRegistrationHandler(handler: DispatchWorkItem) { set(.registration, SourceHandler(handler)) }

  /// Sets what to run once, when the source has been cancelled and its last event handler has returned; nil removes
  /// it. A descriptor that the source has watched may be closed there. The first one that a source gets when all that is
  /// over runs soon.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func setCancelHandler(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
  ) {
    set(.cancel, handler.map { SourceHandler($0, qos: qos, flags: flags) })
  }

  /// Sets a work item that is performed once, when the source has been cancelled and its last event handler has
  /// returned.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func setCancelHandler(handler: DispatchWorkItem) { set(.cancel, SourceHandler(handler)) }

  final func set(_ role: SourceHandlers.Role, _ handler: SourceHandler?) {
    tellChange()
    lock.lock()
    let former = handlers[role]
    // relaxed: written under the lock.
    let seen = barriers.load(ordering: .relaxed)
    // A finished source would keep the handler, and what it captures, without ever calling it.
    let isLate = seen & SourceHandlers.Roles.taken != 0
    if !isLate {
      handlers[role] = handler
      // relaxed: a change takes effect with the next event.
      barriers.store(handlers.barriers.rawValue, ordering: .relaxed)
    } else if role == .cancel, handlers.cancel != nil || handler != nil && seen & SourceHandlers.Roles.ended == 0 {
      handlers[.cancel] = handler
      // relaxed: as above.
      barriers.store(seen | SourceHandlers.Roles.ended, ordering: .relaxed)
    }
    lock.unlock()
    // Released without the lock: what it captures may be anything, this source included.
    withExtendedLifetime(former) {}
    if handler == nil { return }
    if role == .registration { wakeUp { $0.announceAgain() } }
    if isLate, role == .cancel { submitLate() }
  }

  // MARK: Life

  /// Begins to deliver events. Does nothing the second time.
  ///
  /// Blocking: never. Complexity: a system call for the kinds that watch kernel objects.
  public final override func activate() {
    tellChange(World.setsTimer)
    // Before the step: after it, a thread that cancels and resumes may bring the source to its end at once.
    let own = Owned(self).give()
    let (activation, keeps) = state.update { state in
      let activation = state.activate()
      return (activation, activation != .nothing && state.keepsItself)
    }
    if insight.isGiven { noteState() }
    // SourceState.V7: otherwise the source's own from now on, given up by `finish`, or by `suspend`.
    defer { if !keeps { own.giveBack() } }
    switch activation {
    case .nothing, .wait: return
    case .enqueue: submit()
    case .register: conclude(registerOrDelay())
    }
  }

  /// The registration is over: done, or given up.
  final func conclude(_ registration: Registration) {
    if registration == .delayed { return }
    if case .failed(let error) = registration, !isCancelled { reportFailure(error) }
    switch state.update({ $0.didRegister(registration == .done) }) {
    case .nothing: return
    case .enqueue: submit()
    case .unregister: beginUnregistering()
    }
  }

  /// In a simulation: the step that follows changes the source, and its timer if it has one.
  @inline(__always)
  final func tellChange(_ timer: UInt8 = World.done) {
    if Recorder.isOn { tellChangeSlow(timer) }
  }

  /// For messages.
  var watched: String { String(handle) }

  /// Ends the source: no event handler starts any more, and when the one that runs has finished, the cancel handler runs
  /// once on the target. Only then may a descriptor be closed.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func cancel() {
    tellChange(World.stopsTimer)
    carryOut(state.update { $0.cancel() })
  }

  /// What was watched is gone, and the program does not know yet (SourceState.V8). `isWatched`: it is still to be unregistered.
  final func cancelAsLost(isWatched: Bool = true) {
    carryOut(state.update { $0.lose() }, isWatched: isWatched)
  }

  private final func carryOut(_ cancellation: SourceState.Cancellation, isWatched: Bool = true) {
    if insight.isGiven { noteState() }
    switch cancellation {
    case .nothing: return
    case .enqueue: submit()
    case .unregister: if isWatched { beginUnregistering() } else { didUnregister() }
    case .withdraw: withdraw()
    case .wakeUp:  // Timers alone rest, and they are never lost.
      wakeUp()
      cancel()
    }
  }

  private final func beginUnregistering() {
    if unregister() { didUnregister() }
  }

  /// No event can come any more.
  final func didUnregister() {
    pay(state.update { $0.didUnregister() })
  }

  /// Holds back handlers until `resume()`. Events are kept, and delivered as one. Calls nest.
  ///
  /// A suspended source does not keep itself alive, as others do: releasing the last reference to it traps (GC0002).
  ///
  /// Complexity: O(1). Blocking: never.
  public final override func suspend() {
    tellChange()
    let gaveUp = state.update { state in
      let kept = state.keepsItself
      state.suspend()
      return kept
    }
    if insight.isGiven { noteState() }
    // SourceState.V7
    if gaveUp { Borrowed(self).giveBack() }
  }

  /// Takes back one `suspend()`; activates a source that is not active yet. Traps (GC0001) if there is nothing to resume.
  ///
  /// Complexity: O(1). Blocking: never.
  public final override func resume() {
    tellChange()
    // SourceState.V7: before the step, as `activate` does.
    let own = Owned(self).give()
    let (resumption, keeps, isFinished) = state.update { state in
      let kept = state.keepsItself
      let resumption = state.resume()
      return (resumption, state.keepsItself && !kept, state.has(SourceState.finished))
    }
    if insight.isGiven { noteState() }
    defer { if !keeps { own.giveBack() } }
    switch resumption {
    case .nothing: if isFinished { submitLate() }
    case .enqueue: submit()
    case .activate: activate()
    case .unbalanced:
      Fault.misuse(
        .resumeWithoutSuspend,
        "resume on a " + kindName + " that is active and not suspended. Call resume exactly once for each suspend.")
    }
  }

  /// Runs handlers on `queue` from now on; nil stands for the default global queue. What is enqueued stays where it is.
  final override func retarget(to lane: Lane?) {
    tellChange()
    lock.lock()
    let (former, next) = (target, lane?.queue ?? GlobalQueues.default)
    target = next
    lock.unlock()
    if insight.isGiven { noteTarget(next) }
    withExtendedLifetime(former) {}
  }

  // MARK: Events

  /// An event has happened; any thread that the kind's registration keeps the source alive for.
  ///
  /// - Returns: whether to go on reporting; see SourceState.V5.
  @discardableResult
  final func fire() -> Bool {
    let firing = state.update { $0.fire() }
    if firing == .enqueue { submit() }
    return firing != .silence
  }

  static let step: Job.Invoke = { raw in
    let job = Job(raw: raw)
    // unsafe: the active source keeps itself alive until `finish`, and the job comes before that.
    let source = Borrowed<DispatchSource>(word: job.owner!)
    let isBarrier = job.flags.contains(.barrier)
    job.recycle()
    source.use { $0.run(isBarrier: isBarrier) }
  }

  private final func run(isBarrier: Bool) {
    tellChange()
    // relaxed: a change takes effect with the next event.
    let barriers = SourceHandlers.Roles(rawValue: isBarrier ? 0 : barriers.load(ordering: .relaxed))
    switch state.update({ $0.begin(except: barriers) }) {
    case .nothing: return
    case .again: return submit()
    case .finish(let isLost): return finish(isLost: isLost)
    case .announce:
      let staysHere = announce()
      tellChange()
      let debt = state.update { $0.end() }
      if debt != .enqueue { return pay(debt) }
      // SourceState.V11
      return staysHere ? run(isBarrier: isBarrier) : submit()
    case .deliver(let silenced):
      if let data = takeEvent() {
        if Recorder.isOn { noteDelivery(of: data) }
        // relaxed: read by the handler that this thread calls.
        snapshot.store(data, ordering: .relaxed)
        lock.lock()
        let handler = handlers.event
        lock.unlock()
        handler?.body()
        if Recorder.isOn { noteDeliveryEnd() }
      }
      tellChange(World.setsTimer)
      finishEvent(wasSilenced: silenced)
    }
    pay(state.update { $0.end() })
  }

  /// Contract.S5: once. What the handler captures, which may be the source, goes with it.
  ///
  /// - Returns: whether the source may go on in the same turn: the target is the same, no other announcement is due, and the event's
  ///   handler has the same quality of service.
  @inline(never)
  private final func announce() -> Bool {
    lock.lock()
    let (handler, place) = (handlers.registration, target)
    handlers[.registration] = nil
    // relaxed: written under the lock. A role without a handler is no barrier: its job would begin anew, for ever.
    barriers.store(handlers.barriers.rawValue, ordering: .relaxed)
    lock.unlock()
    guard let handler else { return true }
    handler.body()
    return lock.withLock {
      target === place && handlers.registration == nil && handlers.event?.qos == handler.qos
    }
  }

  /// SourceState.V3: the last step of a cancelled source.
  private final func finish(isLost: Bool) {
    if isLost { reportClosed() }
    didFinish()
    lock.lock()
    var former = handlers
    handlers = SourceHandlers()
    let cancel = former.cancel
    // relaxed: written under the lock.
    barriers.store(SourceHandlers.Roles.taken | (cancel == nil ? 0 : SourceHandlers.Roles.ended), ordering: .relaxed)
    lock.unlock()
    // What the others capture may need what the cancel handler gives back.
    former = SourceHandlers()
    cancel?.body()
    // What the handlers capture goes before the source's own reference: it may be the source.
    withExtendedLifetime(cancel) {}
    Borrowed(self).giveBack()
  }
}
