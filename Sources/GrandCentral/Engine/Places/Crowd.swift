// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// More workers compute than there are processors, by more than a few: a crowd.
///
/// An item that computes and waits in turn, for ever, as a server's does, is found blocked, and its place goes to another worker. Then
/// it comes back, and computes beside the places. If each wait added such a worker, hundreds of threads would share the processors, and
/// whatever has to be started would wait behind them. So in a crowd
///
/// - a place stays with a holder that is found blocked;
/// - ordered work is started by the workers that hold places, and by one more worker after each pause (`mayGrow`);
/// - loose work, lanes and events, is started at once: by a *helper*, a worker without a place, which sleeps afterwards.
///
/// | since a worker was added       | the next pause                                                     |
/// |--------------------------------|--------------------------------------------------------------------|
/// | no more workers compute        | a slice                                                            |
/// | more of them than ever do      | half a slice for each one too many: a hundred come together in 25 s |
///
/// When most of a crowd's members wait at once, there is no crowd. They come back. So for four times as long as the crowd has
/// lasted, no more workers are added at a tick than have been found blocked, and a few, unless processors have been left over for half a slice.
struct Crowd {
  /// `Engine.crowd`, if there is none.
  static let none = -1
  private static let longestMemory: UInt64 = 16 * Slices.slice

  /// By how many the workers that compute exceed the processors, at most: since a worker was added, and before.
  private var peak = 0
  private var most = 0
  private var pause: UInt64 = 0
  /// How long there has been a crowd, and for how long it is remembered.
  private var lasted: UInt64 = 0
  private var remembered: UInt64 = 0
  /// For how long fewer workers have computed than there are places.
  private var idle: UInt64 = 0
  /// How long help is withheld after a helper was added, and for how long still.
  private var helpPause: UInt64 = 0
  private var untilHelp: UInt64 = 0

  /// - Parameters:
  ///   - excess: By how many the workers that compute, with places or without, exceed the places.
  ///   - computing: How many have been seen to compute. Those that have just been added are not among them, and may be about to wait.
  /// - Returns: whether there is a crowd.
  mutating func look(excess: Int, computing: Int, places: Int, elapsed: UInt64) -> Bool {
    pause -= min(pause, elapsed)
    let few = Slices.few(places)
    guard excess > few else {
      lasted = 0
      idle = computing < places ? idle &+ elapsed : 0
      if remembered > elapsed, idle < Slices.slice / 2 { remembered -= elapsed } else { self = Crowd() }
      return false
    }
    idle = 0
    if computing > places + few { lasted = min(lasted &+ elapsed, Self.longestMemory / 4) }
    remembered = max(remembered, 4 * lasted)
    peak = max(peak, excess)
    return true
  }

  /// Whether there is a crowd that has been proved, or there was one a moment ago.
  var isRemembered: Bool { remembered > 0 }

  /// Whether a worker may be added now.
  mutating func mayGrow() -> Bool {
    if pause > 0 { return false }
    pause = peak > most ? UInt64(peak) * Slices.slice / 2 : Slices.slice
    (peak, most) = (0, max(peak, most))
    return true
  }

  /// Whether a helper is added now: at once when one is needed, and after pauses that double while that stays so.
  mutating func mayHelp(isNeeded: Bool, elapsed: UInt64) -> Bool {
    guard isNeeded else {
      (helpPause, untilHelp) = (0, 0)
      return false
    }
    untilHelp -= min(untilHelp, elapsed)
    if untilHelp > 0 { return false }
    helpPause = min(max(2 * helpPause, Monitor.tick), 16 * Slices.slice)
    untilHelp = helpPause
    return true
  }
}

extension Engine {
  /// Whether the monitor has found a crowd.
  var isCrowded: Bool {
    // relaxed: a hint; the monitor looks at its ticks after the threads that it concerns.
    crowd.load(ordering: .relaxed) != Crowd.none
  }

