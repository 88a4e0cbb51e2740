// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// The state word.
//
// | bits  | field     | meaning                                                        |
// |-------|-----------|----------------------------------------------------------------|
// | 0–15  | running   | executions under way                                           |
// | 16    | cancelled | later executions do nothing                                    |
// | 17    | finished  | has run once, or was dequeued cancelled                        |
// | 18    | watched   | a thread or a notification waits for it                        |
// | 19    | emptied   | the closure has been released                                  |
// | 20    | timed     | timers may submit it                                           |
// | 21    | scattered | was submitted to a queue while it waited on another            |
// | 22    | simulated | made in a simulation                                           |
//
// WorkItem.I1  The thread that finds `cancelled` with running = 0 and sets `emptied` releases the closure: exactly one does.
// WorkItem.I2  Nothing is registered once `finished` is set; setting it with `watched` set is followed by one release of the
//     lists.

/// A piece of work with a handle: it can be cancelled, waited for, and followed up.
///
/// ```swift
/// let search = DispatchWorkItem { catalogue.update() }
/// queue.async(execute: search)
/// search.notify(queue: .main) { show(catalogue.entries) }
/// ```
public class DispatchWorkItem: @unchecked Sendable {  // an atomic word; the rest is under its lock, or I
  private struct State: StateWord {
    var rawValue: UInt64
    init(rawValue: UInt64) { self.rawValue = rawValue }

    static let cancelled: UInt64 = 1 << 16
    static let finished: UInt64 = 1 << 17
    static let watched: UInt64 = 1 << 18
    static let emptied: UInt64 = 1 << 19
    static let timed: UInt64 = 1 << 20
    static let scattered: UInt64 = 1 << 21
    static let simulated: UInt64 = 1 << 22
    static let runningMask: UInt64 = cancelled - 1
    /// The most urgent thread's that waits for it (Contract.W4).
    private static let urgencyShift: UInt64 = 32

    @inline(__always) func has(_ bit: UInt64) -> Bool { rawValue & bit != 0 }

    /// - Returns: whether a thread or a notification waits for it: then the caller owes `releaseWatchers`.
    mutating func finish() -> Bool {
      let watched = has(Self.watched)
      rawValue = (rawValue | Self.finished) & ~Self.watched & ((1 << Self.urgencyShift) - 1)
      return watched
    }

    mutating func watch(urgency: UInt64) {
      rawValue |= Self.watched
      if urgency << Self.urgencyShift > rawValue {
        rawValue = rawValue & ((1 << Self.urgencyShift) - 1) | urgency << Self.urgencyShift
      }
    }

    /// Where an item of `band` is queued.
    func raised(_ band: Band) -> Band {
      let urgency = rawValue >> Self.urgencyShift
      return urgency == 0 ? band : min(band, Urgency.band(UInt8(truncatingIfNeeded: urgency)))
    }

    /// Whether the caller must now release the closure.
    mutating func shouldEmpty() -> Bool {
      if !has(Self.cancelled) || has(Self.emptied) || rawValue & Self.runningMask != 0 { return false }
      rawValue |= Self.emptied
      return true
    }
  }

  static let spin = SpinBudget(nanoseconds: SpinBudget.answer)

  // An item is made on one thread and freed on another. With at most 120 bytes the C library frees it without the lock of the
  // maker's arena. So the small fields stand together, and begin in the list's last word.
  private let state: AtomicState<State>
  /// Constant until WorkItem.I1.
  private var body: Job.Body?
  /// Guarded by `lock`.
  @exclusivity(unchecked) private var waiters = WaiterList()
  private let flagBits: UInt16
  let wantedQoS: QoSWord
  private let lock = Lock()
  /// The thread that runs it, for Contract.W2's self-wait.
  private let runner = Atomic<UInt32>(0)
  /// Guarded by `lock`.
  private var notes = NoteList()
  /// Guarded by `lock`: timers that will submit it.
  private var timers = DelayedItems()
  /// Guarded by `lock`: if the item was cancelled while timers were pending, when the first of them would have fired. Nothing
  /// watches the item.
  private var due: Deadline?
  /// See DispatchWorkItem+Submission.
  let submittedTo = Atomic<UInt>(0)

  final var flags: DispatchWorkItemFlags { DispatchWorkItemFlags(rawValue: UInt(flagBits)) }

