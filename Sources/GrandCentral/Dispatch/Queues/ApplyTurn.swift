// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// A participant of a `concurrentPerform`, on its thread's stack, and what others may do to the chunk that it runs.
//
// A participant claims a chunk of several indices at once and runs it without a look at other threads. Its iterations may differ:
// one takes long, or waits. What is behind that one must not wait for it. So the chunk stays open to others: a robber takes, for a
// chunk of its own, what the participant has not begun.
//
//   | loop.end | means                                                                                         |
//   |----------|-----------------------------------------------------------------------------------------------|
//   | > 0      | a chunk is open: the owner may begin indices below `end`, and owns those below `limit` behind   |
//   | 0        | no chunk is open; if the owner has not closed it, a robber has                                |
//
// A chunk has `end` = `limit`. A lone caller's chunk is the whole call: it moves `end` on, piece by piece.
//
// ApplyTurn.P1  The chunk is open until one of two threads puts `end` to 0: the owner by an exchange, when its loop has returned; a
//     robber by a compare-and-exchange, with the call's lock. The other one sees that: after a robbery the owner opens no chunk
//     before it has had the lock.
// ApplyTurn.P2  The owner writes `limit` while no chunk is open. A robber writes it between its exchange and its unlock.
// ApplyTurn.P3  A robber takes what is behind the index that it finds noted. The owner may be about to begin that one, but no later
//     one: it notes an index first and looks at `end` afterwards. The robber closes first and looks at the index afterwards.
//     Between its two steps the kernel makes all threads pass a barrier, so that the loop needs none.
//     Until the owner has noticed it begins nothing, so another robber needs no barrier.
// ApplyTurn.P4  What is taken is open again, as the robber's chunk, before the robber lets go of the lock: no look misses it. The
//     monitor robs a lone caller: it makes the call's record of what it takes.
// ApplyTurn.P5  The noted index is the owner's. If it has not begun it, it runs it after the robbery.
//
// owner    1  `open`   2  the loop runs   3  `end` → 0; it was as opened: done   4  lock: read `limit`; run the rest, if any: 1
// robber   1  lock   2  `end` → 0; it has changed, or is 0: unlock   3  barrier   4  `limit` → behind the index, or in the middle of
//          the rest; open that; unlock   5  run it, as an owner
//
// Where the kernel offers no barrier nobody robs: a chunk is a single index (ApplyCall.swift).
//
// Rejected: chunks bounded by time (a clock's reading for each, and short chunks where the clock is slow; one slow iteration
// still holds up those behind it); an exchange for each index (twenty cycles); a request that the owner answers after its
// iteration (two slow ones in one chunk run one after the other); a look at each wait in the library, which gives away what is behind
// (it slowed contended semaphores down by half, and saw no other wait).
struct ApplyTurn: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<ApplyTurn>

  private let loop = ApplyLoop()
  private let limit = Atomic<Int>(0)
  let call: ApplyCall.Pointer
  /// The call's next one, under its lock.
  var next: Pointer?
  private let thread = Thread.id
  /// Whether a robber has closed the chunk, and the owner has not noticed. Under the call's lock.
  private let isRobbed = Atomic<Bool>(false)
  /// An extra helper leaves when the call is not careful any more.
  let isExtra: Bool
  /// Monitor's own: the index at its last look, since when, and how much processor time the thread had used then.
  private let seen = Atomic<Int>(-1)
  private let seenSince = Atomic<UInt64>(0)
  private let seenUsed = Atomic<UInt64>(0)

  @inline(__always)
  init(of call: ApplyCall.Pointer, isExtra: Bool = false) {
    self.call = call
    self.isExtra = isExtra
  }

  // MARK: Owner

  /// Runs a chunk.
  @inline(__always)
  static func run(_ turn: Pointer, _ first: Int, _ end: Int) {
    turn[0].open(first, end, limit: end)
    runOpen(turn, end)
  }

  @inline(__always)
  private static func runOpen(_ turn: Pointer, _ end: Int) {
    if Recorder.isOn { World.hasClaimed() }
    runLoop(turn)
    if !turn[0].close(end) { settle(turn) }
  }

  /// ApplyTurn.P2: no chunk is open.
  @inline(__always)
  func open(_ first: Int, _ end: Int, limit: Int) {
    // relaxed: published by `end`.
    self.limit.store(limit, ordering: .relaxed)
    loop.index.store(first, ordering: .relaxed)
    // pairs with: rob – publishes the chunk. The robber's barrier would do for the processor: this is for the compiler.
    loop.end.store(end, ordering: .releasing)
  }

  @inline(__always)
  static func runLoop(_ turn: Pointer) {
    // No access that changes the turn as a whole: others look at it meanwhile.
    _withUnprotectedUnsafePointer(to: turn[0].loop) { turn[0].call[0].body(ApplyLoop.Pointer(mutating: $0)) }
  }

  /// Lone caller: the next piece. False if the monitor has been there.
  @inline(__always)
  func advance(from end: Int, to next: Int) -> Bool {
    // relaxed: the piece is the owner's own.
    loop.end.compareExchange(expected: end, desired: next, ordering: .relaxed).exchanged
  }

  /// Lone caller, behind its loop: whether nobody has been there.
  @inline(__always)
  func isOpen(to end: Int) -> Bool {
    // relaxed: the owner's own word; ApplyTurn.P3.
    loop.end.load(ordering: .relaxed) == end
  }

  /// False if a robber has been there: `settle` is due.
  @inline(__always)
  func close(_ end: Int) -> Bool {
    // relaxed: ApplyTurn.P1; what a robber has written is read with the lock.
    loop.end.exchange(0, ordering: .relaxed) == end
  }

  /// After a robbery: runs what is left to the owner.
  @inline(never)
  @_optimize(size)
  static func settle(_ turn: Pointer) {
    while true {
      // relaxed: the owner's own word, and the lock's.
      let first = turn[0].loop.index.load(ordering: .relaxed)
      let end = turn[0].call[0].lock.withLock {
        // relaxed: the lock's.
        turn[0].isRobbed.store(false, ordering: .relaxed)
        let end = turn[0].limit.load(ordering: .relaxed)
        if first < end { turn[0].open(first, end, limit: end) }
        return end
      }
      if first >= end { return }
      runLoop(turn)
      if turn[0].close(end) { return }
    }
  }

  // MARK: Robbers

  /// With the call's lock: whether it may be about to open a chunk. A chunk that has been claimed is in no look until it is open.
  var isBetweenChunks: Bool {
    // pairs with: open – publishes the limit of a chunk that is seen to be open
    // relaxed: a hint.
    loop.end.load(ordering: .acquiring) == 0 && !isRobbed.load(ordering: .relaxed)
  }

  /// With the call's lock: whether indices are behind `index`, which is noted. A hint.
  private func hasBehind(_ index: Int) -> Bool {
    // relaxed: a hint.
    !isBetweenChunks && limit.load(ordering: .relaxed) > index + 1
  }

  /// With the call's lock, and the barrier registered: takes what the owner has not begun, or the second half of it. Nil if there
  /// is nothing any more.
  static func rob(_ turn: Pointer, half: Bool) -> Range<Int>? {
    // relaxed: the lock's.
    if !turn[0].isRobbed.load(ordering: .relaxed), !turn[0].closeForOwner() { return nil }
    turn[0].isRobbed.store(true, ordering: .relaxed)
    // relaxed: the barrier orders; the lock's until the owner opens the next chunk.
    let limit = turn[0].limit.load(ordering: .relaxed)
    var first = turn[0].loop.index.load(ordering: .relaxed) + 1
    if half { first += (limit - first) / 2 }
    if first >= limit { return nil }
    // relaxed: as above.
    turn[0].limit.store(first, ordering: .relaxed)
    return first..<limit
  }

  /// False if the owner has done so, or has gone on with a lone caller's next piece.
  private func closeForOwner() -> Bool {
    // relaxed: compared below; the barrier orders (ApplyTurn.P3).
    let end = loop.end.load(ordering: .relaxed)
    return end != 0 && loop.end.compareExchange(expected: end, desired: 0, ordering: .relaxed).exchanged
      && Barrier.issue()
  }

  /// With the call's lock: of the participants with something behind the noted index the one whose index is lowest.
  static func firstBehind(in call: ApplyCall.Pointer, but turn: Pointer?) -> Pointer? {
    var (found, lowest) = (Pointer?.none, Int.max)
    var next = call[0].turns
    while let other = next {
      // relaxed: a hint.
      let index = other[0].loop.index.load(ordering: .relaxed)
      if other != turn, index < lowest, other[0].hasBehind(index) { (found, lowest) = (other, index) }
      next = other[0].next
    }
    return found
  }

  /// Takes something over from another participant, and runs it. False if there is nothing.
  @inline(never)
  @_optimize(size)
  static func robOne(_ turn: Pointer, half: Bool) -> Bool {
    guard Barrier.isRegistered else { return false }
    let call = turn[0].call
    let end = call[0].lock.withLock {
      // If care has ended meanwhile, an extra helper takes no more than one index.
      // relaxed: changed with the lock, but for a helper's share.
      if !half, !ApplyCall.isCareful(call[0].parts.load(ordering: .relaxed)) { return 0 }
      while let other = firstBehind(in: call, but: turn) {
        // Nil: its owner has closed the chunk meanwhile, or has begun its last index. The next one has its turn.
        guard let taken = rob(other, half: half) else { continue }
        turn[0].open(taken.lowerBound, taken.upperBound, limit: taken.upperBound)
        return taken.upperBound
      }
      if !half { ApplyCall.nothingIsBehind(in: call) }
      return 0
    }
    if end == 0 { return false }
    runOpen(turn, end)
    return true
  }

  /// Participant with nothing left to claim: robs others for as long as they have something, each time after a moment in which short
  /// iterations end, and leaves.
  @inline(never)
  @_optimize(size)
  static func robOthers(_ turn: Pointer) {
    let call = turn[0].call
    var start = Cycles.now
    var naps = Backoff()
    while !call[0].lock.withLock({ ApplyCall.unlink(turn, from: call) }) {
      let waited = Cycles.now &- start
      // To register takes long: is it worth it?
      if waited >= patience, Barrier.isRegistered || waited >= patience * 100 && Barrier.register() {
        // relaxed: decides about the order only.
        if robOne(turn, half: !ApplyCall.isCareful(call[0].parts.load(ordering: .relaxed))) {
          start = Cycles.now
          naps = Backoff()
        }
      } else {
        naps.wait()
      }
    }
  }

  /// Some 20 µs, in cycles. A simulation does not wait.
  private static var patience: UInt64 { Cycles.perMillisecond / 50 }

  // MARK: Monitor

  /// With the call's lock: whether something is behind the noted index. A hint.
  var hasBehind: Bool {
    // relaxed: a hint.
    hasBehind(loop.index.load(ordering: .relaxed))
  }

  /// Whether the thread is in the iteration that it was in at the last look, and waits in the system; or has computed for a slice. One that
  /// waits for a processor is not stuck. Where the system does not say, it has to stand still for long.
  func isStuck(at now: UInt64) -> Bool {
    // relaxed: here and below, a hint, and the monitor's own.
    let index = loop.index.load(ordering: .relaxed)
    let used = Thread.processorTime(of: thread)
    if index != seen.exchange(index, ordering: .relaxed) || isBetweenChunks {
      // relaxed: see above.
      seenSince.store(now, ordering: .relaxed)
      seenUsed.store(used, ordering: .relaxed)
      return false
    }
    // relaxed: see above.
    let (since, usedThen) = (seenSince.load(ordering: .relaxed), seenUsed.load(ordering: .relaxed))
    return switch Thread.activity(of: thread) {
    case .waits: true
    case .runnable: used &- usedThen >= Slices.slice
    case .waitsBriefly, nil: now &- since >= 10 * Slices.slice
    }
  }
}
