// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

// All orders of operations, one schedule for each: what that means, and why no order is missed.
//
// A *process* is what runs in order: the body, each item from its beginning to its end, and what hands out events that have come with the
// time: it takes out the timers that are due, and gives each to its queue. Which worker runs a process makes no difference to a program, so a
// process has a name of its own: where it was submitted, which step has let it begin, or its instant.
//
// A *step* is what one process does from one point to its next one, or until it waits or ends. To the step belongs what the pool does in
// answer: a worker starts, takes what there is, and stands before the item; a worker whose item has ended gives up the queue, lets the
// next item or the next waiting thread have it, and goes to sleep. The pool's threads are *eager*: no process takes a step while one of
// them can go on. There are more processors than processes, so that each item that may begin stands there at once; where a worker that
// looks for jobs stands still as a process, another one is added (`Run.addWorker`).
//
// An *operation* is what a step does to an object that other processes may use as well: a queue, a group, a semaphore, the timers. There is
// a point before each, so a step has one at most, but for those of the pool, and for a source's or an item's with that of its timer. There is
// none within an operation: no thread meets a lock that is held. Two operations are *dependent* if they are on one object and
// their order may make a difference:
//
//   | object    | dependent                                                               |
//   |-----------|-------------------------------------------------------------------------|
//   | queue     | two that ask for a turn: `async`, `sync`, the end of an item or a       |
//   |           | `sync` of a queue that stands on it                                     |
//   | semaphore | any two                                                                 |
//   | group     | any two, but for two that enter, two that wait, a wait and a `notify`   |
//   | work item | two that change it: its end, `cancel`, `notify`; one of those, and one  |
//   |           | that looks: its beginning, `wait`, `isCancelled`                        |
//   | source    | two that change it: data, `cancel`, `schedule`, `suspend`, `resume`,    |
//   |           | another target, a handler that begins, ends, or is another one; one of  |
//   |           | those, and `isCancelled`, or a look at its data from outside            |
//   | once      | the first call, or the end of its body, and any call                    |
//   | timers    | two that set one; one that sets or stops one, and the taking out of     |
//   |           | those that are due                                                      |
//   | memory    | in a program that yields: any two steps that a `Simulation.yield()`     |
//   |           | begins or ends, or that begin an item or the work of a `sync`           |
//
// A wait that ends by its deadline is an operation on its object once more. An operation on a queue is one on all of its targets too.
// The end of an item, or of a `sync`, is independent of a question for a turn on the queue at the bottom: turns are given in the order of
// the questions, and a thread that asks earlier only waits longer. A queue that stands on another one is different: an item that comes
// while it has its turn there is part of that turn, one that comes later waits behind all that the other queue has by then, and where items
// are left the end of the turn asks for the next one.
//
// Step e *comes before* step f if they are of one process in this order; if they are dependent and e was first; if e has let the process
// of f begin or go on; if f is an item's first step and e has submitted it, or is behind the end of e on the same serial queue; or if time
// has passed in between, which it does only where no process can go on. Two schedules are *equivalent* if they have the same
// steps with the same order in this sense. Equivalent ones have the same outcome if a program orders its accesses to memory that it
// shares by these objects, as Swift 6 checks: it has no data races.
//
// Why no class of equivalent schedules is missed. The search is source-set partial-order reduction (Abdulla, Aronis, Jonsson,
// Sagonas: POPL 2014), in our own words:
//
// Order.R1  A *race* is a pair of dependent steps e, f of different processes, of which e comes before f, and not by way of a third step.
//     To turn it round is another class. The search looks at each race of each run, and makes sure that at the place of e a process
//     goes on with which a schedule can begin that has f before e: a first step of those that lie behind e, do not come behind it,
//     and lead to f. What can be reached by turning races round, one after the other, is all there is.
// Order.R2  At a place, a process that has been tried there *sleeps*: a schedule in which it goes on next, before any step that is
//     dependent on its own, is one of those tried. It sleeps below until such a step comes. A run in which all sleep is given up for
//     the search: its class was seen.
// Order.R3  Eager threads lose nothing. What they do is to make processes ready, and a process that is ready may go on at any later
//     step. Between the last operation of an item and its end, another process could only ask for a turn on what is about to be
//     given up: then it waits, and has its turn in the same order.
// Order.R4  Where a step is taken for dependent though it is not, classes are looked at twice, and none is missed. Where the process that
//     a race asks for cannot go on at that place, for our "comes before" knows too little, all that can go on are tried. Where the
//     next one of a schedule that is followed cannot, the search is not whole.
//
// What is not seen is not ordered: memory of the program that is used far from a `Simulation.yield()`, specifics, descriptors. A
// program that orders something by those alone may have outcomes that are not found. Where a run is known to have left this ground,
// `OrderGap` says by what.

