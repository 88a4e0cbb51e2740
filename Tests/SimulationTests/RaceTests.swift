// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import GrandCentralTesting
import Testing

private let isWatched = dlsym(nil, "__tsan_init") != nil

/// What ThreadSanitizer sees of a simulation. It ends a process in which it has reported something with the code 66.
@Suite("Races in a simulation", .enabled(if: isWatched), .timeLimit(.minutes(30)))
struct RaceTests {
  /// Whether a race is reported, and whether the schedule says so.
  fileprivate static func requireRace(_ body: @escaping (Simulation) -> Void) {
    let failure = Simulation.explore(runs: 200) { body($0) }.failure
    guard case .race = failure?.reason, failure?.token.isEmpty == false else {
      fatalError("\(String(describing: failure))")
    }
  }

  fileprivate static func requireNone(_ body: @escaping (Simulation) -> Void) {
    for strategy in [Simulation.Strategy.random, .pct(depth: 3)] {
      if let failure = Simulation.explore(runs: 100, strategy: strategy, { body($0) }).failure {
        fatalError("\(failure)")
      }
    }
  }

  @Test("two items that change a value")
  func counter() async {
    await #expect(processExitsWith: .exitCode(66)) {
      RaceTests.requireRace { sim in
        let box = Box(0)
        for _ in 0..<2 { DispatchQueue.global().async { box.value += 1 } }
        sim.run()
      }
    }
  }

  @Test("indices of a parallel loop that change a value")
  func loop() async {
    await #expect(processExitsWith: .exitCode(66)) {
      RaceTests.requireRace { _ in
        let box = Box(0)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in box.value += 1 }
      }
    }
  }

  @Test("two queues that guard one value")
  func wrongLock() async {
    await #expect(processExitsWith: .exitCode(66)) {
      RaceTests.requireRace { sim in
        let box = Box(0)
        for name in ["one", "other"] { DispatchQueue(label: name).async { box.value += 1 } }
        sim.run()
      }
    }
  }

  @Test("a writer on a concurrent queue without a barrier")
  func cache() async {
    await #expect(processExitsWith: .exitCode(66)) {
      RaceTests.requireRace { sim in
        let (box, queue) = (Box(0), DispatchQueue(label: "cache", attributes: .concurrent))
        for number in 0..<3 {
          queue.async {
            Simulation.yield()
            if number == 1 { box.value += 1 } else { sim.expect(box.value < 2) }
          }
        }
        sim.run()
      }
    }
  }

  @Test("every order shows races of items that do not wait in between")
  func everyOrder() async {
    await #expect(processExitsWith: .exitCode(66)) {
      let failure = Simulation.explore(strategy: .everyOrder()) { sim in
        let box = Box(0)
        for _ in 0..<2 { DispatchQueue.global().async { box.value += 1 } }
        sim.run()
      }.failure
      guard case .race = failure?.reason else { fatalError("\(String(describing: failure))") }
    }
    await #expect(processExitsWith: .exitCode(66)) {
      let failure = Simulation.explore(strategy: .everyOrder()) { sim in
        let (box, one, other) = (Box(0), DispatchQueue(label: "one"), DispatchQueue(label: "other"))
        one.async {
          box.value += 1
          other.async {}
          DispatchQueue.global().async { box.value += 1 }
        }
        other.async { box.value += 1 }
        sim.run()
      }.failure
      guard case .race = failure?.reason else { fatalError("\(String(describing: failure))") }
    }
  }

  @Test("a race in a schedule that fails for another reason is not lost")
  func raceAndFailure() async {
    await #expect(processExitsWith: .exitCode(66)) {
      let failure = Simulation.explore(runs: 200) { sim in
        let threads = Box<Set<UInt>>([])
        for _ in 0..<2 { DispatchQueue.global().async { threads.value.insert(UInt(pthread_self())) } }
        sim.run()
        sim.expect(threads.value.count < 2, "it fails")
      }.failure
      guard case .expectation = failure?.reason, failure?.hasRace == true, failure?.switches == nil,
        failure?.description.contains("a race in that schedule as well") == true
      else { fatalError("\(String(describing: failure))") }
    }
  }

  @Test("behind the report of a race stands the schedule, for a process that ends there")
  func token() async throws {
    let result = await #expect(processExitsWith: .exitCode(66), observing: [\.standardErrorContent]) {
      RaceTests.requireRace { sim in
        let box = Box(0)
        for _ in 0..<2 { DispatchQueue.global().async { box.value += 1 } }
        sim.run()
      }
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    let report = try #require(text.range(of: "WARNING: ThreadSanitizer"))
    #expect(text[report.upperBound...].contains("simulation: the race is in a run. Replay it by .replay(\"gc1:"))
  }

  @Test("what queues, barriers, groups, semaphores, items and timers put in order is no race")
  func ordered() async {
    await #expect(processExitsWith: .success) {
      RaceTests.requireNone { sim in
        let (box, serial) = (Box(0), DispatchQueue(label: "serial"))
        for _ in 0..<3 {
          DispatchQueue.global().async {
            serial.async { box.value += 1 }
            serial.sync { box.value += 1 }
          }
        }
        sim.run()
        sim.expect(box.value == 6)
      }
      RaceTests.requireNone { sim in
        let (box, queue) = (Box(0), DispatchQueue(label: "cache", attributes: .concurrent))
        for number in 0..<6 {
          if number % 3 == 1 {
            queue.async(flags: .barrier) { box.value += 1 }
          } else {
            queue.async { sim.expect(box.value <= 3) }
          }
        }
        queue.sync(flags: .barrier) { box.value += 1 }
        sim.run()
        sim.expect(box.value == 3)
      }
      RaceTests.requireNone { sim in
        let (box, queue, isHalted) = (Box(0), DispatchQueue(label: "halted"), DispatchSemaphore(value: 0))
        queue.async {
          queue.suspend()
          isHalted.signal()
        }
        queue.async { box.value += 1 }
        DispatchQueue.global().async {
          isHalted.wait()
          box.value += 1
          queue.resume()
        }
        sim.run()
        sim.expect(box.value == 2)
      }
      RaceTests.requireNone { sim in
        let (box, lock, group) = (Box(0), DispatchSemaphore(value: 1), DispatchGroup())
        for _ in 0..<3 {
          DispatchQueue.global().async(group: group) {
            lock.wait()
            box.value += 1
            Simulation.yield()
            lock.signal()
          }
        }
        group.notify(queue: .main) { box.value += 1 }
        sim.run()
        sim.expect(box.value == 4)
      }
      RaceTests.requireNone { sim in
        let (box, queue) = (Box(0), DispatchQueue(label: "timers"))
        let item = DispatchWorkItem { box.value += 1 }
        DispatchQueue.global().async(execute: item)
        item.wait()
        queue.asyncAfter(deadline: .now() + .seconds(1)) { box.value += 1 }
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + .seconds(2), repeating: .seconds(1))
        timer.setEventHandler {
          box.value += 1
          if box.value == 15 { timer.cancel() }
        }
        timer.activate()
        sim.advance(by: .seconds(3))
        sim.expect(box.value == 4)
        box.value += 10
        sim.run()
        sim.expect(box.value == 15)
      }
    }
  }
}
