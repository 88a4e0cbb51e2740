// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Calls that have begun alone although they may have help: the monitor gives help to those that are still alone at its
/// second look. So a call with little work costs nobody a wake-up, and one whose pieces wait for each other ends.
///
/// A soloist is memory on its caller's stack whose first word is the function that helps. Who takes the pointer out of
/// its place may touch the memory: the caller, when it is done, or the monitor, which then tells the caller through
/// that memory what it has done; the caller waits for that.
struct Soloists: ~Copyable, @unchecked Sendable {  // places are atomic, notes are the monitor's own
  typealias Help = @convention(c) (UnsafeMutableRawPointer) -> Void

  private static let capacity = 16

  /// A
  private let places: UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>>
  /// The monitor's own: what it saw at its last look.
  private let seen: UnsafeMutablePointer<UnsafeMutableRawPointer?>

  init() {
    // unsafe: both arrays live as long as the engine.
    places = .allocate(capacity: Self.capacity)
    seen = .allocate(capacity: Self.capacity)
    for index in 0..<Self.capacity { (places + index).initialize(to: Atomic(nil)) }
    seen.initialize(repeating: nil, count: Self.capacity)
  }

  /// Registers a soloist. Nil if there is no place: then it should have help from the start.
  @inline(__always)
  func enter(_ soloist: UnsafeMutableRawPointer) -> Int? {
    let first = Int(Thread.id) % Self.capacity
    for step in 0..<Self.capacity {
      let index = (first + step) % Self.capacity
      // pairs with: helpLingering – publishes the soloist's fields
      if places[index].compareExchange(expected: nil, desired: soloist, ordering: .acquiringAndReleasing).exchanged {
        return index
      }
    }
    return nil
  }

  /// - Returns: false if the monitor has taken the soloist, and is helping it.
  @inline(__always)
  func leave(_ index: Int) -> Bool {
    // pairs with: helpLingering – publishes that the caller is done with the soloist
    places[index].exchange(nil, ordering: .acquiringAndReleasing) != nil
  }

  /// Monitor: helps those who were there at the last look. Returns whether anybody is there.
  func helpLingering() -> Bool {
    var any = false
    for index in 0..<Self.capacity {
      // relaxed: compared only; the exchange below takes it.
      let soloist = places[index].load(ordering: .relaxed)
      let lingering = soloist != nil && soloist == seen[index]
      seen[index] = lingering ? nil : soloist
      if soloist != nil { any = true }
      if lingering, let soloist, take(soloist, from: index) { soloist.load(as: Help.self)(soloist) }
    }
    return any
  }

  private func take(_ soloist: UnsafeMutableRawPointer, from index: Int) -> Bool {
    // pairs with: enter – publishes the soloist's fields
    places[index].compareExchange(expected: soloist, desired: nil, ordering: .acquiringAndReleasing).exchanged
  }

  var isEmpty: Bool {
    for index in 0..<Self.capacity {
      // seq-cst: the monitor's last look before sleep, see `Monitor.wake`.
      if places[index].load(ordering: .sequentiallyConsistent) != nil { return false }
    }
    return true
  }
}
