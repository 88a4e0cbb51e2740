// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// The shared part of one call of `concurrentPerform`. Lives in one magazine node, made when the call gets help.
///
/// The participants take chunks of the index range, ever smaller ones towards the end. At first as many helpers are submitted
/// as the rest seems to need. A participant whose chunk shows that the rest needs more submits more, so that a short call on a
/// large machine wakes few threads, and a long one wakes all of them within some rounds.
///
/// | state  | bits  | meaning                                              |
/// |--------|-------|------------------------------------------------------|
/// | active | 0–19  | participants inside the loop, helpers only           |
/// | refs   | 20–39 | helpers submitted and not yet finished, and the caller |
/// | closed | 40    | all indices are given out: no helper may join        |
///
/// Apply.Y1  A helper joins (active + 1) only while not closed; so once closed, active only falls.
/// Apply.Y2  The body is touched by the caller and by joined helpers only. The caller returns when closed and active =
///     0.
/// Apply.Y3  The node goes back to a magazine with the last reference.
struct ApplyRecord: ~Copyable {
  private struct State: StateWord {
    var rawValue: UInt64
    init(rawValue: UInt64) { self.rawValue = rawValue }

    static let one: UInt64 = 1
    static let activeMask: UInt64 = (1 << 20) - 1
    static let refOne: UInt64 = 1 << 20
    static let refMask: UInt64 = activeMask << 20
    static let closed: UInt64 = 1 << 40
  }

  /// The next index to give out; grows beyond `count`.
  private let next: Atomic<Int>
  private let count: Int
  private let state: AtomicState<State>
  /// By Apply.Y2.
  private let body: BorrowedClosure
  private let parker = Parker()
  /// The caller and all helpers there may be.
  private let participants: UInt16
  private let qos: UInt16
  /// Helpers that may yet be submitted.
  private let uncalled: Atomic<Int32>
  /// Unretained: where helpers are submitted; the caller keeps it while the call lasts (Apply.Y2).
  private let queue: Borrowed<DispatchQueue>?

  /// The helpers' last chunks are small.
  private static let spin = SpinBudget(nanoseconds: SpinBudget.answer)

  typealias Pointer = UnsafeMutablePointer<ApplyRecord>

  private init(_ call: borrowing ApplyCall, from first: Int) {
    next = Atomic(first)
    count = call.count
    body = call.body
    participants = UInt16(clamping: call.helpers + 1)
    state = AtomicState(State(rawValue: State.refOne))
    qos = call.qos
    uncalled = Atomic(Int32(clamping: call.helpers))
    queue = call.queue.map { Borrowed($0) }
  }

  /// Makes the record of a call whose indices from `first` on are to be shared, and submits the first `helpers`.
  static func start(_ call: borrowing ApplyCall, from first: Int, helpers: Int) -> Pointer {
    // unsafe: the record fits a node; Apply.Y3 says when the node goes back.
    let record = Magazine.take().assumingMemoryBound(to: ApplyRecord.self)
    record.initialize(to: ApplyRecord(call, from: first))
    record.pointee.callHelpers(helpers, record)
    return record
  }

  /// Makes sure that `wanted` helpers, or all there may be, have been submitted. By the caller and by joined helpers: the
  /// queue is there (Apply.Y2).
  private func callHelpers(_ wanted: Int, _ record: Pointer) {
    // relaxed: a number of permits, verified below.
    var left = uncalled.load(ordering: .relaxed)
    var granted: Int32 = 0
    repeat {
      let called = Int32(participants) - 1 - left
      granted = min(Int32(clamping: wanted) - called, left)
      if granted <= 0 { return }
      // relaxed: permits guard nothing but themselves.
      let (taken, found) = uncalled.weakCompareExchange(
        expected: left, desired: left - granted, ordering: .relaxed)
      if taken { break }
      left = found
    } while true
    state.update { $0.rawValue += UInt64(granted) * State.refOne }
    let queue = queue?.object
    let band = QoSWord(rawValue: qos).band
    for _ in 0..<granted {
      let job = Job(invoke: Self.helper, qos: qos, band: band, owner: .init(record))
      if let queue { queue.enqueueSlow(job) } else { Engine.current.submit(job) }
    }
  }

