// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What became of one run.
package struct Attempt {
  /// A run that passes more points does not end.
  package static let longestRun = 5_000_000

  package let reason: SimulationFailure.Reason?
  /// Of a run that has failed.
  let told: ToldEvents?
  package let steps: Int
  /// At how many points there was more than one thread that could go on.
  let choices: Int
  let hash: UInt64
  let timersLeft: Int
  /// What it has departed by from the usual schedule; nil if that is too much to keep.
  let switches: [Switch]?
  /// How many threads it leaves where they are.
  let threadsLeft: Int
  /// Where no thread could go on: which wait of each thread is its last one.
  var lastWaits: [Int: Int] = [:]
  /// Whether ThreadSanitizer has reported a race.
  var hasRace = false
  /// What was wrong before that which has ended the run.
  var earlier: SimulationFailure.Reason?
  /// Whether a task of the run is on Swift's own executor.
  var hasTaskOutside = false

  init(
    reason: SimulationFailure.Reason?, told: ToldEvents?, steps: Int, choices: Int, hash: UInt64, timersLeft: Int,
    switches: [Switch]?, threadsLeft: Int
  ) {
    self.reason = reason
    self.told = told
    self.steps = steps
    self.choices = choices
    self.hash = hash
    self.timersLeft = timersLeft
    self.switches = switches
    self.threadsLeft = threadsLeft
  }

  /// Of a process that was a run.
  package init(reason: SimulationFailure.Reason?, steps: Int, choices: Int, switches: [Switch]?) {
    self.init(
      reason: reason, told: nil, steps: steps, choices: choices, hash: 0, timersLeft: 0, switches: switches,
      threadsLeft: 0)
  }
}

/// What runs something, once in each schedule that it is given.
package protocol Attempting: AnyObject {
  /// - Parameters:
  ///   - token: Of the schedule.
  ///   - limit: How many points the run may pass.
  func attempt(_ schedule: any Schedule, _ token: Token, limit: Int) -> Attempt
}
