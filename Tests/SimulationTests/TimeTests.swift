// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import GrandCentralTesting
import Testing

/// A value that items of different queues change.
final class Box<Value>: @unchecked Sendable {  // in a simulation one thread goes on at a time
  var value: Value
  init(_ value: Value) { self.value = value }
}

// Each test is a process of its own: a simulation wants the library to itself, and other suites run beside this one.
@Suite("Virtual time", .serialized, .timeLimit(.minutes(30)))
struct TimeTests {
  @Test("asyncAfter fires at its instant, and nothing takes an hour")
  func asyncAfter() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check(runs: 20) { sim in
        let fired = Box<[Duration]>([])
        let queue = DispatchQueue(label: "hour")
        for seconds in [3_600, 1, 60] {
          queue.asyncAfter(deadline: .now() + .seconds(seconds)) { fired.value.append(sim.elapsed) }
        }
        sim.run()
        sim.expect(fired.value == [.seconds(1), .seconds(60), .seconds(3_600)], "\(fired.value)")
        sim.expect(sim.elapsed == .seconds(3_600))
      }
    }
  }

  @Test("A day of one-second timers: each of them fires")
  func day() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check(runs: 1, processors: 1) { sim in
        let count = Box(0)
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "day"))
        timer.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1))
        timer.setEventHandler { count.value += 1 }
        timer.resume()
        let seconds = isThorough ? 86_400 : 3_600
        sim.advance(by: .seconds(seconds))
        sim.expect(count.value == seconds, "\(count.value)")
        timer.cancel()
      }
    }
  }

  @Test("A timer fires between its deadline and the end of its leeway, each time")
  func leeway() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check(runs: 50) { sim in
        let fired = Box<[Duration]>([])
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "leeway"))
        timer.schedule(deadline: .now() + .seconds(10), repeating: .seconds(20), leeway: .seconds(5))
        timer.setEventHandler { fired.value.append(sim.elapsed) }
        timer.resume()
        // Something else that is due within the leeway.
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(32)) {}
        sim.advance(by: .seconds(60))
        sim.expect(fired.value.count == 3, "\(fired.value)")
        for (index, instant) in fired.value.enumerated() {
          let due = Duration.seconds(10 + 20 * index)
          sim.expect((due...due + .seconds(5)).contains(instant), "\(fired.value)")
        }
        timer.cancel()
      }
    }
  }

  @Test("advance lets happen what is due until then, and no more")
  func advance() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check(runs: 20) { sim in
        let count = Box(0)
        let queue = DispatchQueue(label: "steps")
        for seconds in 1...3 { queue.asyncAfter(deadline: .now() + .seconds(seconds)) { count.value += 1 } }
        let now = Box(false)
        queue.async { queue.async { now.value = true } }
        sim.advance(by: .zero)
        sim.expect(now.value && sim.elapsed == .zero, "\(sim.elapsed)")
        sim.advance(by: .milliseconds(999))
        sim.expect(count.value == 0, "\(count.value)")
        sim.advance(by: .milliseconds(1))
        sim.expect(count.value == 1, "\(count.value)")
        sim.advance(by: DispatchTimeInterval.seconds(1))
        sim.expect(count.value == 2, "\(count.value)")
        sim.run()
        sim.expect(count.value == 3, "\(count.value)")
        sim.expect(sim.elapsed == .seconds(3), "\(sim.elapsed)")
      }
    }
  }

  @Test("V1: run lets no time pass once nothing is left, also where a worker naps")
  func naps() async {
    await #expect(processExitsWith: .success) {
      let strategies: [Simulation.Strategy] = [.random, .pct(depth: 3), .exhaustive(preemptions: 1)]
      for (index, strategy) in strategies.enumerated() {
        try Simulation.check(runs: 500, strategy: strategy, processors: 2 + index % 2 * 2, seed: 7) { sim in
          let queue = DispatchQueue(label: "queue")
          let count = Box(0)
          for _ in 0..<2 {
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(1)) {
              queue.async { count.value += 1 }
              queue.sync { count.value += 1 }
            }
          }
          sim.run()
          sim.expect(count.value == 4 && sim.elapsed == .seconds(1), "\(count.value), \(sim.elapsed)")
        }
      }
    }
  }

  @Test("Waits with a deadline end at it: groups, semaphores and items")
  func timeouts() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check(runs: 20) { sim in
        let group = DispatchGroup()
        let semaphore = DispatchSemaphore(value: 0)
        let item = DispatchWorkItem {}
        group.enter()
        sim.expect(group.wait(timeout: .now() + .seconds(10)) == .timedOut)
        sim.expect(sim.elapsed == .seconds(10), "\(sim.elapsed)")
        sim.expect(semaphore.wait(wallTimeout: .now() + .seconds(20)) == .timedOut)
        sim.expect(sim.elapsed == .seconds(30), "\(sim.elapsed)")
        sim.expect(item.wait(timeout: .now() + .seconds(30)) == .timedOut)
        sim.expect(sim.elapsed == .seconds(60), "\(sim.elapsed)")
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(5)) {
          group.leave()
          semaphore.signal()
          item.perform()
        }
        sim.expect(group.wait(timeout: .now() + .seconds(10)) == .success)
        sim.expect(semaphore.wait(timeout: .now() + .seconds(10)) == .success)
        sim.expect(item.wait(timeout: .now() + .seconds(10)) == .success)
        sim.expect(sim.elapsed == .seconds(65), "\(sim.elapsed)")
      }
    }
  }

  @Test("A thread in a contended sync waits, and time goes on")
  func contention() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check(runs: 20) { sim in
        let queue = DispatchQueue(label: "held")
        let semaphore = DispatchSemaphore(value: 0)
        queue.async { semaphore.wait() }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(60)) { semaphore.signal() }
        sim.advance(by: .seconds(1))
        queue.sync {}
        sim.expect(sim.elapsed == .seconds(60), "\(sim.elapsed)")
      }
    }
  }

  @Test("All clocks go alike; time stands still while something runs")
  func clocks() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check(runs: 5) { sim in
        let (uptime, wall) = (DispatchTime.now().uptimeNanoseconds, DispatchWallTime.now())
        sim.expect(uptime == DispatchTime.now().uptimeNanoseconds)
        let fired = Box(false)
        DispatchQueue.global().asyncAfter(wallDeadline: wall + .seconds(86_400)) { fired.value = true }
        sim.advance(by: .seconds(86_399))
        sim.expect(!fired.value)
        sim.advance(by: .seconds(1))
        sim.expect(fired.value)
        sim.expect(DispatchTime.now().uptimeNanoseconds == uptime + 86_400_000_000_000)
        sim.expect(DispatchWallTime.now() == wall + .seconds(86_400))
      }
    }
  }

  /// A source that reads byte by byte, and closes both ends when it is cancelled; and what it has read.
  private static func reader(
    of input: Int32, in sim: Simulation, closing output: Int32
  ) -> (any DispatchSourceRead, Box<[UInt8]>) {
    let received = Box<[UInt8]>([])
    let source = DispatchSource.makeReadSource(fileDescriptor: input, queue: DispatchQueue(label: "reader"))
    source.setEventHandler {
      var byte: UInt8 = 0
      sim.expect(read(input, &byte, 1) == 1)
      received.value.append(byte)
    }
    source.setCancelHandler {
      close(input)
      close(output)
    }
    source.resume()
    return (source, received)
  }

  @Test("A pipe or a socket pair inside of the process: its reader is told, and time stands still for that")
  func pipes() async {
    await #expect(processExitsWith: .success) {
      let runs = Box(0)
      try Simulation.check(runs: 100) { sim in
        runs.value += 1
        var ends: [Int32] = [0, 0]
        let isSocket = runs.value % 2 == 0
        sim.expect((isSocket ? socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) : pipe(&ends)) == 0)
        let (input, output) = (ends[0], ends[1])
        let (source, received) = Self.reader(of: input, in: sim, closing: output)
        for byte in 1...3 as ClosedRange<UInt8> {
          DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int(byte))) {
            var byte = byte
            sim.expect(write(output, &byte, 1) == 1)
          }
        }
        sim.advance(by: .seconds(2))
        sim.expect(received.value == [1, 2], "\(received.value)")
        sim.advance(by: .seconds(2))
        sim.expect(received.value == [1, 2, 3], "\(received.value)")
        source.cancel()
      }
    }
  }

  @Test("V1: what the body writes between two runs of all there is comes to its reader")
  func writesOfTheBody() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check(runs: 20) { sim in
        var ends: [Int32] = [0, 0]
        sim.expect(pipe(&ends) == 0)
        let (input, output) = (ends[0], ends[1])
        let (source, received) = Self.reader(of: input, in: sim, closing: output)
        sim.run()
        for byte in 1...3 as ClosedRange<UInt8> {
          var byte = byte
          sim.expect(write(output, &byte, 1) == 1)
          if byte == 3 { sim.advance(by: .seconds(1)) } else { sim.run() }
          sim.expect(received.value.count == byte, "\(received.value)")
        }
        source.cancel()
      }
    }
  }

  @Test("A run that has watched a descriptor leaves no descriptor of its own")
  func descriptorsAreClosed() async {
    await #expect(processExitsWith: .success) {
      try await OpenDescriptors.settle()
      var counts: [Int] = []
      for _ in 0..<3 {
        try Simulation.check(runs: 20) { sim in
          var ends: [Int32] = [0, 0]
          sim.expect(pipe(&ends) == 0)
          let (input, output) = (ends[0], ends[1])
          let source = DispatchSource.makeReadSource(fileDescriptor: input, queue: DispatchQueue(label: "reader"))
          source.setEventHandler {
            var byte: UInt8 = 0
            _ = read(input, &byte, 1)
          }
          source.setCancelHandler {
            close(input)
            close(output)
          }
          source.resume()
          var byte: UInt8 = 1
          sim.expect(write(output, &byte, 1) == 1)
          sim.run()
          source.cancel()
        }
        counts.append(OpenDescriptors.count)
      }
      try require(counts[0] == counts[2], "\(counts)")
    }
  }

  @Test("Timers that have not fired are counted, and dropped")
  func left() async {
    await #expect(processExitsWith: .success) {
      let report = try Simulation.check(runs: 3) { _ in
        for _ in 0..<4 { DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(9)) {} }
      }
      try require(report.timersLeft == 4)
    }
  }

  @Test("The process's own queues go on where they were")
  func realWorld() async {
    await #expect(processExitsWith: .success) {
      let queue = DispatchQueue(label: "real")
      let done = DispatchSemaphore(value: 0)
      queue.asyncAfter(deadline: .now() + .milliseconds(200)) { done.signal() }
      for _ in 0..<3 {
        try Simulation.check(runs: 5) { sim in
          DispatchQueue(label: "apart").async {}
          sim.run()
        }
        try require(queue.sync { 7 } == 7)
      }
      done.wait()
      let group = DispatchGroup()
      for _ in 0..<100 { DispatchQueue.global().async(group: group) {} }
      group.wait()
      // Nothing of it is in the real world.
      Simulation.yield()
      try require(DispatchTime.now().uptimeNanoseconds != 1_000_000_000_000)
    }
  }
}
