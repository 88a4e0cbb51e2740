// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// Calls of `concurrentPerform` that go on, and that may need help. At each look the monitor looks after the calls that were already
// there at its last look. So a call with little work wakes no thread, and a call with pieces that wait for each other ends.
//
// A call is memory on its caller's stack whose first word is the function that looks after it. Its caller registers it in one of
// the places:
//
//   | place       | means                                                   |
//   |-------------|---------------------------------------------------------|
//   | nil         | free                                                    |
//   | pointer     | this call is registered                                 |
//   | pointer + 1 | the monitor is looking after it: its caller must wait   |
//
// ApplyHelpRegistry.H1  A place changes from nil to a call by the caller's `enter` only. From a call it changes by that caller's
//     `leave` or by the monitor's `lookAfter`. Both compare: each changes the call that it means, never another one that has come into
//     the same place since.
// ApplyHelpRegistry.H2  While a place is marked, only the monitor changes it: back to the call, or to nil if there is nothing to look
//     after any more. The caller keeps the memory until `leave` has found the place without the mark.
// ApplyHelpRegistry.H3  A pointer stands in at most one place, and only while its caller is inside of the call. So a comparison
//     that succeeds is about the call that is meant, although later calls use the same stack addresses; and a caller that finds
//     something else in its place has been dismissed. The monitor's note of its last look may name an earlier call at the same
//     address: the later one is then looked after one look early, which is harmless.
// ApplyHelpRegistry.H4  A caller registers first and looks at the monitor's state afterwards. The monitor declares itself asleep
//     first and looks at the places afterwards. So one of the two sees the other.
//
// caller   1  `enter`; all places are taken: have help from the start   2  wake the monitor   3  work   4  `leave`
// monitor  1  read a place; the same call as at the last look: go on    2  mark it            3  look after it   4  put it back, or nil
//
// Verification/apply-help.pml is the model; an unconditional exchange in `leave` is its first planted bug: it removes the next
// caller's call after the monitor has dismissed the own one.
//
// Rejected: a lock around the places, because a preempted monitor would stop all callers; a list of calls, because removal
// from the middle needs a lock.
struct ApplyHelpRegistry: ~Copyable, @unchecked Sendable {  // places are atomic, notes are the monitor's own
  typealias Word = UnsafeMutableRawPointer
  /// Returns whether the call is to be looked after again.
  typealias Help = @convention(c) (Word) -> Bool

  /// Calls nest, so each thread may be in several.
  private static let capacity = 64

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

  /// Registers a call. Nil if there is no place.
  @inline(__always)
  func enter(_ call: Word) -> Int? {
    let first = Int(Thread.id)
    for step in 0..<Self.capacity {
      let index = (first &+ step) & (Self.capacity - 1)
      // seq-cst: ApplyHelpRegistry.H4; with anything weaker the caller's look at the monitor's state may pass the registration,
      // while the monitor falls asleep and finds the place empty: then no thread helps. It also publishes the call's
      // fields to `lookAfter`.
      let (entered, _) = places[index].compareExchange(
        // relaxed: on failure, the place is taken, and the next one is tried.
        expected: nil, desired: call, successOrdering: .sequentiallyConsistent, failureOrdering: .relaxed)
      if entered { return index }
    }
    return nil
  }

  /// Takes `call` back from the place that `enter` has returned. From now on no other thread touches it on the monitor's behalf.
  @inline(__always)
  func leave(_ index: Int, _ call: Word) {
    if !remove(call, from: index) { leaveSlow(index, call) }
  }

  @inline(__always)
  private func remove(_ call: Word, from index: Int) -> Bool {
    // pairs with: lookAfter – publishes what the monitor has done at an earlier look
    // relaxed: on failure, looked at again.
    places[index].compareExchange(
      expected: call, desired: nil, successOrdering: .acquiring, failureOrdering: .relaxed
    ).exchanged
  }

  @inline(never)
  @_optimize(size)
  private func leaveSlow(_ index: Int, _ call: Word) {
    var backoff = Backoff()
    while true {
      // pairs with: lookAfter – publishes what the monitor has done
      let found = places[index].load(ordering: .acquiring)
      if found == call + 1 {
        backoff.wait()
      } else if found != call || remove(call, from: index) {
        // The monitor has dismissed it, or has put it back.
        return
      }
    }
  }

  /// Monitor: looks after the calls that were registered at its last look and still are. Returns whether any call is registered.
  func helpLingering() -> Bool {
    var any = false
    for index in 0..<Self.capacity {
      // relaxed: only compared; `lookAfter` verifies it.
      let call = places[index].load(ordering: .relaxed)
      if let call {
        any = true
        if call == seen[index] { lookAfter(call, in: index) }
      }
      seen[index] = call
    }
    return any
  }

  /// Monitor: looks after `call` if it is still registered.
  private func lookAfter(_ call: Word, in index: Int) {
    // pairs with: enter – publishes the call's fields
    // relaxed: on failure, the caller has taken it back, and the monitor looks at nothing of it.
    let (taken, _) = places[index].compareExchange(
      expected: call, desired: call + 1, successOrdering: .acquiring, failureOrdering: .relaxed)
    if !taken { return }
    let again = call.load(as: Help.self)(call)
    // pairs with: remove, leaveSlow – publishes what the monitor has done; its last access to the call
    places[index].store(again ? call : nil, ordering: .releasing)
  }

  var isEmpty: Bool {
    for index in 0..<Self.capacity {
      // seq-cst: ApplyHelpRegistry.H4, the monitor's last look before sleep, Monitor.M1.
      if places[index].load(ordering: .sequentiallyConsistent) != nil { return false }
    }
    return true
  }
}
