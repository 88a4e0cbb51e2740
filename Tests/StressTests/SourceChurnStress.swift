// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("Sources under stress", .serialized)
struct SourceChurnStress {
  /// What one pipe's life must add up to. Its token is what is written into it, and nothing else may be read from it.
  private struct Pipe: Sendable {
    let reading: Int32
    let writing: Int32
    let token: UInt64
    let received = Counter()
    let foreign = Counter()
    let late = Counter()
    let ended = Latch()

    init(token: UInt64, isSocket: Bool) {
      guard let ends = isSocket ? Kernel.closeOnExecSockets() : Kernel.closeOnExecPipe() else {
        preconditionFailure("descriptors: \(errno)")
      }
      (reading, writing) = ends
      for end in [reading, writing] { _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK) }
      self.token = token
    }

    func send() {
      var token = token
      precondition(write(writing, &token, 8) == 8)
    }

    /// Reads one token, so that the rest is left for the next event.
    func receive() {
      if ended.isOpen { late.add() }
      var found: UInt64 = 0
      guard read(reading, &found, 8) == 8 else { return }
      if found == token { received.add() } else { foreign.add() }
    }

    func end() {
      close(reading)
      close(writing)
      ended.open()
    }
  }

  @Test("S4, S10: eight threads register, cancel, close and reuse descriptors; no event is lost or goes astray")
  func churn() {
    let seed = Stress.seed("source churn")
    let deadline = Stress.deadline()
    let failures = Recorder<String>()
    PlainThread.concurrently(8) { thread in
      var random = SeededRandom(seed: seed &+ UInt64(thread))
      let queues = [DispatchQueue(label: "a"), DispatchQueue(label: "b", attributes: .concurrent), .global()]
      repeat {
        let pipe = Pipe(token: random.next(), isSocket: random.oneIn(2))
        let source = DispatchSource.makeReadSource(fileDescriptor: pipe.reading, queue: queues[random.below(3)])
        source.setEventHandler { pipe.receive() }
        source.setCancelHandler { pipe.end() }
        // A second watch of the same descriptor comes and goes beside the first.
        let room = random.oneIn(3) ? DispatchSource.makeWriteSource(fileDescriptor: pipe.writing) : nil
        let roomEnded = Latch()
        room?.setEventHandler { [weak room] in room?.cancel() }
        room?.setCancelHandler { roomEnded.open() }
        room?.activate()
        let count = random.below(20)
        let isPatient = !random.oneIn(3)
        let before = random.below(count + 1)
        for _ in 0..<before { pipe.send() }
        source.activate()
        for index in before..<count {
          pipe.send()
          if random.oneIn(8) {
            source.suspend()
            if random.oneIn(2) { source.setTarget(queue: queues[index % 3]) }
            source.resume()
          }
        }
        if isPatient, !eventually({ pipe.received.value + pipe.foreign.value >= count }) {
          failures.note("seed \(seed): \(pipe.received.value) of \(count) events on \(pipe.reading)")
        }
        if let room {
          room.cancel()
          if !roomEnded.wait() { failures.note("seed \(seed): a write source did not end") }
        }
        source.cancel()
        if !pipe.ended.wait() { failures.note("seed \(seed): a read source did not end") }
        if pipe.foreign.value + pipe.late.value > 0 || pipe.received.value > count {
          failures.note("seed \(seed): \(pipe.foreign.value) foreign, \(pipe.late.value) late events")
        }
      } while Stress.runs(until: deadline) && failures.count == 0
    }
    #expect(failures.values == [])
  }

  @Test("S2, S4, S7: timers scheduled, suspended and cancelled at random never fire beside themselves or too late")
  func timers() {
    let seed = Stress.seed("timer source churn")
    let deadline = Stress.deadline()
    let failures = Recorder<String>()
    PlainThread.concurrently(4) { thread in
      var random = SeededRandom(seed: seed &+ UInt64(thread))
      let queue = DispatchQueue(label: "timers", attributes: .concurrent)
      repeat {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        let (inside, fires, ended) = (Counter(), Counter(), Latch())
        timer.setEventHandler {
          if inside.add() != 1 || ended.isOpen { failures.note("seed \(seed): beside itself, or after the end") }
          if timer.data == 0 { failures.note("seed \(seed): fired for nothing") }
          fires.add()
          inside.add(-1)
        }
        timer.setCancelHandler { ended.open() }
        timer.activate()
        for _ in 0..<random.below(30) {
          switch random.below(5) {
          case 0:
            timer.suspend()
            timer.resume()
          case 1: timer.schedule(wallDeadline: .now() + .microseconds(random.below(200)))
          case 2: timer.schedule(deadline: .now(), repeating: .microseconds(50 + random.below(200)))
          default: timer.schedule(deadline: .now() + .microseconds(random.below(100)), leeway: .microseconds(50))
          }
        }
        let before = fires.value
        timer.schedule(deadline: .now(), repeating: .microseconds(100))
        if !eventually({ fires.value > before }) { failures.note("seed \(seed): a timer never fired") }
        timer.cancel()
        if !ended.wait() { failures.note("seed \(seed): a timer did not end") }
      } while Stress.runs(until: deadline) && failures.count == 0
    }
    #expect(failures.values == [])
  }
}