  /// A work item that runs `block`.
  ///
  /// - Parameters:
  ///   - qos: Its quality of service. It counts if it is more urgent than the queue's; with `.inheritQoS` only beside `.enforceQoS`, or if
  ///     the queue has none. A workloop's item keeps its own, unless `.enforceQoS` lifts it to the workloop's.
  ///   - flags: How it is run.
  ///   - block: What it does.
  ///
  /// Complexity: O(1). Blocking: never.
  public init(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], block: @escaping () -> Void
  ) {
    state = AtomicState(State(rawValue: World.isSimulated ? State.simulated : 0))
    flagBits = UInt16(truncatingIfNeeded: flags.rawValue)
    if flags.contains(.noQoS) || flags.contains(.detached) {
      wantedQoS = flags.contains(.noQoS) ? .unspecified : QoSWord(qos)
    } else if flags.contains(.assignCurrentContext), qos.qosClass == .unspecified {
      wantedQoS = QoSWord.ofThread
    } else {
      wantedQoS = QoSWord(qos)
    }
    body = Job.Body(run: block)
  }

  /// Runs the item here and now, unless it is cancelled.
  ///
  /// Complexity: that of the block. Blocking: as long as the block runs.
  public final func perform() { runSubmitted() }

  /// Makes later executions do nothing; the one that runs now is not interrupted.
  ///
  /// The closure is released at once, or when the running execution ends; pending timers of the item are removed. An item
  /// that waits for a timer only counts as finished when the first of them would have fired.
  ///
  /// Complexity: O(pending timers). Blocking: never.
  public final func cancel() {
    tell(World.changes, timer: World.stopsTimer)
    let (empty, isTimed) = state.update { state in
      state.rawValue |= State.cancelled
      return (state.shouldEmpty(), state.has(State.timed))
    }
    if isTimed { cancelTimers() }
    if empty { body = nil }
  }

  /// Whether `cancel()` has been called. Readable from inside the item.
  public final var isCancelled: Bool {
    tell(World.looks)
    // relaxed: a flag by itself.
    return state.load(ordering: .relaxed).has(State.cancelled)
  }

  // MARK: Running

  /// In a simulation: the step that follows is one on the item.
  @inline(__always)
  final func tell(_ kind: UInt8, timer: UInt8 = World.done) {
    // relaxed: from the start, and for ever.
    if state.load(ordering: .relaxed).has(State.simulated) { World.tell(kind, on: self, timer: timer) }
  }

  /// What `look` finds in the closure; 0 if the closure has been released. Meanwhile the item counts as one that runs, so that it keeps
  /// the closure (WorkItem.I1).
  final func code(_ look: (BorrowedClosure) -> UInt) -> UInt {
    let isHeld = state.update { state in
      if !state.has(State.emptied) { state.rawValue += 1 }
      return !state.has(State.emptied)
    }
    if !isHeld { return 0 }
    let code = look(BorrowedClosure(body.unsafelyUnwrapped.run))
    let empty = state.update { state in
      state.rawValue -= 1
      return state.shouldEmpty()
    }
    if empty { body = nil }
    return code
  }

  final func runSubmitted() {
    tell(World.looks)
    let runs = state.update { state in
      if state.has(State.cancelled) { return false }
      state.rawValue += 1
      return true
    }
    if runs {
      // relaxed: only this thread compares it with itself.
      let outer = runner.load(ordering: .relaxed)
      runner.store(Thread.id, ordering: .relaxed)
      body!.run()
      runner.store(outer, ordering: .relaxed)
    }
    forgetSubmission()
    tell(World.changes)
    let (empty, finishes) = state.update { state in
      if runs { state.rawValue -= 1 }
      let watched = state.finish()
      return (state.shouldEmpty(), watched)
    }
    if empty { body = nil }
    if finishes { releaseWatchers() }
  }

  @inline(never)
  private final func releaseWatchers() {
    lock.lock()
    let chosen = waiters.chooseAll()
    var notes = notes.takeAll()
    lock.unlock()
    // Notifications first, as with libdispatch: a thread that has waited finds them submitted.
    notes.submitAll()
    chosen.wakeAll()
  }

  deinit {
    // An item that never ran, and never will: what was to follow it may go ahead.
    // relaxed: no other thread is left.
    if state.load(ordering: .relaxed).has(State.watched) { submitNotesSlow() }
  }

  @inline(never)
  private final func submitNotesSlow() {
    if !notes.isEmpty { World.goBeyondOrders(.references) }
    notes.submitAll()
  }

  // MARK: Submission

  final func makeJob(for queue: DispatchQueue) -> Job {
    makeJob(for: queue, qos: queue.effectiveQoS(wantedQoS, flags))
  }

  final func makeJob(for queue: DispatchQueue, qos: QoSWord) -> Job {
    noteSubmission(to: queue)
    // relaxed: a hint. A thread that waits later boosts the queue.
    let band = state.load(ordering: .relaxed).raised(qos.band)
    let job = Job(
      invoke: Items.workItem, flags: flags.contains(.barrier) ? .barrier : [], qos: qos.rawValue, band: band)
    job.extra = Owned(self).intoWord()
    return job
  }

  // MARK: Timers

  final func noteTimer(_ timer: DelayedItem) {
    lock.lock()
    timers.insert(timer)
    state.update { $0.rawValue |= State.timed }
    lock.unlock()
  }

  final func forgetTimer(_ timer: DelayedItem) {
    lock.lock()
    let removed = timers.remove(timer)
    lock.unlock()
    if removed { DelayedItems.letGo(timer) }
  }

  /// Removes the pending timers of an item that has been cancelled. It counts as dequeued when the first was due.
  @inline(never)
  final func cancelTimers() {
    var taken = DelayedItems()
    lock.lock()
    if let first = timers.takeAll(into: &taken) { due = due.map { first.earlier($0) } ?? first }
    // relaxed: registering sets the flag under the lock.
    let watchedUntil = state.load(ordering: .relaxed).has(State.watched) ? takeDue() : nil
    lock.unlock()
    taken.cancelAll()
    if let watchedUntil { DelayedItem.finish(self, at: watchedUntil) }
  }

  /// Under the lock.
  private final func takeDue() -> Deadline? {
    defer { due = nil }
    return due
  }

  /// A cancelled item's time has come. An execution that is under way finishes it by itself.
  final func finishDequeued() {
    tell(World.changes)
    let finishes = state.update { $0.rawValue & State.runningMask == 0 ? $0.finish() : false }
    if finishes { releaseWatchers() }
  }

  // MARK: Waiting

  final func wait(until deadline: Deadline) -> Bool {
    tell(World.looks)
    if state.load().has(State.finished) { return true }
    // relaxed: a thread sees its own id.
    if deadline.isNever, runner.load(ordering: .relaxed) == Thread.id {
      Fault.misuse(
        .workItemWaitOnSelf,
        "DispatchWorkItem.wait was called from inside the item (on queue \"" + DispatchQueue.current.name
          + "\"), and would wait for itself for ever. Use notify instead.")
    }
    var waiter = Waiter()
    return _withUnprotectedUnsafeMutablePointer(to: &waiter) { waiter in
      guard register(urgency: Urgency.of(QoSWord.ofThread.band), { waiters.append(waiter) }) else { return true }
      // A wait that may not block does not spin either.
      if !deadline.hasPassed(), waiter.pointee.parker.waitBriefly(Self.spin) || waitingForItem(waiter, deadline) {
        return true
      }
      lock.lock()
      if waiter.pointee.isListed {
        waiters.remove(waiter)
        lock.unlock()
        return false
      }
      lock.unlock()
      _ = waiter.pointee.parker.park()
      return true
    }
  }

  @inline(never)
  private final func waitingForItem(_ waiter: UnsafeMutablePointer<Waiter>, _ deadline: Deadline) -> Bool {
    if deadline.hasPassed() { return false }
    let note = WaitNote.begin(.workItem, Borrowed(self).bits, isTimed: !deadline.isNever, loan: boostSubmission())
    defer { note.end() }
    let awaited = Awaited(.workItem, Borrowed(self).word, waiter) { wait in
      Borrowed<DispatchWorkItem>(word: wait.address).use { $0.whereabouts(wait) }
    }
    return waiter.pointee.parkBlocked(until: deadline, in: .object(awaited))
  }

  /// Where an item is that has not finished, for as long as the waiter has not been let go.
  private final func whereabouts(_ wait: Awaited) -> Awaited.Whereabouts {
    let state = state.load()
    if state.has(State.finished | State.timed | State.scattered) { return .unknown }
    // relaxed: until the item has finished it is 0, or the thread that has begun last.
    let runner = runner.load(ordering: .relaxed)
    guard lock.withLock({ wait.isListed }) else { return .unknown }
    switch state.rawValue & State.runningMask {
    case 0: return .waits
    case 1: return .runs(on: runner)
    default: return .unknown
    }
  }

  final func noteScattering() { state.update { $0.rawValue |= State.scattered } }

  /// Whether the item has finished.
  final func tryWait() -> Bool { state.load().has(State.finished) }

  /// Adds a waiter that is no thread; false if the item has finished.
  final func join(_ waiter: UnsafeMutablePointer<Waiter>, urgency: UInt8) -> Bool {
    register(urgency: urgency) { waiters.append(waiter) }
  }

  /// Takes a waiter out; false if its wake-up is on its way.
  final func leave(_ waiter: UnsafeMutablePointer<Waiter>) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    guard waiter.pointee.isListed else { return false }
    waiters.remove(waiter)
    return true
  }

  /// WorkItem.I2: adds to the lists, unless the item has finished.
  private final func register(urgency: UInt8 = 0, _ add: () -> Void) -> Bool {
    lock.lock()
    let due = takeDue()
    let isOver = due?.hasPassed() ?? false
    let open = state.update { state in
      if isOver, state.rawValue & State.runningMask == 0 { _ = state.finish() }
      if state.has(State.finished) { return false }
      state.watch(urgency: UInt64(urgency))
      return true
    }
    if open { add() }
    lock.unlock()
    if open, let due { DelayedItem.finish(self, at: due) }
    return open
  }

  /// Submits `execute` to `queue` once the item has finished; at once if it has.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func notify(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], queue: DispatchQueue,
    execute: @escaping () -> Void
  ) {
    notify(queue.makeJob(qos, flags, execute), on: queue)
  }

  /// Submits another work item to `queue` once this one has finished; at once if it has.
  ///
  /// Complexity: O(1). Blocking: never.
  public final func notify(queue: DispatchQueue, execute: DispatchWorkItem) {
    notify(execute.makeJob(for: queue), on: queue)
  }

  final func notify(_ job: Job, on queue: DispatchQueue) {
    tell(World.changes)
    if !register({ notes.append(job, for: queue) }) { queue.enqueueSlow(job) }
  }
}
