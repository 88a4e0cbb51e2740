// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch

// Functions and extensions that hand closures on.

func locked<T>(_ queue: DispatchQueue, _ body: () throws -> T) rethrows -> T { try queue.sync(execute: body) }
func locked2<T>(_ queue: DispatchQueue, _ body: () throws -> T) rethrows -> T {
  try queue.sync(flags: .barrier) {
    let value = try body()
    return value
  }
}

extension DispatchQueue {
  private static let key = DispatchSpecificKey<UInt8>()

  func safeSync<T>(_ body: () throws -> T) rethrows -> T {
    if DispatchQueue.getSpecific(key: DispatchQueue.key) == 1 { return try body() }
    return try sync(execute: body)
  }

  func after(_ seconds: Double, _ body: @escaping @Sendable () -> Void) -> Void {
    asyncAfter(deadline: .now() + seconds, qos: .unspecified, flags: [], execute: body)
  }

  func after(_ interval: DispatchTimeInterval, _ item: DispatchWorkItem) {
    asyncAfter(deadline: .now() + interval, execute: item)
  }

  class func background(_ body: @escaping @Sendable () -> Void, then: @escaping @Sendable () -> Void) {
    DispatchQueue.global(qos: .background).async {
      body()
      DispatchQueue.main.async(execute: then)
    }
  }

  var isMain: Bool { self === DispatchQueue.main }
}

extension DispatchGroup {
  func finished(on queue: DispatchQueue = .main, _ body: @escaping () -> Void) {
    notify(queue: queue, execute: body)
  }
}

extension DispatchSourceProtocol {
  func handle(_ body: @escaping () -> Void) -> Self {
    setEventHandler(handler: body)
    return self
  }
}

extension DispatchTimeInterval {
  var seconds: Double? {
    switch self {
    case .seconds(let value): return Double(value)
    case .milliseconds(let value): return Double(value) / 1e3
    case .microseconds(let value): return Double(value) / 1e6
    case .nanoseconds(let value): return Double(value) / 1e9
    case .never: return nil
    @unknown default: return nil
    }
  }
}

extension DispatchQoS.QoSClass {
  var name: String {
    switch self {
    case .background: return "background"
    case .utility: return "utility"
    case .default: return "default"
    case .userInitiated: return "userInitiated"
    case .userInteractive: return "userInteractive"
    case .unspecified: return "unspecified"
    @unknown default: return "other"
    }
  }
}

struct Failure: Error {}

func results(_ queue: DispatchQueue) throws -> Int {
  let one = try queue.sync { () throws -> Int in throw Failure() }
  let two: Int = queue.sync { 2 }
  let three = try queue.sync(flags: []) { () -> Int in
    if two > 1 { throw Failure() }
    return 3
  }
  let nothing: Void = queue.sync {}
  _ = nothing
  do { try queue.sync { throw Failure() } } catch is Failure {} catch { throw error }
  _ = try? queue.sync { try results(queue) }
  let mapped = [1, 2].map { number in queue.sync { number * two } }
  return one + two + three + mapped[0]
}

func values(_ queue: DispatchQueue, _ item: DispatchWorkItem, _ group: DispatchGroup) {
  let submit: (DispatchWorkItem) -> Void = queue.async(execute:)
  submit(item)
  let run: (() -> Void) -> Void = queue.sync(execute:)
  run { print("in") }
  let leave = group.leave
  group.enter()
  leave()
  let signal: () -> Int = DispatchSemaphore(value: 0).signal
  _ = signal()
  let cancel = item.cancel
  cancel()
  let make: (String) -> DispatchQueue = { DispatchQueue(label: $0) }
  _ = make("made")
  let block: DispatchWorkItem = .init(block: { print("work") })
  [item, block].forEach(queue.async(execute:))
  defer { group.leave() }
  group.enter()
  dispatchPrecondition(condition: .notOnQueue(queue))
  _ = DispatchQueue(
    label: "all", qos: .utility, attributes: [.concurrent, .initiallyInactive], autoreleaseFrequency: .workItem,
    target: queue)
  _ = queue.label + queue.qos.qosClass.name
  _ = DispatchQoS(qosClass: .utility, relativePriority: -1) == .utility
  _ = DispatchTime.now() + 1.5 < .distantFuture
  _ = DispatchWallTime.now() + .seconds(1) > DispatchWallTime.now() - 1
  _ = DispatchTimeInterval.seconds(1) == .milliseconds(1000)
  queue.setTarget(queue: .global())
}

func oldTimers(_ timer: any DispatchSourceTimer) {
  timer.scheduleOneshot(deadline: .now() + 1)
  timer.scheduleOneshot(wallDeadline: .now() + 1, leeway: .seconds(1))
  timer.scheduleRepeating(deadline: .now(), interval: .seconds(1))
  timer.scheduleRepeating(deadline: .now(), interval: 1.5)
  timer.scheduleRepeating(wallDeadline: .now(), interval: .seconds(1))
  timer.scheduleRepeating(wallDeadline: .now(), interval: 1.5, leeway: .never)
}
