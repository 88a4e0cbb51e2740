// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The places: as many as there are processors, or ever were.
struct Places: ~Copyable, @unchecked Sendable {  // the words are atomic, the array grows under `lock`
  private typealias Entry = UnsafeMutablePointer<Place.Pointer>

  private let lock = Lock()
  /// A, written under the lock. An array that has become too small is left to whoever may still read it.
  private let entries = Atomic<UnsafeMutableRawPointer?>(nil)
  private let used = Atomic<Int>(0)
  private let gapBehindEntries = CacheLine.Gap()
  /// A: the map of places whose backlogs may hold jobs: bit n stands for the places n, n + 64, and so on.
  ///
  /// Who adds a job looks at the bit afterwards; who clears it looks at the backlogs afterwards (`clearFilled`). So one of
  /// the two sees the other, and a bit that is clear says that the backlogs were empty.
  let filled = Atomic<UInt64>(0)
  private let gapBehindFilled = CacheLine.Gap()

  @inline(__always)
  var count: Int {
    // pairs with: grow – publishes the places below the count
    used.load(ordering: .acquiring)
  }

  @inline(__always)
  subscript(index: Int) -> Place.Pointer {
    // pairs with: grow – publishes the array
    entries.load(ordering: .acquiring).unsafelyUnwrapped.assumingMemoryBound(to: Place.Pointer.self)[index]
  }

  /// Makes places until there are `wanted`.
  func grow(to wanted: Int) {
    lock.lock()
    defer { lock.unlock() }
    // relaxed: written under the lock only.
    let old = used.load(ordering: .relaxed)
    if wanted <= old { return }
    // unsafe: lives as long as the engine.
    let array = Entry.allocate(capacity: wanted)
    for index in 0..<wanted {
      (array + index).initialize(to: index < old ? self[index] : Self.make(index))
    }
    // pairs with: subscript – publishes the array; then count – that the index exists
    entries.store(UnsafeMutableRawPointer(array), ordering: .releasing)
    used.store(wanted, ordering: .releasing)
  }

  private static func make(_ index: Int) -> Place.Pointer {
    let raw = Memory.allocate(MemoryLayout<Place>.stride, alignment: CacheLine.size)
    let place = raw.bindMemory(to: Place.self, capacity: 1)
    place.initialize(to: Place(index: index))
    return place
  }

  @inline(__always)
  private static func bit(_ index: Int) -> UInt64 { 1 &<< UInt64(truncatingIfNeeded: index & 63) }

  /// A backlog of the place has got a job.
  @inline(__always)
  func noteFilled(_ index: Int) {
    // seq-cst: after the job's ticket; see `filled`.
    if filled.load(ordering: .sequentiallyConsistent) & Self.bit(index) == 0 {
      filled.bitwiseOr(Self.bit(index), ordering: .sequentiallyConsistent)
    }
  }

  /// The place's backlogs were found empty.
  func clearFilled(_ index: Int) {
    // seq-cst: cleared before the second look; see `filled`.
    filled.bitwiseAnd(~Self.bit(index), ordering: .sequentiallyConsistent)
    var sibling = index & 63
    while sibling < count {
      if !self[sibling].pointee.isEmpty { return noteFilled(sibling) }
      sibling += 64
    }
  }

  /// Whether another place than `index` may hold jobs.
  @inline(__always)
  func mayHoldBeside(_ index: Int) -> Bool {
    // relaxed: a hint; who is about to sleep looks at the pending bits with the proper order.
    filled.load(ordering: .relaxed) & ~Self.bit(index) != 0 || count > 64
  }

  /// Calls `visit` for the places whose backlogs may hold jobs, beginning behind the place `start`, until it returns a job.
  @inline(__always)
  func search(after start: Int, _ visit: (Place.Pointer) -> Job?) -> Job? {
    // relaxed: a hint; who is about to sleep looks at the pending bits with the proper order.
    let map = filled.load(ordering: .relaxed)
    if map == 0 { return nil }
    let count = count
    let turn = UInt64(truncatingIfNeeded: (start + 1) & 63)
    // Rotated: the shifts are modulo 64.
    var rest = map &>> turn | map &<< (64 &- turn)
    while rest != 0 {
      var index = (rest.trailingZeroBitCount + Int(turn)) & 63
      rest &= rest &- 1
      while index < count {
        if let job = visit(self[index]) { return job }
        index += 64
      }
    }
    return nil
  }

  /// Whether a backlog of a place holds a job of `band`.
  func holdWork(_ band: Band) -> Bool {
    for index in 0..<count where self[index].pointee.holdsWork(band) { return true }
    return false
  }
}

extension Engine {
  /// Sets the number of places in use. Whoever holds one beyond them loses it.
  func setTarget(_ wanted: Int) {
    places.grow(to: wanted)
    // relaxed: a setting.
    target.store(wanted, ordering: .relaxed)
    for index in wanted..<max(wanted, places.count) {
      guard let worker = holder(of: places[index]) else { continue }
      // relaxed: see P2 of Place; `setAside` makes sure of the pulse.
      places[index].pointee.holder.store(0, ordering: .relaxed)
      let pulse = worker.pointee.progress.load(ordering: .relaxed)
      if pulse & 1 == 1, !worker.pointee.isAway { _ = setAside(worker, pulse, as: Worker.Status.adrift) }
    }
  }

  /// Gives the worker, which holds no place, one that nobody holds or whose holder is away.
  ///
  /// It prefers one where jobs wait.
  ///
  /// - Returns: false if there is none: the worker is one too many.
  @inline(never)
  func takePlace(_ worker: Worker.Pointer) -> Bool {
    // relaxed: a setting; a hint.
    let limit = min(places.count, target.load(ordering: .relaxed))
    let map = places.filled.load(ordering: .relaxed)
    var another: Place.Pointer?
    for index in 0..<limit where isFree(places[index]) {
      let isFilled = map &>> UInt64(truncatingIfNeeded: index & 63) & 1 == 1
      if isFilled, worker.pointee.take(places[index]) { return true }
      another = places[index]
    }
    if let another { return worker.pointee.take(another) }
    return false
  }

  /// Whether nobody holds the place, or its holder starts no jobs at the moment.
  private func isFree(_ place: Place.Pointer) -> Bool {
    guard let holder = holder(of: place) else { return true }
    return holder.pointee.isAway
  }

  /// The worker that holds the place.
  @inline(__always)
  func holder(of place: Place.Pointer) -> Worker.Pointer? {
    // pairs with: Worker.take – publishes the holder's record
    let name = place.pointee.holder.load(ordering: .acquiring)
    return name == 0 ? nil : workers[Int(name) - 1]
  }
}