  /// Whether the caller may take a place that the crowd's rule leaves to its holder.
  func useGrant() -> Bool {
    // relaxed: a number of permissions; the exchange makes sure that each is used once.
    let grants = crowd.load(ordering: .relaxed)
    return grants > 0 && crowd.compareExchange(expected: grants, desired: grants - 1, ordering: .relaxed).exchanged
  }

  /// Makes a worker look for loose work, unless one does already. Any thread.
  func addHelper() {
    // relaxed: hints; the claim looks again.
    let active = pool.load(ordering: .relaxed).active
    if active > parallelism.load(ordering: .relaxed) || pending.load(ordering: .relaxed) & Band.allLoose == 0 { return }
    _ = reinforce(parallelism: active + 1, budget: threadLimit)
  }

  /// Monitor: lanes or events are pending.
  func helpLanes(_ now: UInt64) { if needsHelper(now) { addHelper() } }

  /// Whether lanes and events need a helper: the holders of all places run long jobs, or there is a crowd.
  func needsHelper(_ now: UInt64) -> Bool {
    if isCrowded { return true }
    // relaxed: a setting.
    for index in 0..<min(places.count, parallelism.load(ordering: .relaxed)) {
      if holder(of: places[index])?.pointee.longPulse(now) == nil { return false }
    }
    return true
  }

  /// Monitor: looks for a crowd, in which the `allowance` of other workers does not hold.
  ///
  /// - Returns: how many workers may be added; nil for any number.
  func lookForCrowd(
    _ found: inout Crowd, _ state: PoolState, _ seen: Compensation.Findings, places: Int, allowance most: Int,
    elapsed: UInt64
  ) -> Int? {
    let isCrowd = found.look(
      excess: state.active + state.adrift - places, computing: seen.computing + state.adrift, places: places,
      elapsed: elapsed)
    guard isCrowd else {
      noCrowd()
      let beyond = found.isRemembered ? Slices.few(places) + seen.stalled : nil
      // relaxed: as in `isCrowded`.
      allowance.store(min(most, beyond ?? most), ordering: .relaxed)
      return beyond.map { max(0, places + $0 - state.active) }
    }
    // relaxed: as in `isCrowded`.
    allowance.store(0, ordering: .relaxed)
    let mayGrow = found.mayGrow()
    // relaxed: as in `isCrowded`. A permission that has not been used stays.
    if mayGrow || !isCrowded { crowd.store(mayGrow ? 1 : 0, ordering: .relaxed) }
    return freePlaces + (mayGrow ? 1 : 0)
  }

  /// Monitor, in a crowd: adds a worker if lanes, events or work more urgent than what the holders of places run stays pending, however
  /// many workers count as active. A worker that has been woken out of a wait counts, and may wait long for a processor, as long as the
  /// crowd is large; so the number does not say that one of them will come for this work.
  func helpBesideCrowd(_ crowd: inout Crowd, elapsed: UInt64) {
    // relaxed: hints; the worker looks again.
    let (state, waiting) = (pool.load(ordering: .relaxed), pending.load(ordering: .relaxed))
    let isNeeded =
      waiting != 0 && state.searching == 0 && (waiting & Band.allLoose != 0 || mayOvertake(Band(firstIn: waiting)))
    guard crowd.mayHelp(isNeeded: isNeeded, elapsed: elapsed) else { return }
    _ = reinforce(parallelism: state.active + 1, budget: threadLimit)
  }

  func noCrowd() {
    // relaxed: as in `isCrowded`.
    crowd.store(Crowd.none, ordering: .relaxed)
  }
}

extension Worker {
  /// Displacement.D3
  func move(from old: UInt32, to new: UInt32, in engine: borrowing Engine) {
    engine.pool.addInOrder { $0.setAside(as: new) }
    // relaxed: the worker that ends its job finds either, and takes it back from there (Displacement.D2).
    let changed = self.status.compareExchange(expected: old, desired: new, ordering: .relaxed).exchanged
    engine.pool.addInOrder { $0.takeBack(from: changed ? old : new) }
  }
}
