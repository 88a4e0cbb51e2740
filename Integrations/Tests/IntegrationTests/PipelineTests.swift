// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralOpenCombine
import GrandCentralTesting
import OpenCombine
import Synchronization
import Testing

/// A pipeline's source and what came out of it, with the milliseconds of virtual time. All of it happens on one queue.
private final class Pipeline<Output>: @unchecked Sendable {  // why: touched on `queue`, and when nothing runs
  let queue = DispatchQueue(label: "pipeline")
  let words = PassthroughSubject<Int, Never>()
  var seen: [(at: Int, what: Output)] = []
  var keep: Set<AnyCancellable> = []
  private let begin = DispatchTime.now()

  /// Sends each value at its millisecond.
  func send(_ values: [(at: Int, value: Int)]) {
    for (at, value) in values {
      queue.asyncAfter(deadline: begin + .milliseconds(at)) { self.words.send(value) }
    }
  }

  func note(_ what: Output) {
    dispatchPrecondition(condition: .onQueue(queue))
    let passed = DispatchTime.now().uptimeNanoseconds - begin.uptimeNanoseconds
    seen.append((Int(passed / 1_000_000), what))
  }

  var lines: [String] { seen.map { "\($0.at): \($0.what)" } }
}

extension Simulation {
  fileprivate func expect<Output>(_ pipeline: Pipeline<Output>, _ lines: [String]) {
    expect(pipeline.lines == lines, "came out: \(pipeline.lines)")
  }
}

/// The pipeline's result in many schedules, in a process that does nothing else.
@Suite("Queues of ours schedule OpenCombine's pipelines, under virtual time", .serialized, .timeLimit(.minutes(2)))
struct PipelineTests {
  @Test("delay: each value so much later, in order")
  func delay() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check { sim in
        let all = Pipeline<Int>()
        all.words.delay(for: .milliseconds(50), scheduler: all.queue).sink { all.note($0) }.store(in: &all.keep)
        all.send([(10, 1), (11, 2), (200, 3)])
        sim.run()
        sim.expect(all, ["60: 1", "61: 2", "250: 3"])
      }
    }
  }

  @Test("debounce: the last value, once it has been quiet for so long")
  func debounce() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check { sim in
        let all = Pipeline<Int>()
        all.words.debounce(for: .milliseconds(30), scheduler: all.queue).sink { all.note($0) }.store(in: &all.keep)
        all.send([(10, 1), (20, 2), (45, 3), (100, 4)])
        sim.run()
        sim.expect(all, ["75: 3", "130: 4"])
      }
    }
  }

  @Test("throttle: one value in each interval, the latest or the first")
  func throttle() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check { sim in
        for (latest, lines) in [(true, ["10: 1", "110: 4"]), (false, ["10: 1", "110: 2"])] {
          let all = Pipeline<Int>()
          all.words.throttle(for: .milliseconds(100), scheduler: all.queue, latest: latest)
            .sink { all.note($0) }.store(in: &all.keep)
          all.send([(10, 1), (20, 2), (30, 3), (40, 4)])
          sim.run()
          sim.expect(all, lines)
        }
      }
    }
  }

  @Test("measureInterval: the time between values")
  func measureInterval() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check { sim in
        let all = Pipeline<Int>()
        all.words.measureInterval(using: all.queue).sink { all.note($0.magnitude / 1_000_000) }.store(in: &all.keep)
        all.send([(10, 1), (15, 2), (115, 3)])
        sim.run()
        sim.expect(all, ["10: 10", "15: 5", "115: 100"])
      }
    }
  }

  @Test("timeout: the end, once nothing has come for so long")
  func timeout() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check { sim in
        let all = Pipeline<Int>()
        all.words.timeout(.milliseconds(100), scheduler: all.queue)
          .sink { _ in
            all.note(-1)
          } receiveValue: {
            all.note($0)
          }.store(in: &all.keep)
        all.send([(10, 1), (20, 2), (50, 3), (500, 4)])
        // Its timer goes on after the end.
        sim.advance(by: .milliseconds(600))
        sim.expect(all, ["10: 1", "20: 2", "50: 3", "150: -1"])
      }
    }
  }

  @Test("a timer: at the date, at each interval, until it is cancelled")
  func timer() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check { sim in
        let all = Pipeline<Int>()
        let start = all.queue.now.advanced(by: .milliseconds(5))
        var ticks = 0
        var timer: (any Cancellable)?
        timer = all.queue.schedule(after: start, interval: .milliseconds(10)) {
          ticks += 1
          all.note(ticks)
          if ticks == 4 { timer?.cancel() }
        }
        sim.run()
        sim.expect(all, ["5: 1", "15: 2", "25: 3", "35: 4"])
        withExtendedLifetime(timer) {}
      }
    }
  }

  @Test("a group is left when its action has run, at once or later")
  func group() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check { sim in
        let all = Pipeline<Int>()
        let group = DispatchGroup()
        let options = DispatchQueue.SchedulerOptions(qos: .utility, group: group)
        all.queue.schedule(options: options) { all.note(1) }
        all.queue.schedule(after: all.queue.now.advanced(by: 1), tolerance: 0, options: options) { all.note(2) }
        group.notify(queue: all.queue) { all.note(3) }
        sim.run()
        sim.expect(all, ["0: 1", "1000: 2", "1000: 3"])
      }
    }
  }

  @Test("flags: a barrier runs alone, at once or later")
  func barrier() async {
    await #expect(processExitsWith: .success) {
      try Simulation.check { sim in
        let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
        let alone = DispatchQueue.SchedulerOptions(flags: .barrier)
        let inside = Atomic(0)
        let runs = Atomic(0)
        let action = { @Sendable in
          let before = inside.add(1, ordering: .sequentiallyConsistent).oldValue
          sim.expect(before == 0, "two actions at a time")
          Simulation.yield()
          inside.subtract(1, ordering: .sequentiallyConsistent)
          runs.add(1, ordering: .sequentiallyConsistent)
        }
        for _ in 0..<3 {
          queue.schedule(options: alone, action)
          queue.schedule(after: queue.now.advanced(by: 1), tolerance: 0, options: alone, action)
        }
        sim.run()
        sim.expect(runs.load(ordering: .sequentiallyConsistent) == 6, "not all have run")
      }
    }
  }
}
