// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A work item that waits for its time, and can be cancelled meanwhile.
///
/// An item may have very many of them. The item lists them, so that cancelling finds them; the list is linked both ways,
/// so that one that fires leaves it in constant time.
///
/// | reference held by    | from … to                                                                   |
/// |----------------------|-----------------------------------------------------------------------------|
/// | the wheel            | `start` … taken out of the wheel, by firing or by cancelling                |
/// | the item's list      | `start` … `DelayedItems.remove`, by firing; or `takeAll`, by cancelling     |
/// | `start`              | while it runs                                                               |
///
/// What an item's cancellation means for a thread that waits: the item counts as dequeued when the first of the timers would
/// have fired (Contract.W2). Its timers and its closure go at once (Contract.Q17); the item keeps the instant
/// (`DispatchWorkItem.due`). Once a thread waits, a timer without a queue finishes the item at that instant. If no thread
/// waits, there is no timer.
///
/// The references are counted by the Swift runtime, in whose counters ThreadSanitizer sees no order. So each use ends
/// with `letGo`, which tells it that the use comes before the end.
final class DelayedItem: @unchecked Sendable {  // immutable, but for the entry and the links, which locks guard
  /// Retained while `hasItem`. The job that firing makes has a reference of its own, and this one is given back before a thread can run
  /// the job: the item's closure goes with the job, on its queue.
  private let item: Borrowed<DispatchWorkItem>
  @exclusivity(unchecked) private var hasItem = true
  /// Nil for a timer that only finishes the item, which has been cancelled.
  private let queue: DispatchQueue?
  let deadline: Deadline
  /// Of the item on that queue, as it was when the item was delayed.
  private let qos: QoSWord
  /// What is done to the job that firing makes. What it keeps is given back as `item` is.
  @exclusivity(unchecked) private var prepare: ((Job) -> Void)?
  private let entry: UnsafeMutablePointer<TimerEntry>
  /// Guarded by the item's lock: its neighbours in the list; the list retains each of them.
  fileprivate var next: Borrowed<DelayedItem>?
  fileprivate var previous: Borrowed<DelayedItem>?
  fileprivate var isListed = false

  /// As for the closures of `asyncAfter`, the quality of service is that of the call.
  static func start(
    _ item: DispatchWorkItem, on queue: DispatchQueue, at deadline: Deadline, _ prepare: ((Job) -> Void)?
  ) {
    let qos = queue.effectiveQoS(item.wantedQoS, item.flags)
    item.tell(World.changes, timer: World.setsTimer)
    let delayed = Owned(DelayedItem(item, queue, deadline, qos, prepare)).give()
    delayed.use { $0.start(item) }
    letGo(delayed)
  }

  /// Finishes `item`, which has been cancelled, at `deadline`.
  static func finish(_ item: DispatchWorkItem, at deadline: Deadline) {
    if Recorder.isOn { World.tellOfTimers(World.setsTimer) }
    let delayed = Owned(DelayedItem(item, nil, deadline, .unspecified, nil)).give()
    delayed.use { $0.add() }
    letGo(delayed)
  }

  private init(
    _ item: DispatchWorkItem, _ queue: DispatchQueue?, _ deadline: Deadline, _ qos: QoSWord,
    _ prepare: ((Job) -> Void)?
  ) {
    self.item = Owned(item).give()
    self.queue = queue
    self.deadline = deadline
    self.qos = qos
    self.prepare = prepare
    // unsafe: an entry is as large as a node.
    entry = Magazine.take().bindMemory(to: TimerEntry.self, capacity: 1)
    entry.initialize(to: TimerEntry(deadline: deadline.nanoseconds, fire: DelayedItem.fired))
  }

  deinit {
    if hasItem { item.giveBack() }
    Sanitizer.comesAfter(entry)
    entry.deinitialize(count: 1)
    Magazine.give(UnsafeMutableRawPointer(entry))
  }

  /// Gives a reference back.
  static func letGo(_ delayed: Borrowed<DelayedItem>) {
    delayed.use { Sanitizer.comesBefore($0.entry) }
    delayed.giveBack()
  }

