// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// One call of `concurrentPerform`, on its caller's stack.
///
/// The caller begins alone, with pieces that double, and measures. A call with little work ends there: it makes no system call
/// and wakes no thread. When what is left is worth a wake-up, the caller has helpers submitted.
///
/// The monitor looks after the call meanwhile (ApplyHelpRegistry.swift):
///
/// - If the caller is still alone at the second look, the monitor makes the record and submits the helpers. The iterations are
///   long, or wait: so chunks begin with one index, and double while they are short.
/// - A participant is *stuck* if it is in the same iteration at two looks, and waits in the system; or if it has computed there for a
///   slice. If one is, all helpers are worth their wake-up.
/// - If a participant is stuck with something behind it, the monitor submits an extra helper, and the call becomes *careful*: each
///   participant begins the lowest index that nobody has begun, and claims one at a time. So no index waits behind another one, as
///   if each had been handed out alone. There are as many extra helpers as participants: each chunk that was claimed before holds up one
///   thread. If all are stuck for long nevertheless, one more comes now and then (`distanceOfExtras`).
/// - When nothing is behind anybody any more, extra helpers leave, and the record hands out single indices, in order. When nobody has
///   been stuck for some looks, and no extra helper has something behind it, they leave as well, and chunks are long again.
///
/// What the monitor sees at one look is not of one moment: a participant may close a chunk and claim another one meanwhile. So it stops to
/// look after the call when it has found nothing to look after at two looks in a row.
///
/// A call hands out single indices from the start if there is no place in the registry, no monitor (Vacancy.swift), no barrier
/// (ApplyTurn.swift), or no room for extra helpers: on a queue with a limit they are items.
struct ApplyCall: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<ApplyCall>

  /// The first word, see ApplyHelpRegistry.
  private let help: ApplyHelpRegistry.Help = ApplyCall.lookAfter
  /// Guards what follows, and robberies.
  let lock = Lock()
  /// The participants that may yet open a chunk, each with its `next`.
  var turns: ApplyTurn.Pointer?
  /// What the participants share; nil while the caller is alone. It is made once, by the caller or by the monitor.
  private var record: ApplyRecord.Pointer?
  /// Helpers that the monitor may add.
  private var spare: Int
  /// At how many looks in a row a participant was stuck; negative: none was.
  private var stuckLooks = 0
  /// Whether the last look has found nothing to look after.
  private var wasIdle = false

  let count: Int
  let body: BorrowedClosure
  let helpers: Int
  /// Helpers that may yet be submitted.
  let uncalled: Atomic<Int>
  /// A chunk is the rest divided by this, two for each participant: a round of chunks is half of what is left (factoring).
  let parts = Atomic<Int>(ApplyCall.partsOfOne)
  let qos: UInt16
  /// Where the helpers are submitted; nil for the engine's own run queues.
  let queue: Lane?
  /// The queue whose item the call is, if the helpers do not come from there.
  let place: Lane?

  static let partsOfOne = 2
  /// Chunks are single indices.
  private static let manyParts = 1 << 60
  /// Likewise, and there is something behind others.
  static let careful = 1 << 61

  /// All participants are stuck, and nothing is behind them: the monitor looks so many times, and no more. In a simulation time goes on
  /// when all threads wait.
  private static var patience: Int { World.isSimulated ? 1 : 1_000 }
  /// All participants are stuck, something is behind them, and the extra helpers are used up: so often there is one more.
  private static let distanceOfExtras = 100
  /// After so many looks at which nobody was stuck chunks may be long again.
  private static let calmness = 4

  /// Whether there may be extra helpers.
  private var hasRoom: Bool { queue == nil || place != nil || queue!.kind.isRunQueue }

  /// Whether the lowest index is begun next, alone, wherever it is.
  static func isCareful(_ parts: Int) -> Bool { parts >= careful }

  /// What is worth waking a helper for: about 6 µs, in cycles.
  @inline(__always)
  private static var worthHelp: Double { Double(Cycles.perMillisecond) * 0.0064 }

  /// How many helpers work of so many cycles is worth.
  static func helpersWorth(_ cycles: Double) -> Int { Int(min(cycles / worthHelp, 4096)) }

  init(
    count: Int, body: BorrowedClosure, helpers: Int, queue: Lane?, place: Lane?
  ) {
    self.count = count
    self.body = body
    self.helpers = helpers
    spare = helpers + 1
    uncalled = Atomic(helpers)
    self.queue = queue
    self.place = place
    qos = ((place ?? queue)?.submissionQoS ?? .ofThread).rawValue
  }

  /// Calls `body` with chunks that make up all indices below `count`.
  ///
  /// - Parameters:
  ///   - queue: Where helpers are submitted; nil for the engine's own run queues.
  ///   - place: The queue that the calls are made on, if it is another one.
  @inline(never)
  static func run(
    _ count: Int, _ body: (ApplyLoop.Pointer) -> Void, helpers: Int, on queue: Lane?, in place: Lane?
  ) {
    let helpers = min(helpers, count - 1)
    if helpers <= 0 { return runWhole(count, body) }
    var call = ApplyCall(count: count, body: BorrowedClosure(body), helpers: helpers, queue: queue, place: place)
    _withUnprotectedUnsafeMutablePointer(to: &call) { call in
      var turn = ApplyTurn(of: call)
      _withUnprotectedUnsafeMutablePointer(to: &turn) { turn in
        call[0].turns = turn
        runWithHelp(call, turn)
      }
    }
  }

  private static func runWhole(_ count: Int, _ body: (ApplyLoop.Pointer) -> Void) {
    var loop = ApplyLoop()
    // relaxed: no other thread knows the loop.
    loop.end.store(count, ordering: .relaxed)
    _withUnprotectedUnsafeMutablePointer(to: &loop) { body($0) }
  }

  private static func runWithHelp(_ call: Pointer, _ turn: ApplyTurn.Pointer) {
    let word = UnsafeMutableRawPointer(call)
    let place = Barrier.isOffered && call[0].hasRoom ? Engine.current.applyHelp.enter(word) : nil
    if let place, Engine.current.monitor.wake(Engine.current) {
      runWatched(call, turn)
      Engine.current.applyHelp.leave(place, word)
    } else {
      if let place { Engine.current.applyHelp.leave(place, word) }
      call[0].setParts(manyParts)
      let record = share(call, 0..<call[0].count, helpers: isAlone ? 0 : call[0].helpers)
      // relaxed: a number of permits. There are no others.
      call[0].uncalled.store(0, ordering: .relaxed)
      finish(record, turn)
    }
    // The monitor does not know the call any more.
    if let record = call[0].record { ApplyRecord.release(record) }
  }

  /// Whether there is no worker, and no thread can be had that would make one.
  private static var isAlone: Bool {
    // relaxed: a hint.
    Engine.current.pool.load(ordering: .relaxed).live == 0 && !Engine.current.monitor.wake(Engine.current)
  }

  /// Runs pieces until all is done, or the rest is worth help, or the monitor has been there.
  @inline(__always)
  private static func runWatched(_ call: Pointer, _ turn: ApplyTurn.Pointer) {
    let start = Cycles.now
    let worthHelp = Self.worthHelp
    let count = call[0].count
    var (end, piece, worth) = (1, 1, 0)
    turn[0].open(0, 1, limit: count)
    repeat {
      if Recorder.isOn { World.hasClaimed() }
      ApplyTurn.runLoop(turn)
      if end == count {
        if turn[0].isOpen(to: end) { return }
        break
      }
      let elapsed = Double(Cycles.now &- start)
      let rest = elapsed / Double(end) * Double(count - end)
      if rest > worthHelp {
        worth = helpersWorth(rest)
        break
      }
      piece *= 2
      let next = min(count, end + piece)
      if !turn[0].advance(from: end, to: next) { break }
      end = next
    } while true
    runShared(call, turn, from: end, helpers: worth)
  }

  @inline(never)
  private static func runShared(_ call: Pointer, _ turn: ApplyTurn.Pointer, from end: Int, helpers: Int) {
    if turn[0].close(end) {
      finish(share(call, end..<call[0].count, helpers: helpers), turn)
    } else {
      ApplyTurn.settle(turn)
      if let record = call[0].lock.withLock({ call[0].record }) { finish(record, turn) }
    }
  }

  private static func finish(_ record: ApplyRecord.Pointer, _ turn: ApplyTurn.Pointer) {
    ApplyRecord.work(record, turn)
    record[0].close()
  }

  /// Caller, with no chunk open, so that the monitor makes no record.
  private static func share(_ call: Pointer, _ rest: Range<Int>, helpers wanted: Int) -> ApplyRecord.Pointer {
    let helpers = min(wanted, call[0].helpers)
    // relaxed: no other thread changes these before there is a record.
    call[0].uncalled.store(call[0].helpers - helpers, ordering: .relaxed)
    // relaxed: see `setParts`. The monitor may set it meanwhile.
    _ = call[0].parts.wrappingAdd(helpers * partsOfOne, ordering: .relaxed)
    let record = ApplyRecord.make(call, rest, helpers: helpers, isGradual: false)
    call[0].lock.withLock { call[0].record = record }
    record[0].submitHelpers(helpers, record)
    return record
  }

  // These change fields of the call, and not the call as a whole: others look at it meanwhile.

  /// With the lock: a helper takes part from now on.
  static func link(_ turn: ApplyTurn.Pointer, to call: Pointer) {
    turn[0].next = call[0].turns
    call[0].turns = turn
  }

  /// With the lock: a participant leaves, and opens no chunk any more. One that is no extra helper stays while others have something behind
  /// them. An extra helper is there for what is begun next, and leaves with the care.
  ///
  /// - Returns: whether it has left.
  static func unlink(_ turn: ApplyTurn.Pointer, from call: Pointer) -> Bool {
    if turn[0].isExtra {
      call[0].spare += 1
    } else if ApplyTurn.firstBehind(in: call, but: turn) != nil {
      return false
    }
    if call[0].turns == turn {
      call[0].turns = turn[0].next
      return true
    }
    var before = call[0].turns
    while let other = before {
      before = other[0].next
      if before == turn { other[0].next = turn[0].next }
    }
    return true
  }

  // MARK: Monitor

  /// The monitor's second look, and later ones.
  private static let lookAfter: ApplyHelpRegistry.Help = { raw in
    // unsafe: the caller keeps the call until the monitor has put it back.
    let call = raw.assumingMemoryBound(to: ApplyCall.self)
    // The first time that takes long: without the lock.
    if !Barrier.register() {
      call[0].setParts(manyParts)
      return false
    }
    let (found, again) = call[0].lock.withLock {
      let (found, wasIdle) = (look(call), call[0].wasIdle)
      call[0].wasIdle = found.isIdle
      return (found, !(found.isIdle && wasIdle))
    }
    if let record = found.record { record[0].addHelpers(found.helpers, record, areExtra: found.areExtra) }
    return again
  }

  /// What is to be done after a look: helpers are to be submitted to the record, or nothing. And whether there was nothing to look after.
  private typealias Look = (record: ApplyRecord.Pointer?, helpers: Int, areExtra: Bool, isIdle: Bool)

  /// With the lock.
  @_optimize(size)
  private static func look(_ call: Pointer) -> Look {
    let seen = Seen(of: call, at: Clock.uptime.now())
    let behind = ApplyTurn.firstBehind(in: call, but: nil)
    let isOpen = behind != nil || seen.mayOpen
    guard let record = call[0].record else {
      guard let behind, let rest = ApplyTurn.rob(behind, half: false) else { return (nil, 0, false, !isOpen) }
      let record = ApplyRecord.make(call, rest, helpers: 0, isGradual: true)
      call[0].record = record
      call[0].shareFully()
      // relaxed: a number of permits.
      call[0].uncalled.store(0, ordering: .relaxed)
      return (record, call[0].helpers, false, false)
    }
    // relaxed: the monitor's own, but for a helper's share.
    let parts = call[0].parts.load(ordering: .relaxed)
    let hasUnclaimed = record[0].hasUnclaimed
    if seen.stuck > 0, hasUnclaimed {
      // relaxed: permits guard nothing but themselves.
      let left = call[0].uncalled.exchange(0, ordering: .relaxed)
      if left > 0 {
        if parts < manyParts { call[0].shareFully() }
        return (record, left, false, false)
      }
    }
    let looks = seen.stuck > 0 ? max(1, call[0].stuckLooks + 1) : min(-1, call[0].stuckLooks - 1)
    call[0].stuckLooks = looks
    let areAllStuck = seen.stuck == seen.turns
    let isOver = areAllStuck && looks >= patience
    if seen.isStuckBefore {
      call[0].setParts(careful)
      if call[0].spare <= 0, !areAllStuck || looks % distanceOfExtras != 0 || isOver { return (nil, 0, false, isOver) }
      call[0].spare -= 1
      return (record, 1, true, false)
    }
    if isOver {
      call[0].setParts(manyParts)
      return (nil, 0, false, true)
    }
    if isCareful(parts), behind == nil { call[0].setParts(manyParts) }
    if parts >= manyParts, looks <= -calmness, !seen.isBehindExtra { call[0].shareFully() }
    return (nil, 0, false, !isOpen && !hasUnclaimed)
  }

  /// With the lock: a careful participant finds nothing behind others. The monitor ends the care, if it still looks.
  static func nothingIsBehind(in call: Pointer) {
    if call[0].stuckLooks >= patience { call[0].setParts(manyParts) }
  }

  /// Chunks as long as all participants make them.
  private func shareFully() { setParts((helpers + 1) * Self.partsOfOne) }

  private func setParts(_ number: Int) {
    // relaxed: decides about the length and the order of chunks only. A helper that is submitted meanwhile adds its own.
    parts.store(number, ordering: .relaxed)
  }

  /// What the monitor sees at one look.
  private struct Seen {
    var turns = 0
    /// Participants in an iteration that waits, or is long.
    var stuck = 0
    /// Whether one of them has something behind it.
    var isStuckBefore = false
    /// Whether an extra helper has.
    var isBehindExtra = false
    var mayOpen = false

    init(of call: Pointer, at now: UInt64) {
      var next = call[0].turns
      while let turn = next {
        turns += 1
        if turn[0].isBetweenChunks { mayOpen = true }
        if turn[0].isStuck(at: now) {
          stuck += 1
          if turn[0].hasBehind { isStuckBefore = true }
        }
        if turn[0].isExtra, turn[0].hasBehind { isBehindExtra = true }
        next = turn[0].next
      }
    }
  }
}
