// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import GrandCentral
import Synchronization

/// The meters of a label.
struct LabelMeters: Sendable {
  let latency: CoreMetrics.Timer
  let overdue: Gauge
  let measured: Counter

  init(_ label: String, _ factory: any MetricsFactory) {
    let dimensions = [("queue", label)]
    latency = CoreMetrics.Timer(label: "grandcentral.queue.latency", dimensions: dimensions, factory: factory)
    overdue = Gauge(label: "grandcentral.queue.overdue", dimensions: dimensions, factory: factory)
    measured = Counter(label: "grandcentral.queue.measured", dimensions: dimensions, factory: factory)
  }
}

/// Measures how long an item waits in one queue.
final class QueueMeter: Sendable {
  private struct State {
    weak var queue: DispatchQueue?
    /// When the item was submitted that has not begun yet; nil if there is none.
    var submitted: DispatchTime?
  }

  private let state: Mutex<State>
  private let meters: LabelMeters

  init(_ queue: DispatchQueue, _ meters: LabelMeters) {
    state = Mutex(State(queue: queue))
    self.meters = meters
  }

  func isOf(_ queue: DispatchQueue) -> Bool { state.withLock { $0.queue === queue } }

  var isGone: Bool { state.withLock { $0.queue == nil } }

  /// Submits an item, or says for how long the last one waits already.
  func measure() {
    let now = DispatchTime.now()
    let (queue, waitsSince): (DispatchQueue?, DispatchTime?) = state.withLock { state in
      if let submitted = state.submitted { return (nil, submitted) }
      state.submitted = state.queue == nil ? nil : now
      return (state.queue, nil)
    }
    meters.overdue.record(waitsSince.map { Self.seconds(from: $0, to: now) } ?? 0)
    queue?.async { self.begins() }
  }

  private func begins() {
    let now = DispatchTime.now()
    let submitted = state.withLock { state in
      defer { state.submitted = nil }
      return state.submitted
    }
    guard let submitted else { return }
    meters.latency.recordNanoseconds(Int64(clamping: now.uptimeNanoseconds - submitted.uptimeNanoseconds))
    meters.measured.increment()
  }

  private static func seconds(from begin: DispatchTime, to end: DispatchTime) -> Double {
    Double(end.uptimeNanoseconds - begin.uptimeNanoseconds) / 1e9
  }
}
