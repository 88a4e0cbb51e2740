// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

// What a search for all orders keeps of a run that is under way.
extension OrderSchedule {
  struct Process {
    let name: Name
    /// How many items it has submitted.
    var submissions = 0
    /// How many others have begun behind its steps.
    var begun = 0
    /// How many steps of each process come before its next one.
    var clock: StepClock
    var steps = 0
    /// What the next step begins with: operations, and serial queues that it gives up.
    var upcoming: [Operation] = []
    var leaves: [UInt] = []
    /// Items that its next step puts into serial queues.
    var submitting: [(queue: UInt32, submission: Submission)] = []
    /// Serial queues on which it has its turn since its last step; and what has submitted the items that it has begun.
    var entered: [UInt] = []
    var submitted: [Submission] = []
  }

  /// The step that puts an item into a queue.
  struct Submission {
    let process: Int
    let step: Int
    /// Its number among those of the process.
    let number: Int
  }

  /// The step that is under way.
  struct Active {
    let process: Int
    var operations: [Operation]
    var leaves: [UInt]
    /// Processes that it lets go on, or begin.
    var woken: [Int] = []
  }

  /// What the schedule does with a thread that runs.
  struct Member {
    /// Nil while it is eager.
    var process: Int?
    /// How many items it is inside of.
    var depth = 0
    /// Whether its process is no item.
    var isBare = false
    /// Likewise: events that have come with the time, which it hands to queues.
    var isFiring = false
    var wasReady = false
    /// Its process ends with the step that is next.
    var isEnding = false
  }
}