  /// Caller: takes part until all is done.
  static func finish(_ record: Pointer) {
    record.pointee.workAndClose(record)
    release(record)
  }

  private func workAndClose(_ record: Pointer) {
    work(record)
    close()
  }

  private static let helper: Job.Invoke = { raw in
    let job = Job(raw: raw)
    let record = job.owner!.assumingMemoryBound(to: ApplyRecord.self)
    job.recycle()
    record.pointee.help(record)
    release(record)
  }

  private func help(_ record: Pointer) {
    if !join() { return }
    work(record)
    leave()
  }

  /// Takes chunks until none is left.
  private func work(_ record: Pointer) {
    if Recorder.isOn { return workRecorded(record) }
    _ = takeAll(record)
  }

  @inline(never)
  private func workRecorded(_ record: Pointer) {
    let begun = Cycles.now
    let taken = takeAll(record)
    Recorder.note(.apply, since: begun, argument: UInt32(clamping: taken))
  }

  /// How many indices it has taken.
  private func takeAll(_ record: Pointer) -> Int {
    var taken = 0
    while true {
      // relaxed: the index range carries no data; the body's data is published by submission, and back by `leave`.
      let seen = next.load(ordering: .relaxed)
      if seen >= count { return taken }
      // relaxed: a number of permits; all of them are given out after a few chunks.
      let uncalled = Int(self.uncalled.load(ordering: .relaxed))
      let chunk = max(1, (count - seen) / ((Int(participants) - uncalled) * 8))
      taken += uncalled > 0 ? measure(chunk, record) : take(chunk)
    }
  }

  @inline(__always)
  private func take(_ chunk: Int) -> Int {
    // relaxed: see `takeAll`.
    let first = next.wrappingAdd(chunk, ordering: .relaxed).oldValue
    if first >= count { return 0 }
    if Recorder.isOn { World.hasClaimed() }
    let end = min(count, first + chunk)
    body(first, end)
    return end - first
  }

  /// Takes a chunk and returns its length. If the rest is long enough at the chunk's pace, submits helpers.
  @inline(never)
  private func measure(_ chunk: Int, _ record: Pointer) -> Int {
    let start = Cycles.now
    let taken = take(chunk)
    let elapsed = Double(Cycles.now &- start)
    // relaxed: an estimate.
    let left = count - next.load(ordering: .relaxed)
    callHelpers(ApplyCall.helpersWorth(elapsed / Double(chunk) * Double(left)), record)
    return taken
  }

  private func join() -> Bool {
    state.update { state in
      if state.rawValue & State.closed != 0 { return false }
      state.rawValue += State.one
      return true
    }
  }

  private func leave() {
    let last = state.update { state in
      state.rawValue -= State.one
      return state.rawValue & State.closed != 0 && state.rawValue & State.activeMask == 0
    }
    if last { parker.unpark() }
  }

  /// Caller: waits for the helpers that have joined.
  private func close() {
    let active = state.update { state in
      state.rawValue |= State.closed
      return state.rawValue & State.activeMask
    }
    if active == 0 || parker.waitBriefly(Self.spin) { return }
    waitingForHelpers()
  }

  @inline(never)
  private func waitingForHelpers() {
    let note = WaitNote.begin(.apply, 0)
    let blocking = Blocking.begin()
    _ = Blocking.sleep { parker.park(until: $0) }
    blocking.end()
    note.end()
  }

  private static func release(_ record: Pointer) {
    let last = record.pointee.state.update { state in
      state.rawValue -= State.refOne
      return state.rawValue & State.refMask == 0
    }
    if last {
      record.deinitialize(count: 1)
      Magazine.give(.init(record))
    }
  }
}
