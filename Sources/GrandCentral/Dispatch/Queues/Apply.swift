// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// The shared part of one call of `concurrentPerform`. Lives in one magazine node, made when the call gets help.
///
/// The participants take chunks of the index range, ever smaller ones towards the end.
///
/// | state  | bits  | meaning                                    |
/// |--------|-------|--------------------------------------------|
/// | active | 0–19  | participants inside the loop, helpers only |
/// | refs   | 20–39 | helpers not yet finished, and the caller   |
/// | closed | 40    | all indices are given out: nobody may join |
///
/// Y1  A helper joins (active + 1) only while not closed; so once closed, active only falls.
/// Y2  The body is touched by the caller and by joined helpers only. The caller returns when closed and active = 0.
/// Y3  The node goes back to a magazine with the last reference.
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

  /// A: the next index to give out; grows beyond `count`.
  private let next: Atomic<Int>
  /// I
  private let count: Int
  private let state: AtomicState<State>
  /// I, Y2
  private let body: BorrowedClosure
  private let parker = Parker()
  /// I
  private let participants: Int32
  private let qos: UInt16

  /// The helpers' last chunks are small.
  private static let spin = SpinBudget(rounds: SpinBudget.answer)

  typealias Pointer = UnsafeMutablePointer<ApplyRecord>

  private init(from first: Int, to count: Int, body: BorrowedClosure, helpers: Int, qos: UInt16) {
    next = Atomic(first)
    self.count = count
    self.body = body
    participants = Int32(helpers + 1)
    state = AtomicState(State(rawValue: UInt64(helpers + 1) * State.refOne))
    self.qos = qos
  }

  /// Makes the record of a call whose indices from `first` on are to be shared, and submits its helpers.
  static func start(_ call: borrowing ApplyCall, from first: Int) -> Pointer {
    // unsafe: the record fits a node; Y3 says when the node goes back.
    let record = Magazine.take().assumingMemoryBound(to: ApplyRecord.self)
    record.initialize(
      to: ApplyRecord(from: first, to: call.count, body: call.body, helpers: call.helpers, qos: call.qos))
    let band = call.queue?.ownQoS.band ?? QoSWord(rawValue: call.qos).band
    for _ in 0..<call.helpers {
      let job = Job(invoke: helper, qos: call.qos, band: band, owner: UnsafeMutableRawPointer(record))
      if let queue = call.queue { queue.enqueue(job) } else { Engine.shared.pointee.submit(job) }
    }
    return record
  }

  /// Caller: takes part until all is done.
  static func finish(_ record: Pointer) {
    record.pointee.work()
    record.pointee.close()
    release(record)
  }

  private static let helper: Job.Invoke = { raw in
    let job = Job(raw: raw)
    let record = job.owner!.assumingMemoryBound(to: ApplyRecord.self)
    Items.adopt(job)
    job.recycle()
    if record.pointee.join() {
      record.pointee.work()
      record.pointee.leave()
    }
    release(record)
  }

  /// Takes chunks until none is left.
  private func work() {
    while true {
      // relaxed: the index range carries no data; the body's data is published by submission, and back by `leave`.
      let seen = next.load(ordering: .relaxed)
      if seen >= count { return }
      let chunk = max(1, (count - seen) / (Int(participants) * 8))
      let first = next.wrappingAdd(chunk, ordering: .relaxed).oldValue
      if first < count { body(first, min(count, first + chunk)) }
    }
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
    let blocking = Blocking.begin()
    _ = parker.park()
    blocking.end()
  }

  private static func release(_ record: Pointer) {
    let last = record.pointee.state.update { state in
      state.rawValue -= State.refOne
      return state.rawValue & State.refMask == 0
    }
    if last {
      record.deinitialize(count: 1)
      Magazine.give(UnsafeMutableRawPointer(record))
    }
  }
}
