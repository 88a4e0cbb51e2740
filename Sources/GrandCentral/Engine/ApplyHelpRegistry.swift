// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// Calls that have begun alone although they may have help. At each look the monitor gives help to the calls that were already
// alone at its last look. So a call with little work wakes no thread, and a call with pieces that wait for each other ends.
//
// A lone call is memory on its caller's stack whose first word is the function that helps. Its caller registers it in one of
// sixteen places:
//
//   | place   | means                                                            |
//   |---------|------------------------------------------------------------------|
//   | nil     | free                                                             |
//   | pointer | this lone call is registered: its caller is alone, without help  |
//
// ApplyHelpRegistry.H1  A place changes from nil to a lone call by the caller's `enter` only. It changes back by that caller's
//     `leave` or by the monitor's `take`. Both compare: each removes the lone call that it means, never another one that
//     has come into the same place since.
// ApplyHelpRegistry.H2  So exactly one of the two removes a lone call. If the caller does, no other thread touches its
//     memory any more. If the monitor does, `leave` fails, and the caller keeps the memory until the monitor has said
//     through it what it has done.
// ApplyHelpRegistry.H3  A pointer stands in at most one place, and only while its caller is inside of the call. So a comparison
//     that succeeds is about the call that is meant, although later calls use the same stack addresses. The monitor's
//     note of its last look may name an earlier call at the same address: the later one then has help one look early,
//     which is harmless.
// ApplyHelpRegistry.H4  A caller registers first and looks at the monitor's state afterwards. The monitor declares itself asleep
//     first and looks at the places afterwards. So one of the two sees the other.
//
// caller   1  `enter`; all places are taken: have help from the start   2  wake the monitor   3  work alone
//          4  `leave`: true: done, or submit helpers                    5  false: wait for the monitor's word, then take part
// monitor  1  read a place; the same lone call as at the last look: go on 2  `take` it          3  help it, tell its caller
//
// Verification/apply-help.pml is the model; an unconditional exchange in `leave` is its first planted bug: it removes the next
// caller's lone call after the monitor has taken the own one.
//
// Rejected: a lock around the places, because a preempted monitor would stop all callers; a list of calls, because removal
// from the middle needs a lock.
struct ApplyHelpRegistry: ~Copyable, @unchecked Sendable {  // places are atomic, notes are the monitor's own
  typealias Help = @convention(c) (UnsafeMutableRawPointer) -> Void

  private static let capacity = 16

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

  /// The engine goes; no thread is in it.
  func discard() {
    places.deinitialize(count: Self.capacity)
    places.deallocate()
    seen.deallocate()
  }

  /// Registers a lone call. Nil if there is no place: then it should have help from the start.
  @inline(__always)
  func enter(_ call: UnsafeMutableRawPointer) -> Int? {
    let first = Int(Thread.id) % Self.capacity
    for step in 0..<Self.capacity {
      let index = (first + step) % Self.capacity
      // seq-cst: ApplyHelpRegistry.H4; with anything weaker the caller's look at the monitor's state may pass the registration,
      // while the monitor falls asleep and finds the place empty: then no thread helps. It also publishes the lone call's
      // fields to `take`.
      let (entered, _) = places[index].compareExchange(
        // relaxed: on failure, the place is taken, and the next one is tried.
        expected: nil, desired: call, successOrdering: .sequentiallyConsistent, failureOrdering: .relaxed)
      if entered { return index }
    }
    return nil
  }

  /// Takes `call` back from the place that `enter` has returned.
  ///
  /// - Returns: false if the monitor has taken the lone call, and is helping it.
  @inline(__always)
  func leave(_ index: Int, _ call: UnsafeMutableRawPointer) -> Bool {
    // relaxed: the caller takes back its own pointer, behind which it has published nothing since; if that fails, it learns
    // what the monitor has done by the monitor's own release.
    places[index].compareExchange(expected: call, desired: nil, ordering: .relaxed).exchanged
  }

  /// Monitor: helps the calls that were registered at its last look and still are. Returns whether any call is registered.
  func helpLingering() -> Bool {
    var any = false
    for index in 0..<Self.capacity {
      // relaxed: only compared; `take` verifies it.
      let call = places[index].load(ordering: .relaxed)
      let lingering = call != nil && call == seen[index]
      seen[index] = lingering ? nil : call
      if call != nil { any = true }
      if lingering, let call, take(call, from: index) { call.load(as: Help.self)(call) }
    }
    return any
  }

  /// Monitor: removes `call` if it is still registered; it belongs to the monitor then.
  private func take(_ call: UnsafeMutableRawPointer, from index: Int) -> Bool {
    // pairs with: enter – publishes the lone call's fields
    // relaxed: on failure, the caller has taken it back, and the monitor looks at nothing of it.
    places[index].compareExchange(
      expected: call, desired: nil, successOrdering: .acquiring, failureOrdering: .relaxed
    ).exchanged
  }

  var isEmpty: Bool {
    for index in 0..<Self.capacity {
      // seq-cst: ApplyHelpRegistry.H4, the monitor's last look before sleep, Monitor.M1.
      if places[index].load(ordering: .sequentiallyConsistent) != nil { return false }
    }
    return true
  }
}
