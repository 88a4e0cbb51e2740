// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralTesting

// What Documentation/FiveBugs.md shows.

enum Accounts {
  final class Account: @unchecked Sendable {  // its queue guards the balance
    let number: Int
    let queue: DispatchQueue
    var balance = 100

    init(_ number: Int) {
      self.number = number
      queue = DispatchQueue(label: "account \(number)")
    }
  }

  static func transfer(_ amount: Int, from: Account, to: Account) {
    from.queue.sync {
      to.queue.sync {
        from.balance -= amount
        to.balance += amount
      }
    }
  }

  static func transferInOrder(_ amount: Int, from: Account, to: Account) {
    let (first, second) = from.number < to.number ? (from, to) : (to, from)
    first.queue.sync {
      second.queue.sync {
        from.balance -= amount
        to.balance += amount
      }
    }
  }

  static func twoTransfers(_ sim: Simulation, by transfer: @escaping @Sendable (Int, Account, Account) -> Void) {
    let (one, two) = (Account(1), Account(2))
    DispatchQueue.global().async { transfer(10, one, two) }
    DispatchQueue.global().async { transfer(20, two, one) }
    sim.run()
    sim.expect(one.balance == 110 && two.balance == 90)
  }
}

enum Caches {
  class Cache: @unchecked Sendable {  // its queue guards the values
    let queue = DispatchQueue(label: "cache", attributes: .concurrent)
    var values: [String: Int] = [:]

    func value(of key: String, load: () -> Int) -> Int {
      if let known = queue.sync(execute: { values[key] }) { return known }
      let loaded = load()
      queue.sync(flags: .barrier) { values[key] = loaded }
      return loaded
    }
  }

  final class CacheThatLooksTwice: Cache, @unchecked Sendable {  // as above
    override func value(of key: String, load: () -> Int) -> Int {
      if let known = queue.sync(execute: { values[key] }) { return known }
      return queue.sync(flags: .barrier) {
        if let known = values[key] { return known }
        let loaded = load()
        values[key] = loaded
        return loaded
      }
    }
  }

  static func twoReaders(_ sim: Simulation, of cache: Cache) {
    let loads = Box(0)
    for _ in 0..<2 {
      DispatchQueue.global().async {
        let value = cache.value(of: "answer") {
          loads.value += 1
          return 42
        }
        sim.expect(value == 42)
      }
    }
    sim.run()
    sim.expect(loads.value == 1, "loaded \(loads.value) times")
  }
}

enum Debouncers {
  class Debouncer: @unchecked Sendable {  // one event at a time, it is hoped
    let queue = DispatchQueue(label: "debouncer")
    var pending: DispatchWorkItem?

    func event(_ action: @escaping @Sendable () -> Void) {
      pending?.cancel()
      Simulation.yield()
      let item = DispatchWorkItem(block: action)
      pending = item
      queue.asyncAfter(deadline: .now() + .milliseconds(300), execute: item)
    }
  }

  final class DebouncerOnItsQueue: Debouncer, @unchecked Sendable {  // its queue guards what is pending
    override func event(_ action: @escaping @Sendable () -> Void) {
      queue.async { super.event(action) }
    }
  }

  static func threeEvents(_ sim: Simulation, of debouncer: Debouncer) {
    let actions = Box(0)
    for milliseconds in [0, 200, 200] {
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) {
        debouncer.event { actions.value += 1 }
      }
    }
    sim.advance(by: .milliseconds(499))
    sim.expect(actions.value == 0, "acted early")
    sim.run()
    sim.expect(actions.value == 1, "acted \(actions.value) times")
  }
}

enum Retries {
  typealias Server = @Sendable (_ answer: @escaping @Sendable (Int) -> Void) -> Void

  final class Fetch: @unchecked Sendable {  // its queue guards what it knows
    let queue = DispatchQueue(label: "fetch")
    let server: Server
    let completion: @Sendable (Int?) -> Void

    init(_ server: @escaping Server, _ completion: @escaping @Sendable (Int?) -> Void) {
      (self.server, self.completion) = (server, completion)
    }

    func start(attempt: Int = 1) {
      let isAnswered = Box(false)
      server { answer in
        self.queue.async {
          isAnswered.value = true
          self.completion(answer)
        }
      }
      queue.asyncAfter(deadline: .now() + .seconds(1 << attempt)) {
        if isAnswered.value { return }
        if attempt == 5 { return self.completion(nil) }
        self.start(attempt: attempt + 1)
      }
    }
  }

  final class FetchThatEndsOnce: @unchecked Sendable {  // its queue guards what it knows
    let queue = DispatchQueue(label: "fetch")
    let server: Server
    var completion: (@Sendable (Int?) -> Void)?

    init(_ server: @escaping Server, _ completion: @escaping @Sendable (Int?) -> Void) {
      (self.server, self.completion) = (server, completion)
    }

    func start(attempt: Int = 1) {
      server { answer in self.queue.async { self.end(answer) } }
      queue.asyncAfter(deadline: .now() + .seconds(1 << attempt)) {
        if self.completion == nil { return }
        if attempt == 5 { return self.end(nil) }
        self.start(attempt: attempt + 1)
      }
    }

    private func end(_ answer: Int?) {
      completion?(answer)
      completion = nil
    }
  }

  static func slowServer(_ sim: Simulation, start: (@escaping Server, @escaping @Sendable (Int?) -> Void) -> Void) {
    let answers = Box(0)
    start(
      { answer in DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(2)) { answer(7) } },
      { _ in answers.value += 1 })
    sim.run()
    sim.expect(answers.value == 1, "\(answers.value) answers")
  }
}

enum Tickers {
  final class Log: @unchecked Sendable {  // in the simulation one thread goes on at a time
    var isOpen = true
  }

  static func tick(_ sim: Simulation, closesInHandler: Bool) {
    let log = Log()
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "ticker"))
    timer.schedule(deadline: .now(), repeating: .seconds(1))
    timer.setEventHandler {
      Simulation.yield()
      sim.expect(log.isOpen, "writes to a log that is closed")
    }
    if closesInHandler { timer.setCancelHandler { log.isOpen = false } }
    timer.resume()
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(60)) {
      timer.cancel()
      if !closesInHandler { log.isOpen = false }
    }
    sim.run()
    sim.expect(!log.isOpen, "the log stays open")
  }
}
