// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

/// How many steps of each process come before something.
struct StepClock: Equatable {
  private var counts: [Int32] = []

  func has(_ process: Int, _ step: Int) -> Bool { process < counts.count && counts[process] >= Int32(step) }

  mutating func note(_ process: Int, _ step: Int) {
    while counts.count <= process { counts.append(0) }
    counts[process] = Int32(step)
  }

  mutating func join(_ other: StepClock) {
    while counts.count < other.counts.count { counts.append(0) }
    for index in other.counts.indices where other.counts[index] > counts[index] { counts[index] = other.counts[index] }
  }
}

/// The steps of one run, and which of them come before which.
struct OrderTrace {
  struct Step {
    let process: Int
    let name: UInt64
    /// Its number among the process's steps, from 1 on.
    let number: Int
    let operations: [Operation]
    fileprivate(set) var clock = StepClock()
  }

  private var steps: [Step] = []
  /// The places of each process's steps.
  private var places: [[Int]] = []
  /// Behind all steps.
  private(set) var all = StepClock()

  var count: Int { steps.count }

  func clock(of process: Int, step: Int) -> StepClock? {
    guard process < places.count, step <= places[process].count else { return nil }
    return steps[places[process][step - 1]].clock
  }

  func lastOperations(of process: Int) -> [Operation] {
    process < places.count
      ? places[process].last { !steps[$0].operations.isEmpty }.map { steps[$0].operations } ?? [] : []
  }

  /// Takes in the next step.
  ///
  /// - Parameter clock: What comes before it for other reasons than its operations.
  /// - Returns: What comes before the next step of its process, and the places of the steps with which it has a race.
  mutating func add(_ step: Step, behind clock: StepClock, _ dependence: Dependence) -> (clock: StepClock, races: [Int])
  {
    var step = step
    step.clock = clock
    var races: [Int] = []
    if !step.operations.isEmpty {
      for place in steps.indices.reversed() {
        let other = steps[place]
        if other.process == step.process || step.clock.has(other.process, other.number) { continue }
        if !dependence.holds(other.operations, step.operations) { continue }
        races.append(place)
        step.clock.join(other.clock)
      }
    }
    step.clock.note(step.process, step.number)
    while places.count <= step.process { places.append([]) }
    places[step.process].append(steps.count)
    steps.append(step)
    all.join(step.clock)
    return (step.clock, races)
  }

  /// Follows from which dependent operations come before which: equal for equivalent runs.
  func hash(_ dependence: Dependence) -> UInt64 {
    var counts: [UInt64: UInt64] = [:]
    var operations: [(operation: Operation, name: UInt64)] = []
    var hash: UInt64 = 0
    for step in steps {
      for operation in step.operations {
        let number = counts[step.name, default: 0] + 1
        counts[step.name] = number
        let name = Self.mix(step.name, number)
        for before in operations where dependence.holds(before.operation, operation) {
          hash &+= Self.mix(before.name, name)
        }
        operations.append((operation, name))
        hash &+= Self.mix(name, 0)
      }
    }
    return hash
  }

  static func mix(_ word: UInt64, _ other: UInt64) -> UInt64 {
    var mixed = (word &+ 0x9E37_79B9_7F4A_7C15 ^ other) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 29) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 32
  }

  /// Of the steps up to `later` that do not come behind the one at `earlier`: the processes of those that come behind no other one of
  /// them.
  func firstSteps(notBehind earlier: Int, upTo later: Int) -> [Int] {
    let one = steps[earlier]
    var (between, first): ([Int], [Int]) = ([], [])
    var seen: Set<Int> = []
    for place in earlier + 1...later {
      let step = steps[place]
      if place != later, step.clock.has(one.process, one.number) { continue }
      if seen.insert(step.process).inserted,
        !between.contains(where: { step.clock.has(steps[$0].process, steps[$0].number) })
      {
        first.append(step.process)
      }
      between.append(place)
    }
    return first
  }
}
