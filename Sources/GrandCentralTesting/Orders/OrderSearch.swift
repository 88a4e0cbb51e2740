// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Which schedule comes next in the search for all orders. See Operation.swift.
struct OrderSearch {
  private let dependence: Dependence
  private var places: [OrderSchedule.Place] = []
  private var hasBegun = false
  /// Whether a run has yielded: then more operations are dependent.
  private var yields = false
  /// Where runs have left what the search speaks of.
  private(set) var gaps: OrderGaps = []
  /// How many runs were given up for the search: their classes were seen.
  private(set) var redundant = 0
  /// Of the other ones, for tests; as many as there are classes.
  private(set) var hashes: Set<UInt64> = []
  private let collects: Bool

  /// - Parameter collects: Whether `hashes` is wanted.
  init(_ dependence: Dependence, collects: Bool = false) {
    self.dependence = dependence
    self.collects = collects
  }

  /// Nil when all orders have been run.
  mutating func next() -> OrderSchedule? {
    if hasBegun, !goOn() { return nil }
    hasBegun = true
    return OrderSchedule(places, dependence, yields: yields)
  }

  mutating func note(_ schedule: OrderSchedule) {
    schedule.end()
    if schedule.hasYielded, !yields {
      // What was run before has looked at too little.
      yields = true
      hasBegun = false
      places = []
      hashes = []
      redundant = 0
      return
    }
    places = schedule.places
    gaps.formUnion(schedule.gaps)
    if schedule.isRedundant {
      redundant += 1
    } else if collects {
      hashes.insert(schedule.classHash)
    }
  }

  /// Back to the last place at which another process is to go on.
  private mutating func goOn() -> Bool {
    while let place = places.indices.last {
      places[place].sleep[places[place].chosen] = places[place].operations.count
      if let other = places[place].wanted.first(where: { places[place].sleep[$0] == nil }) {
        places[place].chosen = other
        return true
      }
      places.removeLast()
    }
    return false
  }
}
