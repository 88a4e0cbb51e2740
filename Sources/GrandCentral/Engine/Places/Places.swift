// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// The places: as many as there are processors, or ever were.
struct Places: ~Copyable, @unchecked Sendable {  // the words are atomic, the array grows under `lock`
  private typealias Entry = UnsafeMutablePointer<UnsafeMutableRawPointer?>

  private let lock = Lock()
  /// Written under the lock: the array of the places. Its first word is the array that it replaced, which had become too
  /// small: threads may still read that one, so it is kept.
  private let entries = Atomic<UnsafeMutableRawPointer?>(nil)
  private let used = Atomic<Int>(0)
  private let gapBehindEntries = CacheLine.Gap()
  /// The map of the places that may hold jobs in a backlog: bit n stands for the places n, n + 64, and so on.
  ///
  /// A thread that adds a job looks at the bit afterwards. A thread that clears the bit looks at the backlogs afterwards
  /// (`clearFilled`). So one of the two sees the other, and a clear bit says that the backlogs were empty.
  let filled = Atomic<UInt64>(0)
  private let gapBehindFilled = CacheLine.Gap()

  @inline(__always)
  var count: Int {
    // seq-cst: with anything weaker a searcher that has cleared a bit may miss a new place at its second look, while the
    // submitter to that place has seen the bit set: both miss. It also acquires the places below the count.
    used.load(ordering: .sequentiallyConsistent)
  }

  @inline(__always)
  subscript(index: Int) -> Place.Pointer {
    // pairs with: grow – publishes the array
    let entry = entries.load(ordering: .acquiring).unsafelyUnwrapped.assumingMemoryBound(to: Entry.Pointee.self)
    return entry[index &+ 1].unsafelyUnwrapped.assumingMemoryBound(to: Place.self)
  }

  /// Makes places until there are `wanted`.
  func grow(to wanted: Int) {
    lock.lock()
    defer { lock.unlock() }
    // relaxed: written under the lock only.
    let old = used.load(ordering: .relaxed)
    if wanted <= old { return }
    // unsafe: lives as long as the engine.
    let array = Entry.allocate(capacity: wanted + 1)
    // relaxed: written under the lock only.
    array.initialize(to: entries.load(ordering: .relaxed))
    for index in 0..<wanted {
      (array + index + 1).initialize(to: UnsafeMutableRawPointer(index < old ? self[index] : Self.make(index)))
    }
    // pairs with: subscript – publishes the array
    entries.store(UnsafeMutableRawPointer(array), ordering: .releasing)
    // seq-cst: see `count`. It publishes that the index exists as well.
    used.store(wanted, ordering: .sequentiallyConsistent)
  }

  /// Frees all places. Nobody sees them any more.
  func discard() {
    for index in 0..<count {
      let place = self[index]
      place.pointee.discard()
      place.deinitialize(count: 1)
      Memory.free(.init(place))
    }
    // relaxed: one thread is left.
    var rest = entries.load(ordering: .relaxed)
    while let array = rest?.assumingMemoryBound(to: Entry.Pointee.self) {
      rest = array.pointee
      array.deallocate()
    }
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
      // relaxed: the look above is in the single order, behind the ticket. A thread that clears this bit comes behind that
      // look, so its second look finds the job.
      filled.bitwiseOr(Self.bit(index), ordering: .relaxed)
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
    // relaxed: a hint; a worker that is about to sleep looks at the pending bits with the proper order.
    filled.load(ordering: .relaxed) & ~Self.bit(index) != 0 || count > 64
  }

  /// Calls `visit` for each place that may hold jobs in a backlog, until it returns a job.
  ///
  /// A caller that passes consecutive numbers as `start` begins with each place in turn. In as many calls as there are places
  /// (rounded up to a multiple of 64 where there are more than 64) each place that may hold jobs comes first once.
  @inline(__always)
  func search(from start: Int, _ visit: (Place.Pointer) -> Job?) -> Job? {
    // relaxed: a hint; a worker that is about to sleep looks at the pending bits with the proper order.
    let map = filled.load(ordering: .relaxed)
    if map == 0 { return nil }
    let count = count
    let first = UInt64(UInt32(truncatingIfNeeded: start) % UInt32(truncatingIfNeeded: min(count, 64)))
    // Rotated: the shifts are modulo 64.
    var rest = map &>> first | map &<< (64 &- first)
    while rest != 0 {
      let index = (rest.trailingZeroBitCount + Int(first)) & 63
      rest &= rest &- 1
      // The places that share the bit: another one is first each time around.
      let siblings = (count &- index &+ 63) &>> 6
      // None, if the bit is of a place that was made after the count was read.
      var sibling = siblings <= 1 ? 0 : (start &>> 6) % siblings
      for _ in 0..<siblings {
        if let job = visit(self[index &+ sibling &<< 6]) { return job }
        sibling = sibling &+ 1 == siblings ? 0 : sibling &+ 1
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
  /// Sets the number of places in use. A worker that holds a place beyond them loses it.
  func setParallelism(_ wanted: Int) {
    places.grow(to: wanted)
    // relaxed: a setting.
    parallelism.store(wanted, ordering: .relaxed)
    InsightRegion.noteParallelism(wanted)
    for index in wanted..<max(wanted, places.count) {
      guard let worker = holder(of: places[index]) else { continue }
      // relaxed: see Place.P2; `setAside` verifies the pulse.
      places[index].pointee.holder.store(0, ordering: .relaxed)
      let pulse = worker.pointee.progress.load(ordering: .relaxed)
      if pulse & 1 == 1, !worker.pointee.isAway { _ = setAside(worker, pulse, as: Worker.Status.adrift) }
    }
  }

  /// Gives the worker, which holds no place, a place that no worker holds, or that has a holder that is away.
  ///
  /// It prefers a place where jobs wait.
  ///
  /// - Returns: false if there is none: the worker is one too many.
  @inline(never)
  func takePlace(_ worker: Worker.Pointer) -> Bool {
    watchLeftSlot(of: worker)
    if worker.pointee.isHelper, isCrowded { return false }
    // relaxed: a setting; a hint.
    let limit = min(places.count, parallelism.load(ordering: .relaxed))
    let map = places.filled.load(ordering: .relaxed)
    var another: Place.Pointer?
    for index in 0..<limit where isFree(places[index]) {
      let isFilled = map &>> UInt64(truncatingIfNeeded: index & 63) & 1 == 1
      if isFilled, worker.pointee.take(places[index]) { return true }
      another = places[index]
    }
    if let another { return worker.pointee.take(another) }
    guard useGrant() else { return false }
    for index in 0..<limit where holder(of: places[index])?.pointee.isAway == true {
      if worker.pointee.take(places[index]) { return true }
    }
    return false
  }

  /// Whether no worker holds the place, or its holder starts no jobs at the moment, nor is going to soon (`Crowd`).
  func isFree(_ place: Place.Pointer) -> Bool {
    holder(of: place)?.pointee.leavesPlace(inCrowd: isCrowded) ?? true
  }

  /// How many places are free.
  var freePlaces: Int {
    // relaxed: a setting.
    (0..<min(places.count, parallelism.load(ordering: .relaxed))).count { isFree(places[$0]) }
  }

  /// The worker that holds the place.
  @inline(__always)
  func holder(of place: Place.Pointer) -> Worker.Pointer? {
    // pairs with: Worker.take – publishes the holder's record
    let name = place.pointee.holder.load(ordering: .acquiring)
    return name == 0 ? nil : workers[Int(name) - 1]
  }
}
