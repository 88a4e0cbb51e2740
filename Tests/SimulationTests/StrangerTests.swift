// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import GrandCentralTesting
import Synchronization
import Testing

// A stranger is a thread that takes no part in a simulation, and uses the library meanwhile.
@Suite("Strangers", .serialized, .timeLimit(.minutes(30)))
struct StrangerTests {
  @Test("Threads that use the library while simulations begin and end lose no item, and are named")
  func storm() async {
    await #expect(processExitsWith: .success) {
      let tally = Tally()
      for number in 0..<4 { Stranger.start(number, tally) }
      var counts = (escapes: 0, runs: 0, busy: 0)
      var rounds = 0
      while rounds < 300 || counts.escapes < 10, rounds < 1_000 {
        rounds += 1
        let report = Simulation.explore(runs: 3) { sim in
          let (queue, group, sum) = (DispatchQueue(label: "inside"), DispatchGroup(), Box(0))
          for _ in 0..<20 { queue.async(group: group) { sum.value += 1 } }
          DispatchQueue.global().async(group: group) { queue.sync { sum.value += 1 } }
          queue.asyncAfter(deadline: .now() + .seconds(60)) { sum.value += 1 }
          sleepInReality()
          sim.run()
          sim.expect(sum.value == 22 && sim.elapsed == .seconds(60), "\(sum.value) after \(sim.elapsed)")
        }
        counts.runs += report.runs
        switch report.failure?.reason {
        case nil: break
        case .busy: counts.busy += 1
        case .escape(let message):
          counts.escapes += 1
          try require(message.contains("which the simulation has not started, has used the library beside it"), message)
        default: throw report.failure ?? Unexpected() as any Error
        }
      }
      tally.isOver.store(true, ordering: .releasing)
      while tally.threadsLeft.load(ordering: .acquiring) > 0 { sleepInReality() }
      let (submitted, done) = (tally.submitted.load(ordering: .relaxed), tally.done.load(ordering: .relaxed))
      try require(done == submitted && tally.late.load(ordering: .relaxed) == 0, "\(done) of \(submitted), \(counts)")
      try require(counts.escapes >= 10 && submitted > 1_000, "\(counts), \(submitted) items in \(rounds) rounds")
      // The process is as it was.
      try require(DispatchQueue(label: "real").sync { 7 } == 7)
    }
  }

  @Test("A stranger's items run while the simulation goes on, also where the process had used no queue before")
  func served() async {
    await #expect(processExitsWith: .success) {
      for _ in 0..<3 {
        let shared = Shared()
        let (serial, group) = (DispatchQueue(label: "the stranger's"), DispatchGroup())
        startThread {
          nameCallingThread("outsider")
          while !shared.begins.load(ordering: .acquiring) { sleepInReality() }
          for queue in [serial, .global()] {
            for _ in 0..<100 {
              queue.async(group: group) { shared.ran.wrappingAdd(1, ordering: .relaxed) }
            }
          }
          serial.asyncAfter(deadline: .now() + .milliseconds(5)) { shared.ran.wrappingAdd(1, ordering: .relaxed) }
          group.wait()
          while shared.ran.load(ordering: .relaxed) < 201 { sleepInReality() }
          shared.ends.store(true, ordering: .releasing)
        }
        let report = Simulation.explore(runs: 3) { sim in
          shared.begins.store(true, ordering: .releasing)
          // Ten seconds of this, and the run is given up.
          while !shared.ends.load(ordering: .acquiring) { sleepInReality() }
          DispatchQueue(label: "inside").async {}
          sim.run()
        }
        guard case .escape(let message)? = report.failure?.reason else {
          throw report.failure ?? Unexpected() as any Error
        }
        try require(message.contains("\"outsider\"") && message.contains("on the queue \"the stranger's\""), message)
        try require(report.runs == 1 && shared.ran.load(ordering: .relaxed) == 201)
      }
    }
  }

  @Test("Channels beside a simulation are read to their ends, and so are those inside of it")
  func files() async {
    await #expect(processExitsWith: .success) {
      let tally = Tally()
      for number in 0..<2 {
        tally.threadsLeft.wrappingAdd(1, ordering: .relaxed)
        startThread {
          let queue = DispatchQueue(label: "reads \(number)")
          while !tally.isOver.load(ordering: .acquiring) {
            let group = DispatchGroup()
            readFile(on: queue, group) { tally.finish() }
            tally.submit()
            if group.wait(timeout: .now() + .seconds(40)) == .timedOut { tally.late.wrappingAdd(1, ordering: .relaxed) }
            sleepInReality()
          }
          tally.threadsLeft.wrappingSubtract(1, ordering: .releasing)
        }
      }
      var escapes = 0
      var rounds = 0
      while rounds < 60 || escapes == 0, rounds < 600 {
        rounds += 1
        let report = Simulation.explore(runs: 2) { sim in
          let (group, isRead) = (DispatchGroup(), Box(false))
          readFile(on: DispatchQueue(label: "inside"), group) { isRead.value = true }
          sleepInReality()
          sim.run()
          sim.expect(isRead.value)
        }
        switch report.failure?.reason {
        case nil, .busy: break
        case .escape: escapes += 1
        default: throw report.failure ?? Unexpected() as any Error
        }
      }
      tally.isOver.store(true, ordering: .releasing)
      while tally.threadsLeft.load(ordering: .acquiring) > 0 { sleepInReality() }
      let (submitted, done) = (tally.submitted.load(ordering: .relaxed), tally.done.load(ordering: .relaxed))
      try require(done == submitted && tally.late.load(ordering: .relaxed) == 0, "\(done) of \(submitted)")
      try require(escapes > 0)
    }
  }

  @Test("A thread that has waited since before is woken by a signal of the simulation")
  func signalled() async {
    await #expect(processExitsWith: .success) {
      let (semaphore, shared) = (DispatchSemaphore(value: 0), Shared())
      startThread {
        shared.thread.store(idOfCallingThread(), ordering: .releasing)
        semaphore.wait()
        shared.ends.store(true, ordering: .releasing)
      }
      while shared.thread.load(ordering: .acquiring) == 0 { sleepInReality() }
      try awaitSleep(ofThread: shared.thread.load(ordering: .relaxed))
      let report = Simulation.explore(runs: 1) { sim in
        DispatchQueue.global().async { semaphore.signal() }
        sim.run()
        while !shared.ends.load(ordering: .acquiring) { sleepInReality() }
      }
      try require(shared.ends.load(ordering: .acquiring), report.failure?.description ?? "")
    }
  }
}

