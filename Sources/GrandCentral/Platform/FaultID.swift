// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The stable name of one kind of misuse, printed as `GC0007`.
///
/// An id is never reused and never changes its meaning. `Documentation/Faults.md` tells the same as the comments here
/// at greater length; an exit test proves each one.
struct FaultID: RawRepresentable, Equatable, Sendable {
  let rawValue: UInt16

  init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  /// `GC` and four decimal digits.
  var description: String {
    let zeros = rawValue < 10 ? "GC000" : rawValue < 100 ? "GC00" : rawValue < 1000 ? "GC0" : "GC"
    return zeros + String(rawValue)
  }
}

extension FaultID {
  /// An object was resumed more often than it was suspended. Balance every `resume` with a `suspend`.
  static let resumeWithoutSuspend = FaultID(rawValue: 1)

  /// The last reference to a suspended object went away: its pending work could never run. Resume it first.
  static let releasedWhileSuspended = FaultID(rawValue: 2)

  /// The last reference to an object that was never activated went away. Activate it first.
  static let releasedWhileInactive = FaultID(rawValue: 3)

  /// A group was left more often than it was entered. Balance every `leave` with an `enter`.
  static let groupLeaveWithoutEnter = FaultID(rawValue: 4)

  /// The last reference to a group went away between `enter` and `leave`. Keep it until it has been left.
  static let groupReleasedWhileEntered = FaultID(rawValue: 5)

  /// The last reference to a semaphore went away while its value was below its start value: somebody still holds a
  /// count of it, or waits. Signal as often as was waited, or start at 0.
  static let semaphoreReleasedInUse = FaultID(rawValue: 6)

  /// `sync` onto a queue that the caller already holds waits for itself. Use `async`, or call the code directly.
  static let syncWouldDeadlock = FaultID(rawValue: 7)

  /// A semaphore was made with a negative value. Start at 0 or above.
  static let semaphoreNegativeValue = FaultID(rawValue: 8)

  /// A target would make the chain of target queues a circle, which never reaches a root. Target another queue.
  static let targetCycle = FaultID(rawValue: 9)

  /// The target of a global queue, the main queue or another immutable object was to be changed. Target a queue of
  /// one's own instead.
  static let setTargetOnActiveRoot = FaultID(rawValue: 10)

  /// `dispatchPrecondition(.onQueue)` did not hold. Submit the code to that queue.
  static let preconditionOnQueue = FaultID(rawValue: 11)

  /// `dispatchPrecondition(.onQueueAsBarrier)` did not hold. Submit the code with the barrier flag.
  static let preconditionOnQueueAsBarrier = FaultID(rawValue: 12)

  /// `dispatchPrecondition(.notOnQueue)` did not hold. Leave the queue first.
  static let preconditionNotOnQueue = FaultID(rawValue: 13)

  /// `dispatchMain` was called on a thread other than the main one. Call it from the main thread.
  static let dispatchMainOffMainThread = FaultID(rawValue: 14)

  /// A relative priority outside -15...0 was given. Use a value within.
  static let qosRelativePriorityOutOfRange = FaultID(rawValue: 15)

  /// `concurrentPerform` or `apply` was asked for a negative number of iterations. Ask for 0 or more.
  static let negativeIterations = FaultID(rawValue: 16)

  /// A work item waits for itself to finish. Use `notify`, or wait elsewhere.
  static let workItemWaitOnSelf = FaultID(rawValue: 17)

  /// A barrier was awaited by code that runs as a reader of the same queue. Submit the barrier with `async`.
  static let barrierSyncFromReader = FaultID(rawValue: 18)

  /// A group was entered more often than it can count. Leave it, or enter it once for several items.
  static let groupEnterOverflow = FaultID(rawValue: 19)

  /// The main queue was drained on a thread other than the main one. Drain it from the main thread's loop.
  static let mainQueueDrainOffMainThread = FaultID(rawValue: 20)

  /// Reserved: a work item was submitted again while it was waited for. Nothing raises it.
  static let workItemResubmittedWhileWaiting = FaultID(rawValue: 21)

  /// A workloop was given a target that it cannot have. Target a global queue.
  static let invalidTargetForWorkloop = FaultID(rawValue: 22)

  /// The body of a `once` called the same `once` again. Split it in two.
  static let onceReentered = FaultID(rawValue: 23)

  /// Reserved: the target of a queue was changed after its activation. Nothing raises it.
  static let activeQueueRetargetForbidden = FaultID(rawValue: 24)

  /// The size of the thread pool was set to something outside 1...1024. Use a value within.
  static let poolOverrideOutOfRange = FaultID(rawValue: 25)

  /// A signal source for a signal that cannot be watched: one that cannot be handled, that a thread causes by a fault of
  /// its own, or that does not exist. Choose another signal.
  static let signalCannotBeWatched = FaultID(rawValue: 26)

  /// A range or an index outside a `DispatchData`, or a buffer too small for the bytes to be copied. Stay within 0..<count.
  static let dataOutOfRange = FaultID(rawValue: 27)

  /// NULL where the C interface needs an object, a function or a block. Pass one.
  static let nullArgument = FaultID(rawValue: 28)

  /// A block that `dispatch_block_create` has not made, where only one that it has made can be cancelled or waited for.
  static let notAWorkItem = FaultID(rawValue: 29)

  /// `dispatch_source_cancel_and_wait` on a source with a cancel handler, or from inside its target, if that is no global queue. Use
  /// `dispatch_source_cancel`.
  static let cancelAndWait = FaultID(rawValue: 30)

  /// A queue was to run fewer than one item at once, or a queue that is not a concurrent one of the program's own was given
  /// a width. Pass 1 or more; create the queue as a concurrent one.
  static let widthNotAllowed = FaultID(rawValue: 31)

  /// Threads wait for each other in a circle: for queues, groups, items. Use `async`, or take queues in one order everywhere.
  static let waitCycle = FaultID(rawValue: 32)

  /// In the C interface a value was merged into, or a time set for, a source of another kind. Create the source with the type
  /// that the call is for.
  static let otherKindOfSource = FaultID(rawValue: 33)

  /// A thread of a simulation has begun another one. Begin it behind the end of the first.
  static let simulationInsideSimulation = FaultID(rawValue: 34)

  /// A simulation was given a number of processors that it cannot have. Use a value within 1...64.
  static let simulatedProcessorsOutOfRange = FaultID(rawValue: 35)

  /// `dispatchMain` was called in an item of the main queue, which the main thread runs already. Return from the item.
  static let dispatchMainInItem = FaultID(rawValue: 36)

  /// A simulation was to make no run, and would find nothing. Use 1 or more.
  static let simulationWithoutRuns = FaultID(rawValue: 37)

  /// Data were to have more than `Int.max` bytes. Append data to themselves less often.
  static let dataTooLong = FaultID(rawValue: 38)

  /// The last reference to a queue went away inside a synchronous item of it. Keep one until the call has returned.
  static let releasedWhileHeld = FaultID(rawValue: 39)

  /// Two tasks wait for an event of one iterator of `DispatchSource.Events`. Give each task an iterator of its own.
  static let eventsOfTwoTasks = FaultID(rawValue: 40)
}