  /// - Parameter item: The caller's: from `add` on the timer may fire.
  private func start(_ item: DispatchWorkItem) {
    // Noted before it can fire: firing forgets it again.
    item.noteTimer(self)
    add()
    if item.isCancelled {
      // The cancellation may have come before there was an entry to cancel.
      item.cancelTimers()
      cancel()
    }
  }

  private func add() {
    entry.pointee.context = Owned(self).intoWord()
    Engine.current.timers.add(entry, on: deadline.clock, in: Engine.current)
  }

  /// Takes the timer out of the wheel, if it has not fired. The caller holds a reference of its own.
  fileprivate func cancel() {
    if Engine.current.timers.cancel(entry, on: deadline.clock) {
      DelayedItem.letGo(Borrowed(self))
    }
  }

  static let fired: TimerEntry.Fire = { raw in
    let delayed = timer(raw)
    delayed.use { $0.fire() }
    letGo(delayed)
  }

  /// What the entry is of. Called once, when the wheel has let go of it: the reference is the one that `add` made.
  @inline(__always)
  static func timer(_ raw: Job.Word) -> Borrowed<DelayedItem> {
    // unsafe: see above.
    let entry = raw.assumingMemoryBound(to: TimerEntry.self)
    return Borrowed(word: entry.pointee.context!)
  }

  /// The item's list lets go of it.
  func forget() { item.use { $0.forgetTimer(self) } }

  private func fire() {
    guard let queue else { return item.use { $0.finishDequeued() } }
    let job = item.use { item in
      item.tell(World.changes)
      item.forgetTimer(self)
      return item.makeJob(for: queue, qos: qos)
    }
    prepare?(job)
    prepare = nil
    hasItem = false
    item.giveBack()
    queue.enqueueSlow(job)
  }
}

/// The delayed submissions of one item, linked both ways. All calls under the item's lock, but `cancelAll`.
struct DelayedItems: ~Copyable {
  private var first: Borrowed<DelayedItem>?

  @inline(__always)
  init() {}

  /// Complexity: O(1).
  mutating func insert(_ timer: DelayedItem) {
    let reference = Owned(timer).give()
    first?.use { $0.previous = reference }
    timer.next = first
    timer.previous = nil
    timer.isListed = true
    first = reference
  }

  /// Complexity: O(1).
  ///
  /// - Returns: false if it has been taken out already; else the caller holds the list's reference.
  mutating func remove(_ timer: DelayedItem) -> Bool {
    if !timer.isListed { return false }
    timer.isListed = false
    if let previous = timer.previous {
      previous.use { $0.next = timer.next }
    } else {
      first = timer.next
    }
    timer.next?.use { $0.previous = timer.previous }
    return true
  }

  /// Takes everything out.
  ///
  /// - Returns: the instant at which the first would have fired; nil if there was none.
  mutating func takeAll(into taken: inout DelayedItems) -> Deadline? {
    swap(&taken, &self)
    var earliest: Deadline?
    var link = taken.first
    while let timer = link {
      link = timer.use { timer in
        timer.isListed = false
        earliest = timer.deadline.earlier(earliest)
        return timer.next
      }
    }
    return earliest
  }

  /// Takes what `takeAll` has taken out of the wheel. Not under the lock.
  mutating func cancelAll() {
    while let timer = first {
      first = timer.use { timer in
        timer.cancel()
        return timer.next
      }
      DelayedItem.letGo(timer)
    }
  }

  /// Gives back the reference of a timer that `remove` has taken out.
  static func letGo(_ timer: DelayedItem) { DelayedItem.letGo(Borrowed(timer)) }
}

extension Deadline {
  /// The one of two that comes first, as clocks stand now.
  func earlier(_ other: Deadline?) -> Deadline {
    guard let other else { return self }
    if clock == other.clock { return nanoseconds < other.nanoseconds ? self : other }
    return remaining() < other.remaining() ? self : other
  }
}
