// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import GrandCentral

/// The meters that belong to no queue.
struct EngineMeters: Sendable {
  private let processors: Gauge
  private let budget: Gauge
  private let longestWait: Gauge
  private let workers: [String: Gauge]
  private let waits: [String: Gauge]

  private static let states = ["active", "waits", "asleep"]
  private static let kinds = ["queue", "group", "semaphore", "work_item", "apply", "once", "other"]

  init(_ factory: any MetricsFactory) {
    func gauges(_ label: String, _ dimension: String, _ values: [String]) -> [String: Gauge] {
      Dictionary(
        uniqueKeysWithValues: values.map {
          ($0, Gauge(label: label, dimensions: [(dimension, $0)], factory: factory))
        })
    }
    processors = Gauge(label: "grandcentral.processors", factory: factory)
    budget = Gauge(label: "grandcentral.thread_budget", factory: factory)
    longestWait = Gauge(label: "grandcentral.longest_wait", factory: factory)
    workers = gauges("grandcentral.workers", "state", Self.states)
    waits = gauges("grandcentral.waits", "kind", Self.kinds)
  }

  func record(_ snapshot: GrandCentralRuntime.Snapshot) {
    processors.record(snapshot.parallelism)
    budget.record(GrandCentralRuntime.threadBudget)
    let pool = Dictionary(grouping: snapshot.threads.filter { $0.role == .worker }) { Self.name(of: $0.state) }
    for (state, gauge) in workers { gauge.record(pool[state]?.count ?? 0) }
    let waiting = snapshot.threads.filter { $0.wait != nil }
    let counts = Dictionary(grouping: waiting) { Self.name(of: $0.wait?.kind ?? .other) }
    for (kind, gauge) in waits { gauge.record(counts[kind]?.count ?? 0) }
    longestWait.record((waiting.map(\.duration).max() ?? .zero) / .seconds(1))
  }

  private static func name(of state: GrandCentralRuntime.SnapshotThread.State) -> String {
    switch state {
    case .active: "active"
    case .waits: "waits"
    case .asleep: "asleep"
    }
  }

  private static func name(of kind: GrandCentralRuntime.SnapshotWait.Kind) -> String {
    switch kind {
    case .queue, .itemElsewhere: "queue"
    case .group: "group"
    case .semaphore: "semaphore"
    case .workItem: "work_item"
    case .apply: "apply"
    case .once: "once"
    case .other: "other"
    }
  }
}
