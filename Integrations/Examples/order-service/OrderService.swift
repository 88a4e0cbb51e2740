// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A service that takes orders: two actors that live on queues, with metrics, and with spans in the timeline.
//
//   swift run --package-path Integrations order-service [ORDERS]
//   gcd trace -o orders.pftrace -- order-service          the spans, above the queues that they run on
//
//   requests (tasks on a concurrent queue) ──▶ Stock (serial queue "orders.stock") ──▶ Ledger (serial queue "orders.ledger")
//
// Shows: an actor whose executor is a queue, and code without `async` that uses the same queue; tasks that prefer a queue;
// metrics of the service beside those of the library, such as how long an item waits in an actor's queue; and spans.
//
// The toolchain's Dispatch has no queue that is an executor on Linux: the twin of this program makes its own. It has the metrics of
// the service, but not those of the library, and its spans go nowhere.

import CoreMetrics
import MetricsTestKit
import Tracing

#if TWIN
  import Dispatch
#else
  import GrandCentral
  import GrandCentralMetrics
  import GrandCentralTracing
#endif

struct Order: Sendable {
  let number: Int
  let item: Int
  var price: Int { 100 + item }
}

struct SoldOut: Error {}

/// What there is to sell.
actor Stock {
  nonisolated let queue = DispatchSerialQueue(label: "orders.stock")
  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }
  private var pieces: [Int: Int]

  init(items: Int, piecesOfEach: Int) {
    pieces = Dictionary(uniqueKeysWithValues: (0..<items).map { ($0, piecesOfEach) })
  }

  func reserve(_ order: Order) throws {
    guard let left = pieces[order.item], left > 0 else { throw SoldOut() }
    pieces[order.item] = left - 1
  }
}

/// What has been sold.
actor Ledger {
  nonisolated let queue = DispatchSerialQueue(label: "orders.ledger")
  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }
  private var total = 0

  func book(_ order: Order) { total += order.price }

  /// For code that knows queues and no tasks: an item of the actor's queue is isolated to the actor.
  nonisolated func totalNow() -> Int { queue.sync { assumeIsolated { $0.total } } }
}

final class Service: Sendable {
  let stock = Stock(items: 10, piecesOfEach: 60)
  let ledger = Ledger()
  private let sold = Counter(label: "orders", dimensions: [("outcome", "sold")])
  private let refused = Counter(label: "orders", dimensions: [("outcome", "refused")])
  private let time = CoreMetrics.Timer(label: "orders.time")

  func take(_ order: Order) async {
    let begin = DispatchTime.now()
    await withSpan("order") { span in
      span.attributes["item"] = order.item
      do {
        try await withSpan("reserve") { _ in try await stock.reserve(order) }
        await withSpan("book") { _ in await ledger.book(order) }
        sold.increment()
      } catch {
        refused.increment()
      }
    }
    time.recordNanoseconds(Int64(DispatchTime.now().uptimeNanoseconds - begin.uptimeNanoseconds))
  }
}

@main
enum OrderService {
  static func main() async throws {
    let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1000
    // A service that is watched has the factory of its monitoring system here. This one keeps what it is told.
    let factory = TestMetrics()
    MetricsSystem.bootstrap(factory)

    let service = Service()
    #if !TWIN
      // And here the tracer of its tracing system stands in the brackets.
      InstrumentationSystem.bootstrap(TimelineTracer())
      let metrics = RuntimeMetrics(every: .milliseconds(1))
      metrics.observe(service.stock.queue)
      metrics.observe(service.ledger.queue)
    #endif

    let requests = DispatchConcurrentQueue(label: "orders.requests")
    await withTaskGroup(of: Void.self) { tasks in
      for number in 0..<count {
        tasks.addTask(executorPreference: requests) { await service.take(Order(number: number, item: number % 10)) }
      }
    }
    #if !TWIN
      metrics.cancel()
    #endif

    for outcome in ["sold", "refused"] {
      print("\(outcome): \(try factory.expectCounter("orders", [("outcome", outcome)]).totalValue)")
    }
    print("timed: \(try factory.expectTimer("orders.time").values.count)")
    print("total: \(service.ledger.totalNow())")
    #if !TWIN
      // How many of these there are depends on how long all of it took.
      for label in [service.stock.queue.label, service.ledger.queue.label] {
        let timers = factory.timers(label: "grandcentral.queue.latency", dimensions: [("queue", label)])
        let waits = timers.flatMap(\.values)
        print("# \(label): \(waits.count) waits measured, the longest \((waits.max() ?? 0) / 1000) µs")
      }
    #endif
  }
}

#if TWIN
  /// What the toolchain's library lacks on Linux: queues that are executors, as much of them as this program needs.
  final class DispatchSerialQueue: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) { queue = DispatchQueue(label: label) }

    func enqueue(_ job: UnownedJob) { queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) } }
    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
    func sync<Result>(_ work: () -> Result) -> Result { queue.sync(execute: work) }
  }

  final class DispatchConcurrentQueue: TaskExecutor {
    private let queue: DispatchQueue

    init(label: String) { queue = DispatchQueue(label: label, attributes: .concurrent) }

    func enqueue(_ job: UnownedJob) { queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) } }
  }
#endif
