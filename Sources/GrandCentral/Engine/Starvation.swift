// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The opt-in exception to the strict order of bands: pending work that has been passed over for longer than
/// `Settings.starvationBound` gets one turn.
struct Starvation: ~Copyable, @unchecked Sendable {  // every field is atomic
  /// Since when each band's work has been passed over, uptime; 0 = it is not.
  private let since: UnsafeMutablePointer<Atomic<UInt64>>

  init() {
    // unsafe: lives as long as the engine.
    since = .allocate(capacity: Band.count)
    for rank in 0..<Band.count { (since + rank).initialize(to: Atomic(0)) }
  }

  /// The engine goes; no thread is in it.
  func discard() {
    since.deinitialize(count: Band.count)
    since.deallocate()
  }

  /// A worker is about to take work of the most urgent of the `pending` bands.
  ///
  /// - Parameter now: The caller's reading of the uptime clock. Another worker may have read it later, and stamped a band
  ///   already: then that band has not waited at all.
  /// - Returns: the band to serve instead, if one has waited too long.
  func bandThatHasWaited(_ pending: UInt32, bound: UInt64, now: UInt64 = Clock.uptime.now()) -> Band? {
    // The most urgent band is being served; the others wait.
    let served = Band(firstIn: pending)
    var passedOver = pending & ~served.both
    forget(served)
    while passedOver != 0 {
      let band = Band(firstIn: passedOver)
      let rank = Int(band.rank)
      passedOver &= ~band.both
      // relaxed: stamps for pacing; a lost one prolongs the wait by one bound.
      let start = since[rank].load(ordering: .relaxed)
      if start == 0 {
        since[rank].store(now, ordering: .relaxed)
      } else if now > start, now - start >= bound, since[rank].exchange(0, ordering: .relaxed) != 0 {
        return band
      }
    }
    return nil
  }

  /// The band is being served, or has run empty in the ordinary way: what comes next has not waited yet.
  func forget(_ band: Band) {
    // relaxed: see above.
    let start = since + Int(band.rank)
    if start.pointee.load(ordering: .relaxed) != 0 { start.pointee.store(0, ordering: .relaxed) }
  }
}