/// What a step does to an object that others may use.
package struct Operation: Hashable {
  package enum Kind: Int, CaseIterable {
    /// A turn on a queue is asked for: by `sync`, for an item, or at the end of a turn of a queue that stands on it.
    case asks
    case signals
    case awaitsSignal
    case enters
    case leaves
    case awaitsGroup
    case notifies
    case setsTimer
    case stopsTimer
    /// Those that are due are taken out.
    case firesTimers
    case changes
    case looks
    /// Memory of the program's, where it yields.
    case touches

    var isOnTimers: Bool { self == .setsTimer || self == .stopsTimer || self == .firesTimers }
  }

  let kind: Kind
  /// The number of a queue, the address of another object, or 0.
  let object: UInt

  /// What the library notes before, or behind, an operation on something other than a queue.
  static func kind(of note: UInt8) -> Kind? {
    switch note {
    case SimulationSupport.signals: .signals
    case SimulationSupport.awaitsSignal: .awaitsSignal
    case SimulationSupport.enters: .enters
    case SimulationSupport.leaves: .leaves
    case SimulationSupport.awaitsGroup: .awaitsGroup
    case SimulationSupport.asksToNotify: .notifies
    case SimulationSupport.setsTimer: .setsTimer
    case SimulationSupport.stopsTimer: .stopsTimer
    case SimulationSupport.firesTimers: .firesTimers
    case SimulationSupport.changes: .changes
    case SimulationSupport.looks: .looks
    default: nil
    }
  }
}

/// Which operations on one object are dependent.
package struct Dependence: Sendable {
  package typealias Pair = (Operation.Kind, Operation.Kind)

  package static let pairs: [Pair] = [
    (.asks, .asks),
    (.signals, .signals), (.signals, .awaitsSignal), (.awaitsSignal, .awaitsSignal),
    (.enters, .leaves), (.enters, .awaitsGroup), (.enters, .notifies), (.leaves, .leaves), (.leaves, .awaitsGroup),
    (.leaves, .notifies), (.notifies, .notifies),
    (.setsTimer, .setsTimer), (.setsTimer, .firesTimers), (.stopsTimer, .firesTimers), (.touches, .touches),
    (.changes, .changes), (.changes, .looks),
  ]

  /// What is run: a schedule of each class, or for tests of the search all interleavings, of steps that begin with an operation or of all.
  package enum Extent: Sendable { case classes, operations, steps }

  package var extent = Extent.classes
  /// A row of bits for each kind.
  private var rows = [UInt32](repeating: 0, count: Operation.Kind.allCases.count)

  package init() {
    for pair in Self.pairs { set(pair) { $0 | $1 } }
  }

  /// Takes two kinds for independent that are not: for tests of the search.
  package init(without pair: Pair) {
    self.init()
    set(pair) { $0 & ~$1 }
  }

  private mutating func set(_ pair: Pair, _ change: (UInt32, UInt32) -> UInt32) {
    let (one, other) = (pair.0.rawValue, pair.1.rawValue)
    rows[one] = change(rows[one], 1 << UInt32(other))
    rows[other] = change(rows[other], 1 << UInt32(one))
  }

  func holds(_ one: Operation, _ other: Operation) -> Bool {
    one.object == other.object && rows[one.kind.rawValue] & (1 << UInt32(other.kind.rawValue)) != 0
  }

  func holds(_ ones: [Operation], _ others: [Operation]) -> Bool {
    ones.contains { one in others.contains { holds(one, $0) } }
  }
}
