// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import GrandCentral
import MetricsTestKit
import Testing

@testable import GrandCentralMetrics

@Suite("GrandCentralMetrics reports what the engine does")
struct MetricsTests {
  /// Metrics whose timer never fires: each test reports when it wants to.
  private static func metrics(_ factory: TestMetrics, mostLabels: Int = 64) -> RuntimeMetrics {
    RuntimeMetrics(every: .never, mostLabels: mostLabels, factory: factory)
  }

  @Test("the pool's threads are counted by what they do, and waits by what they wait for")
  func engine() throws {
    let factory = TestMetrics()
    let metrics = Self.metrics(factory)
    let queue = DispatchQueue(label: "metrics.waits", attributes: .concurrent)
    let held = DispatchSemaphore(value: 0)
    let begun = DispatchSemaphore(value: 0)
    let ended = DispatchGroup()
    for _ in 0..<3 {
      queue.async(group: ended) {
        begun.signal()
        held.wait()
      }
    }
    for _ in 0..<3 { begun.wait() }
    // The three items open `begun` before they wait, so the test looks until they do. Items of other tests wait as well.
    while Self.waiting(on: queue) < 3 {}
    metrics.report()
    for _ in 0..<3 { held.signal() }
    ended.wait()

    let processors = try factory.expectGauge("grandcentral.processors")
    #expect(processors.lastValue == Double(GrandCentralRuntime.snapshot().parallelism))
    let budget = try factory.expectGauge("grandcentral.thread_budget")
    #expect(budget.lastValue == Double(GrandCentralRuntime.threadBudget))
    let waiting = try factory.expectGauge("grandcentral.workers", [("state", "waits")])
    #expect(waiting.lastValue ?? 0 >= 3)
    let semaphores = try factory.expectGauge("grandcentral.waits", [("kind", "semaphore")])
    #expect(semaphores.lastValue ?? 0 >= 3)
    let longest = try factory.expectGauge("grandcentral.longest_wait")
    #expect(longest.lastValue ?? 0 > 0)
  }

  /// How many items of `queue` wait for a semaphore.
  private static func waiting(on queue: DispatchQueue) -> Int {
    GrandCentralRuntime.snapshot().threads.count { $0.wait?.kind == .semaphore && $0.insideLabel == queue.label }
  }

  @Test("a queue is measured by one item at a time; while that waits, it is overdue")
  func latency() throws {
    let factory = TestMetrics()
    let metrics = Self.metrics(factory)
    let queue = DispatchQueue(label: "measured")
    metrics.observe(queue)
    metrics.observe(queue)
    let held = DispatchSemaphore(value: 0)
    queue.async { held.wait() }
    metrics.report()
    metrics.report()
    let overdue = try factory.expectGauge("grandcentral.queue.overdue", [("queue", "measured")])
    let waited = try #require(overdue.lastValue)
    #expect(waited > 0)
    held.signal()
    queue.sync {}
    metrics.report()
    queue.sync {}
    #expect(overdue.lastValue == 0)
    let latency = try factory.expectTimer("grandcentral.queue.latency", [("queue", "measured")])
    #expect(latency.values.count == 2)
    #expect(Double(latency.values[0]) / 1e9 >= waited)
    let measured = try factory.expectCounter("grandcentral.queue.measured", [("queue", "measured")])
    #expect(measured.totalValue == 2)
  }

  @Test("labels beyond the limit are reported together")
  func cardinality() throws {
    let factory = TestMetrics()
    let metrics = Self.metrics(factory, mostLabels: 2)
    let queues = (0..<5).map { DispatchQueue(label: "queue \($0)") }
    for queue in queues { metrics.observe(queue) }
    metrics.report()
    for queue in queues { queue.sync {} }
    #expect(factory.counters.count == 3)
    #expect(try factory.expectCounter("grandcentral.queue.measured", [("queue", "queue 1")]).totalValue == 1)
    #expect(try factory.expectCounter("grandcentral.queue.measured", [("queue", "other")]).totalValue == 3)
  }

  @Test("a queue that is gone is forgotten, and was not kept alive")
  func mortality() throws {
    let factory = TestMetrics()
    let metrics = Self.metrics(factory)
    weak var gone: DispatchQueue?
    do {
      let queue = DispatchQueue(label: "mortal")
      gone = queue
      metrics.observe(queue)
      metrics.report()
      queue.sync {}
    }
    // The drainer is about to give up its reference.
    while gone != nil {}
    metrics.report()
    let measured = try factory.expectCounter("grandcentral.queue.measured", [("queue", "mortal")])
    #expect(measured.totalValue == 1)
  }

  @Test("reports come by themselves, until they are cancelled")
  func timer() {
    let factory = TestMetrics()
    let metrics = RuntimeMetrics(every: .milliseconds(1), factory: factory)
    let thrice = DispatchGroup()
    let queue = DispatchQueue(label: "ticks")
    metrics.observe(queue)
    thrice.enter()
    let watch = DispatchQueue(label: "watch")
    @Sendable func look() {
      let total = factory.counterTotal(label: "grandcentral.queue.measured")
      if total >= 3 { thrice.leave() } else { watch.async { look() } }
    }
    watch.async { look() }
    thrice.wait()
    metrics.cancel()
  }
}
