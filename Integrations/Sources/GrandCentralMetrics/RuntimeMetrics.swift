// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import GrandCentral
import Synchronization

/// Reports to swift-metrics what the engine does, and how long items wait in the queues that are observed.
///
/// ```swift
/// let metrics = RuntimeMetrics(every: .seconds(10))
/// metrics.observe(database)
/// ```
///
/// | meter | kind | dimensions | what it says |
/// |---|---|---|---|
/// | `grandcentral.workers` | gauge | `state`: `active`, `waits`, `asleep` | pool threads |
/// | `grandcentral.processors` | gauge | | workers wanted at once |
/// | `grandcentral.thread_budget` | gauge | | the most pool threads there may be |
/// | `grandcentral.waits` | gauge | `kind`: `queue`, `group`, `semaphore`, `work_item`, `apply`, `once`, `other` | threads that wait in the library |
/// | `grandcentral.longest_wait` | gauge, seconds | | for how long the oldest of those waits |
/// | `grandcentral.queue.latency` | timer | `queue` | from the submission of an item to its start |
/// | `grandcentral.queue.overdue` | gauge, seconds | `queue` | for how long the item that measures waits already; 0 if it has run |
/// | `grandcentral.queue.measured` | counter | `queue` | items that have measured |
///
/// The figures of the engine come from `GrandCentralRuntime.snapshot()`. Latency is measured by an item, one for each interval: one
/// that waits for its turn as the program's own do. A queue whose item has not run gets no second one.
///
/// Labels become dimensions only for queues that are observed, and no more of them than was said at the beginning: the queues
/// beyond are reported together, as the queue `other`. A queue is not kept alive; what is gone is not reported any more.
public final class RuntimeMetrics: Sendable {
  private let meters: EngineMeters
  private let factory: any MetricsFactory
  private let mostLabels: Int
  private let observed = Mutex<[QueueMeter]>([])
  private let labels = Mutex<[String: LabelMeters]>([:])
  private let timer: any DispatchSourceTimer

  /// Reports from now on, until ``cancel()``.
  ///
  /// - Parameters:
  ///   - interval: The time from one report to the next.
  ///   - mostLabels: So many labels of observed queues become dimensions, at least one.
  ///   - factory: What makes the meters; nil: that of `MetricsSystem`.
  ///
  /// Blocking: never. Complexity: O(1); a report, O(threads + queues).
  public init(
    every interval: DispatchTimeInterval = .seconds(10), mostLabels: Int = 64, factory: (any MetricsFactory)? = nil
  ) {
    let factory = factory ?? MetricsSystem.factory
    self.factory = factory
    self.mostLabels = max(1, mostLabels)
    meters = EngineMeters(factory)
    let queue = DispatchQueue(label: "org.grandcentral.metrics", qos: .utility)
    timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { [weak self] in self?.report() }
    timer.schedule(deadline: .now() + interval, repeating: interval, leeway: .milliseconds(100))
    timer.activate()
  }

  deinit { timer.cancel() }

  /// Measures how long items wait in `queue`. Does nothing if it is observed already.
  ///
  /// Blocking: for a lock, briefly. Complexity: O(queues observed).
  public func observe(_ queue: DispatchQueue) {
    let meters = meters(of: queue.label)
    observed.withLock { observed in
      if observed.contains(where: { $0.isOf(queue) }) { return }
      observed.append(QueueMeter(queue, meters))
    }
  }

  /// Ends the reports. They do not begin again.
  ///
  /// Blocking: never. Complexity: O(1).
  public func cancel() { timer.cancel() }

  /// Queues of one label share its meters.
  private func meters(of label: String) -> LabelMeters {
    labels.withLock { labels in
      let name = labels[label] != nil || labels.count < mostLabels ? label : Self.beyond
      if let known = labels[name] { return known }
      let made = LabelMeters(name, factory)
      labels[name] = made
      return made
    }
  }

  /// What has no dimension of its own.
  private static let beyond = "other"

  /// One report.
  func report() {
    meters.record(GrandCentralRuntime.snapshot())
    let alive = observed.withLock { observed in
      observed.removeAll { $0.isGone }
      return observed
    }
    for queue in alive { queue.measure() }
  }
}
