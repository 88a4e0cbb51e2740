// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A place where a schedule departs from the usual one: there a thread goes on until it waits, and then the first one that can.
///
/// The place is named by the thread that ran before it, so that it stays the same place where another thread takes other steps.
package struct Switch: Hashable {
  /// Runs until the place.
  let thread: Int
  /// How many choices there were behind steps of that thread, this one included.
  let choice: Int
  /// Goes on.
  let to: Int

  static func usual(among ready: [Int], current: Int?) -> Int { current ?? ready[0] }
}

/// The usual schedule, but for the places that are named. One whose thread cannot go on is passed over.
final class SwitchSchedule: Schedule {
  private struct Place: Hashable {
    let thread: Int
    let choice: Int
  }

  private var destinations: [Place: Int] = [:]
  private var choices = ChoiceCounts()

  init(_ switches: [Switch]) {
    for one in switches { destinations[Place(thread: one.thread, choice: one.choice)] = one.to }
  }

  func choose(among ready: [Int], current: Int?, from thread: Int) -> Int {
    let place = Place(thread: thread, choice: choices.next(of: thread))
    if let to = destinations[place], ready.contains(to) { return to }
    return Switch.usual(among: ready, current: current)
  }
}

/// How many choices there were behind steps of each thread.
struct ChoiceCounts {
  private var counts: [Int] = []

  mutating func next(of thread: Int) -> Int {
    while counts.count <= thread { counts.append(0) }
    counts[thread] += 1
    return counts[thread]
  }
}

/// What a run has departed by from the usual schedule.
struct SwitchRecord {
  /// More are not kept: so long a schedule is not shrunk.
  private static let most = 20_000

  private(set) var switches: [Switch] = []
  private(set) var isWhole = true
  /// How many choices there were.
  private(set) var choices = 0
  private var counts = ChoiceCounts()

  mutating func add(_ chosen: Int, among ready: [Int], current: Int?, from thread: Int) {
    let choice = counts.next(of: thread)
    choices += 1
    if chosen == Switch.usual(among: ready, current: current) { return }
    if switches.count == Self.most {
      isWhole = false
    } else {
      switches.append(Switch(thread: thread, choice: choice, to: chosen))
    }
  }
}