/// Reads some of this program, and calls `done` at the end.
private func readFile(on queue: DispatchQueue, _ group: DispatchGroup, _ done: @escaping @Sendable () -> Void) {
  let file = open("/proc/self/exe", O_RDONLY)
  precondition(file >= 0)
  group.enter()
  DispatchIO.read(fromFileDescriptor: file, maxLength: 200_000, runningHandlerOn: queue) { data, error in
    if error == 0, data.count == 200_000 { done() }
    close(file)
    group.leave()
  }
}

private final class Shared: Sendable {
  let begins = Atomic<Bool>(false)
  let ends = Atomic<Bool>(false)
  let ran = Atomic<Int>(0)
  let thread = Atomic<UInt32>(0)
}

private func nameCallingThread(_ name: String) {
  guard let file = fopen("/proc/thread-self/comm", "w") else { return }
  fputs(name, file)
  fclose(file)
}

/// The kernel's id.
private func idOfCallingThread() -> UInt32 {
  var path = [CChar](repeating: 0, count: 64)
  let count = readlink("/proc/thread-self", &path, 63)
  let text = String(decoding: path[..<max(0, count)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  return text.split(separator: "/").last.flatMap { UInt32($0) } ?? 0
}

/// Waits until the kernel says that the thread sleeps.
private func awaitSleep(ofThread id: UInt32) throws {
  while true {
    let file = try unwrap(fopen("/proc/self/task/\(id)/stat", "r"))
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = fread(&bytes, 1, 255, file)
    let text = String(decoding: bytes[..<count], as: UTF8.self)
    if text.split(separator: ")").last?.hasPrefix(" S") ?? false { return }
    sleepInReality()
  }
}
