// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// A value type that fits into one word: the state of something, with its transitions as `mutating` functions.
protocol StateWord {
  init(rawValue: UInt64)
  var rawValue: UInt64 { get }
}

/// A state word that threads share, and the loop that changes it by a compare-and-exchange.
///
/// This is the loop of words whose steps are many or are asserted: lanes, sources, channels, the pool. A few words have a loop
/// of their own, with weaker orderings or with an addition in place of it: the counts of groups and semaphores, the waiting
/// word of a file, the permits of `concurrentPerform`, what a work item remembers of its queue, the free segments of
/// `FIFOQueue`. A word that has a few values and no fields (a lock, a parker) is changed where it is, in a line or two.
///
/// A transition is a pure function of the state: it may run several times for one `update`. The caller gets what the last run
/// returned, and now owes what that says: no result may be dropped without a word.
///
///     let debt = state.update { $0.enqueue() }
///
/// Every update writes, even if the transition left the word as it was: an update is a point in the word's order, and
/// publishes what came before it. `attempt` is for transitions that may decline. To decline costs a load.
struct AtomicState<State: StateWord>: ~Copyable, Sendable {
  private let word: Atomic<UInt64>

  @inline(__always)
  init(_ initial: State) { word = Atomic(initial.rawValue) }

  /// Where the word lies, as a number: for tools.
  var address: UInt { _withUnprotectedUnsafePointer(to: word) { UInt(bitPattern: $0) } }

  // MARK: Loads

  /// The state, and all that was published with it.
  @inline(__always)
  borrowing func load() -> State {
    // pairs with: every publishing update – publishes what the updater wrote before
    State(rawValue: word.load(ordering: .acquiring))
  }

  /// The state as a hint, or in a protocol that says at the call why it may be; see `AtomicLoadOrdering`.
  @inline(__always)
  @_semantics("atomics.requires_constant_orderings")
  @_transparent
  borrowing func load(ordering: AtomicLoadOrdering) -> State {
    State(rawValue: word.load(ordering: ordering))
  }

  /// Takes the word's line over from other processors for the update that follows at once. Without this the first look would
  /// only borrow the line, and the exchange would ask for it a second time.
  @inline(__always)
  borrowing func prepareUpdate() { word.prepareWrite() }

  // MARK: Updates

  /// Carries out `transition` as one step; acquires what earlier updaters published, publishes what this one wrote.
  @inline(__always)
  borrowing func update<R>(_ transition: (inout State) -> R) -> R {
    // relaxed: the first look is verified by the exchange.
    var seen = word.load(ordering: .relaxed)
    while true {
      var next = State(rawValue: seen)
      let result = transition(&next)
      // relaxed: a failed exchange is followed by another one.
      // pairs with: the word's other updates, `load()` – publishes what each updater wrote before
      let (exchanged, found) = word.weakCompareExchange(
        expected: seen, desired: next.rawValue, successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed)
      if exchanged { return result }
      seen = found
    }
  }

  /// As `update`, and a step of the single order of all sequentially consistent operations: for protocols in which each side
  /// writes its own word and then looks at the other's. On the processors that we build for it costs nothing more.
  @inline(__always)
  borrowing func updateInOrder<R>(_ transition: (inout State) -> R) -> R {
    // relaxed: the first look is verified by the exchange.
    var seen = word.load(ordering: .relaxed)
    while true {
      var next = State(rawValue: seen)
      let result = transition(&next)
      // relaxed: a failed exchange is followed by another one.
      // seq-cst: what the caller looks at next comes after it, see the caller's protocol.
      let (exchanged, found) = word.weakCompareExchange(
        expected: seen, desired: next.rawValue, successOrdering: .sequentiallyConsistent, failureOrdering: .relaxed)
      if exchanged { return result }
      seen = found
    }
  }

  /// As `updateInOrder`, for a transition that adds the same number to any state: one step without a look, which cannot fail.
  ///
  /// - Returns: the state afterwards.
  @inline(__always)
  @discardableResult
  borrowing func addInOrder(_ transition: (inout State) -> Void) -> State {
    var difference = State(rawValue: 0)
    transition(&difference)
    // seq-cst: what the caller looks at next comes after it, see the caller's protocol.
    return State(rawValue: word.wrappingAdd(difference.rawValue, ordering: .sequentiallyConsistent).newValue)
  }

  /// As `update`, for a transition that declines by returning nil: then nothing is written.
  ///
  /// Declining acquires what the update that led to the declined state published.
  @inline(__always)
  borrowing func attempt<R>(_ transition: (inout State) -> R?) -> R? {
    // pairs with: every publishing update – publishes what the updater wrote before
    var seen = word.load(ordering: .acquiring)
    while true {
      var next = State(rawValue: seen)
      guard let result = transition(&next) else { return nil }
      // pairs with: the word's other updates, `load()` – publishes what each updater wrote before
      let (exchanged, found) = word.weakCompareExchange(
        expected: seen, desired: next.rawValue, successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
      if exchanged { return result }
      seen = found
    }
  }

  /// Sets the word if it still is `expected`: the fast path of a transition that knows where it starts from.
  @inline(__always)
  borrowing func exchange(_ expected: State, for next: State) -> Bool {
    // relaxed: a failed exchange reads nothing, the slow path looks again.
    // pairs with: the word's other updates, `load()` – publishes what each updater wrote before
    word.compareExchange(
      expected: expected.rawValue, desired: next.rawValue, successOrdering: .acquiringAndReleasing,
      failureOrdering: .relaxed
    ).exchanged
  }
}

extension Atomic {
  /// Asks for the line as one that is about to be written; no access. A step that looks first would ask for it twice.
  @inline(__always)
  borrowing func prepareWrite() {
    // unsafe: an address to prefetch, no access.
    _withUnprotectedUnsafePointer(to: self) { gc_prefetch_write($0) }
  }
}
