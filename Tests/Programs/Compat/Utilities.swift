// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch

// The small classes that programs write around Dispatch.

final class Debouncer {
  private let queue: DispatchQueue
  private let delay: DispatchTimeInterval
  private var item: DispatchWorkItem?

  init(delay: DispatchTimeInterval, queue: DispatchQueue = .main) {
    (self.delay, self.queue) = (delay, queue)
  }

  func call(_ action: @escaping () -> Void) {
    item?.cancel()
    let item = DispatchWorkItem(block: action)
    self.item = item
    queue.asyncAfter(deadline: .now() + delay, execute: item)
  }
}

@MainActor final class SearchField {
  private var item: DispatchWorkItem?
  private(set) var results: [String] = []

  func textDidChange(_ text: String) {
    item?.cancel()
    let search = DispatchWorkItem { [weak self] in
      guard let self, self.item?.isCancelled == false else { return }
      self.results = [text]
    }
    item = search
    DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(300), execute: search)
  }
}

class RepeatingTimer {
  private enum State { case suspended, resumed }

  let interval: Double
  var eventHandler: (() -> Void)?
  private var state = State.suspended

  init(interval: Double) { self.interval = interval }

  private lazy var timer: DispatchSourceTimer = {
    let timer = DispatchSource.makeTimerSource()
    timer.schedule(deadline: .now() + self.interval, repeating: self.interval)
    timer.setEventHandler(handler: { [weak self] in self?.eventHandler?() })
    return timer
  }()

  deinit {
    timer.setEventHandler {}
    timer.cancel()
    resume()
    eventHandler = nil
  }

  func resume() {
    if state == .resumed { return }
    state = .resumed
    timer.resume()
  }

  func suspend() {
    if state == .suspended { return }
    state = .suspended
    timer.suspend()
  }
}

final class Throttler {
  private let queue = DispatchQueue(label: "throttler", qos: .userInitiated, attributes: [], target: nil)
  private var last = DispatchTime(uptimeNanoseconds: 0)
  private var item = DispatchWorkItem {}

  func throttle(every interval: Double, _ block: @escaping () -> Void) {
    item.cancel()
    item = DispatchWorkItem { [weak self] in
      self?.last = .now()
      block()
    }
    let elapsed = Double(DispatchTime.now().uptimeNanoseconds - last.uptimeNanoseconds) / 1e9
    queue.asyncAfter(deadline: .now() + (elapsed > interval ? 0 : interval), execute: item)
  }
}

final class Buffer<Element> {
  private var items: [Element] = []
  private let lock = DispatchSemaphore(value: 1)
  private let filled = DispatchSemaphore(value: 0)
  private let free: DispatchSemaphore

  init(capacity: Int) { free = DispatchSemaphore(value: capacity) }

  func put(_ element: Element) {
    free.wait()
    lock.wait()
    items.append(element)
    lock.signal()
    filled.signal()
  }

  func take(timeout: DispatchTime = .distantFuture) -> Element? {
    guard filled.wait(timeout: timeout) == .success else { return nil }
    lock.wait()
    defer { lock.signal() }
    defer { free.signal() }
    return items.removeFirst()
  }
}

func produceAndConsume(_ count: Int) {
  let group = DispatchGroup()
  let buffer = Buffer<Int>(capacity: 4)
  let producer = DispatchWorkItem { for number in 0..<count { buffer.put(number) } }
  let consumer = DispatchWorkItem { while let number = buffer.take(timeout: .now() + 1) { print(number) } }
  DispatchQueue.global(qos: .utility).async(group: group, execute: producer)
  DispatchQueue.global().async(group: group, execute: consumer)
  group.notify(queue: .main) { print("done") }
  if group.wait(timeout: .now() + .seconds(2)) == .timedOut { print("late") }
  group.wait()
}

final class Protected<Value> {
  private let queue = DispatchQueue(label: "protected", attributes: .concurrent)
  private var stored: Value

  init(_ value: Value) { stored = value }

  var value: Value { queue.sync { stored } }
  func set(_ value: Value) { queue.sync(flags: .barrier) { stored = value } }
  func change<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try queue.sync(flags: .barrier) { try body(&stored) }
  }
}

class LineReader {
  private let channel: DispatchIO
  private let queue = DispatchQueue(label: "reader")
  private var rest = DispatchData.empty
  var onLine: ((String) -> Void)?
  var onEnd: ((Int32) -> Void)?

  init?(path: String) {
    guard
      let channel = DispatchIO(
        type: .stream, path: path, oflag: 0, mode: 0, queue: queue, cleanupHandler: { error in print(error) })
    else { return nil }
    self.channel = channel
    channel.setLimit(lowWater: 1)
    channel.setLimit(highWater: 4096)
    channel.setInterval(interval: .milliseconds(10), flags: .strictInterval)
  }

  func start() {
    channel.read(offset: 0, length: .max, queue: queue) { [weak self] done, data, error in
      guard let self else { return }
      if let data { self.rest.append(data) }
      self.onLine?(String(decoding: Array(self.rest), as: UTF8.self))
      if done { self.onEnd?(error) }
    }
  }

  func stop() { channel.close(flags: .stop) }
}
