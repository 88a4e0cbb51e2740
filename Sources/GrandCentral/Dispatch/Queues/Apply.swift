// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Indices of one `concurrentPerform` that several threads share. Lives in one magazine node, made when the call gets help.
///
/// The participants take chunks of the index range, ever smaller ones towards the end. At first as many helpers are submitted
/// as the rest seems to need. A participant whose chunk shows that the rest needs more submits more, so that a short call on a
/// large machine wakes few threads, and a long one wakes all of them within some rounds.
///
/// | state  | bits  | meaning                                              |
/// |--------|-------|------------------------------------------------------|
/// | active | 0–19  | participants inside the loop, helpers only           |
/// | refs   | 20–39 | helpers submitted and not yet finished, and the caller |
/// | closed | 40    | the caller finds nothing to do any more              |
///
/// Apply.Y1  A helper joins (active + 1) unless closed and active = 0. So once that is so it stays so. An extra helper may join behind
///     `closed`: a chunk is in no look between its claim and its opening, so the caller may have missed it (ApplyTurn.P4).
/// Apply.Y2  The body and the call are touched by the caller, by joined helpers, and by the monitor while the caller may not leave the
///     registry. The caller returns when closed and active = 0, and when it has left the registry.
/// Apply.Y3  The node goes back to a magazine with the last reference.
/// Apply.Y4  A participant leaves when it finds nothing to claim, and nothing to rob (ApplyTurn.swift). An extra helper leaves when the
///     call is not careful (ApplyCall.swift). Care does not end while it has something behind it: so it holds no long chunk then.
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

  /// The next index to give out; grows beyond `end`.
  private let next: Atomic<Int>
  private let end: Int
  private let state: AtomicState<State>
  /// By Apply.Y2.
  private let call: ApplyCall.Pointer
  private let parker = Parker()
  /// Whether chunks begin with one index, and double while they are short.
  private let isGradual: Bool

  /// The helpers' last chunks are small.
  private static let spin = SpinBudget(nanoseconds: SpinBudget.answer)

  typealias Pointer = UnsafeMutablePointer<ApplyRecord>

  private init(_ call: ApplyCall.Pointer, _ range: Range<Int>, helpers: Int, isGradual: Bool) {
    next = Atomic(range.lowerBound)
    end = range.upperBound
    state = AtomicState(State(rawValue: UInt64(helpers + 1) * State.refOne))
    self.call = call
    self.isGradual = isGradual
  }

  /// Makes the record of the indices that are to be shared. So many helpers are counted from the start.
  static func make(_ call: ApplyCall.Pointer, _ range: Range<Int>, helpers: Int, isGradual: Bool) -> Pointer {
    // unsafe: the record fits a node; Apply.Y3 says when the node goes back.
    let record = Magazine.take().assumingMemoryBound(to: ApplyRecord.self)
    record.initialize(to: ApplyRecord(call, range, helpers: helpers, isGradual: isGradual))
    return record
  }

  /// Makes sure that `wanted` of the call's helpers, or all there may be, have been submitted. By the caller and by joined helpers: the
  /// call is there (Apply.Y2).
  func callHelpers(_ wanted: Int, _ record: Pointer) {
    // relaxed: a number of permits, verified below.
    var left = call[0].uncalled.load(ordering: .relaxed)
    var granted = 0
    repeat {
      granted = min(wanted - (call[0].helpers - left), left)
      if granted <= 0 { return }
      // relaxed: permits guard nothing but themselves.
      let (taken, found) = call[0].uncalled.weakCompareExchange(
        expected: left, desired: left - granted, ordering: .relaxed)
      if taken { break }
      left = found
    } while true
    // relaxed: decides about the length of chunks only.
    _ = call[0].parts.wrappingAdd(granted * ApplyCall.partsOfOne, ordering: .relaxed)
    addHelpers(granted, record)
  }

  func addHelpers(_ count: Int, _ record: Pointer, areExtra: Bool = false) {
    state.update { $0.rawValue += UInt64(count) * State.refOne }
    submitHelpers(count, record, areExtra: areExtra)
  }

  /// Submits helpers that are counted already.
  @inline(never)
  func submitHelpers(_ count: Int, _ record: Pointer, areExtra: Bool = false) {
    let queue = call[0].queue
    let qos = call[0].qos
    let band = QoSWord(rawValue: qos).band
    for _ in 0..<count {
      let job = Job(invoke: areExtra ? Self.extraHelper : Self.helper, qos: qos, band: band, owner: .init(record))
      if let queue { queue.enqueueSlow(job) } else { Engine.current.submit(job) }
    }
  }

  private static let helper: Job.Invoke = { help($0, isExtra: false) }
  private static let extraHelper: Job.Invoke = { help($0, isExtra: true) }

  private static func help(_ raw: Job.Word, isExtra: Bool) {
    let job = Job(raw: raw)
    let record = job.owner!.assumingMemoryBound(to: ApplyRecord.self)
    job.recycle()
    if record[0].join() {
      help(record, isExtra: isExtra)
      record[0].leave()
    }
    release(record)
  }

  private static func help(_ record: Pointer, isExtra: Bool) {
    let call = record[0].call
    guard let place = call[0].place else { return takePart(in: record, of: call, isExtra: isExtra) }
    var context = QueueContext()
    _withUnprotectedUnsafeMutablePointer(to: &context) { context in
      QueueContext.push(context, place, .nothing)
      takePart(in: record, of: call, isExtra: isExtra)
      QueueContext.pop(context)
    }
  }

  @inline(never)
  private static func takePart(in record: Pointer, of call: ApplyCall.Pointer, isExtra: Bool) {
    var turn = ApplyTurn(of: call, isExtra: isExtra)
    _withUnprotectedUnsafeMutablePointer(to: &turn) { turn in
      call[0].lock.withLock { ApplyCall.link(turn, to: call) }
      work(record, turn)
    }
  }

  /// Takes chunks until none is left, then from others, and leaves.
  static func work(_ record: Pointer, _ turn: ApplyTurn.Pointer) {
    if Recorder.isOn { takeRecorded(record, turn) } else { _ = record[0].takeAll(turn, record) }
    ApplyTurn.robOthers(turn)
  }

  @inline(never)
  private static func takeRecorded(_ record: Pointer, _ turn: ApplyTurn.Pointer) {
    let begun = Cycles.now
    let taken = record[0].takeAll(turn, record)
    Recorder.note(.apply, since: begun, argument: UInt32(clamping: taken))
  }

  /// How many indices it has taken.
  private func takeAll(_ turn: ApplyTurn.Pointer, _ record: Pointer) -> Int {
    var taken = 0
    var longest = isGradual ? 1 : Int.max
    while true {
      // One look at it: an extra helper takes no long chunk because care ends meanwhile (Apply.Y4).
      // relaxed: an estimate.
      let parts = call[0].parts.load(ordering: .relaxed)
      if ApplyCall.isCareful(parts) {
        if ApplyTurn.robOne(turn, half: false) { continue }
      } else if turn[0].isExtra {
        return taken
      }
      // relaxed: the index range carries no data; the body's data is published by submission, and back by `leave`.
      let seen = next.load(ordering: .relaxed)
      if seen >= end { return taken }
      let chunk = max(1, min(longest, (end - seen) / parts))
      // relaxed: a number of permits; all of them are given out after a few chunks.
      if longest < .max || call[0].uncalled.load(ordering: .relaxed) > 0 {
        taken += measure(chunk, turn, record, &longest)
      } else {
        taken += take(chunk, turn)
      }
    }
  }

  /// Whether there are indices that no participant has claimed: a hint.
  var hasUnclaimed: Bool {
    // relaxed: a hint.
    next.load(ordering: .relaxed) < end
  }

  @inline(__always)
  private func take(_ chunk: Int, _ turn: ApplyTurn.Pointer) -> Int {
    // relaxed: see `takeAll`.
    let first = next.wrappingAdd(chunk, ordering: .relaxed).oldValue
    if first >= end { return 0 }
    let last = min(end, first + chunk)
    ApplyTurn.run(turn, first, last)
    return last - first
  }

  /// Takes a chunk and returns its length. If it was short, the next one may be longer. If the rest is long enough at the chunk's pace,
  /// submits helpers.
  @inline(never)
  private func measure(_ chunk: Int, _ turn: ApplyTurn.Pointer, _ record: Pointer, _ longest: inout Int) -> Int {
    let start = Cycles.now
    let taken = take(chunk, turn)
    let elapsed = Cycles.now &- start
    if chunk == longest, elapsed < Self.short { longest *= 2 }
    // relaxed: an estimate.
    let left = end - next.load(ordering: .relaxed)
    callHelpers(ApplyCall.helpersWorth(Double(elapsed) / Double(chunk) * Double(left)), record)
    return taken
  }

  /// A chunk for which it does not matter that it is run in one piece: some 60 µs, in cycles.
  private static var short: UInt64 { Cycles.perMillisecond / 16 }

  private func join() -> Bool {
    state.update { state in
      if state.rawValue & State.closed != 0, state.rawValue & State.activeMask == 0 { return false }
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
  func close() {
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

  static func release(_ record: Pointer) {
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
