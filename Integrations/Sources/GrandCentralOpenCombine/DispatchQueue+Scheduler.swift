// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import OpenCombine

extension DispatchQueue {
  /// How a scheduler's action runs.
  ///
  ///     let urgent = DispatchQueue.SchedulerOptions(qos: .userInitiated)
  ///     keys.receive(on: queue, options: urgent)
  public struct SchedulerOptions: Sendable {
    /// The quality of service of the action.
    public var qos: DispatchQoS
    /// The flags of the item that runs the action; a barrier, for instance.
    public var flags: DispatchWorkItemFlags
    /// The group that the action belongs to: from now until it has run. Of an action that repeats, each run belongs to it.
    public var group: DispatchGroup?

    /// Options; those that are left out change nothing.
    ///
    /// Complexity: O(1). Blocking: never.
    public init(qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], group: DispatchGroup? = nil) {
      self.qos = qos
      self.flags = flags
      self.group = group
    }
  }
}

/// Queues are schedulers: of `receive(on:)`, `delay`, `debounce` and whatever else wants one.
///
///     let queue = DispatchQueue(label: "org.example.search")
///     words.debounce(for: .milliseconds(250), scheduler: queue)
///       .map(search)
///       .receive(on: DispatchQueue.main)
///       .sink(receiveValue: show)
///
/// Use serial queues. A concurrent queue starts actions beside each other, and values of a publisher may overtake each other.
extension DispatchQueue: @retroactive Scheduler {
  /// The present time.
  ///
  /// Complexity: O(1). Blocking: never.
  public var now: SchedulerTimeType { SchedulerTimeType(.now()) }

  /// Zero: an action may be as exact as a timer is.
  ///
  /// Complexity: O(1). Blocking: never.
  public var minimumTolerance: SchedulerTimeType.Stride { 0 }

  /// Runs the action on this queue, as `async` does.
  ///
  /// Complexity: O(1). Blocking: never.
  public func schedule(options: SchedulerOptions?, _ action: @escaping () -> Void) {
    let options = options ?? SchedulerOptions()
    let action = Action(run: action)
    async(group: options.group, qos: options.qos, flags: options.flags) { action.run() }
  }

  /// Runs the action on this queue once the date has come, as `asyncAfter` does.
  ///
  /// The tolerance permits it to come later, and nothing is gained from that: a single action is as early as the timer is.
  ///
  /// Complexity: O(1). Blocking: never.
  public func schedule(
    after date: SchedulerTimeType, tolerance: SchedulerTimeType.Stride, options: SchedulerOptions?,
    _ action: @escaping () -> Void
  ) {
    let options = options ?? SchedulerOptions()
    let action = Action(run: action)
    options.group?.enter()
    asyncAfter(deadline: date.dispatchTime, qos: options.qos, flags: options.flags) { [group = options.group] in
      action.run()
      group?.leave()
    }
  }

  /// Runs the action on this queue once the date has come, and at each interval from then on, as a timer does.
  ///
  /// It ends when the result is cancelled or let go of. Cancelled on a serial queue itself, it does not run again. Runs that
  /// are late are made up for by one.
  ///
  /// Complexity: O(1). Blocking: never.
  public func schedule(
    after date: SchedulerTimeType, interval: SchedulerTimeType.Stride, tolerance: SchedulerTimeType.Stride,
    options: SchedulerOptions?, _ action: @escaping () -> Void
  ) -> any Cancellable {
    let options = options ?? SchedulerOptions()
    let action = Action(run: action)
    let timer = DispatchSource.makeTimerSource(queue: self)
    timer.setEventHandler(qos: options.qos, flags: options.flags) { [group = options.group] in
      group?.enter()
      action.run()
      group?.leave()
    }
    timer.schedule(
      deadline: date.dispatchTime, repeating: interval.timeInterval, leeway: max(tolerance, 0).timeInterval)
    timer.activate()
    return AnyCancellable { timer.cancel() }
  }
}

/// A scheduler's action. The protocol does not ask that it can be sent to another thread; that it is sent there is what the
/// caller wants of a queue.
private struct Action: @unchecked Sendable {  // why: the caller hands it over to the queue, which runs it
  let run: () -> Void
}
