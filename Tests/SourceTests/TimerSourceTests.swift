// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

@Suite("A timer source")
struct TimerSourceTests {
  @Test("S7: a one-shot timer fires once, and never early", arguments: [false, true])
  func oneShot(usesWallClock: Bool) {
    let queue = DispatchQueue(label: "timer")
    let timer = DispatchSource.makeTimerSource(queue: queue)
    let (fires, lateness, fired) = (Recorder<UInt>(), Recorder<Int64>(), Latch())
    let due = DispatchTime.now() + .milliseconds(30)
    let wallDue = DispatchWallTime.now() + .milliseconds(30)
    timer.setEventHandler {
      let passed = usesWallClock ? wallDue.distance(to: .now()) : due.distance(to: .now())
      if case .nanoseconds(let late) = passed { lateness.note(Int64(late)) }
      fires.note(timer.data)
      fired.open()
    }
    if usesWallClock { timer.schedule(wallDeadline: wallDue) } else { timer.schedule(deadline: due) }
    timer.activate()
    #expect(fired.wait())
    queue.sync {}
    #expect(fires.values == [1])
    #expect(lateness.values.allSatisfy { $0 >= 0 }, "\(lateness.values)")
    timer.cancel()
  }

  @Test("S7: a repeating timer does not drift: every fire comes after its own instant, and none is lost")
  func noDrift() {
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "timer"))
    let start = DispatchTime.now() + .milliseconds(5)
    let (total, early, done) = (Counter(), Counter(), Latch())
    timer.setEventHandler {
      let fires = total.add(Int(timer.data))
      let due = start + .milliseconds(2 * (fires - 1))
      if DispatchTime.now() < due { early.add() }
      if fires >= 50 { done.open() }
    }
    timer.schedule(deadline: start, repeating: .milliseconds(2))
    timer.activate()
    #expect(done.wait())
    timer.cancel()
    let elapsed = Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 2e6
    #expect(early.value == 0)
    // The count follows the clock, whatever the machine was doing.
    #expect(Double(total.value) <= elapsed + 1)
  }

  @Test("S7: a handler that takes longer than the interval loses no fire: fire k is due at the start and k intervals")
  func slowHandler() {
    let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "timer"))
    let (start, interval) = (DispatchTime.now(), UInt64(4_000_000))
    // The queue's alone.
    let (total, calls, ended) = (Unprotected<UInt64>(0), Unprotected(0), Unprotected<UInt64>(0))
    let (lost, done) = (Counter(), Latch())
    timer.setEventHandler {
      total.value += UInt64(timer.data)
      calls.value += 1
      // All that was due when the last call returned has been counted.
      if calls.value > 1, total.value < ended.value / interval + 1 { lost.add() }
      if calls.value == 10 {
        done.open()
        return
      }
      let begin = DispatchTime.now().uptimeNanoseconds
      while DispatchTime.now().uptimeNanoseconds < begin + interval * 3 / 2 {}
      ended.value = DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds
    }
    timer.schedule(deadline: start, repeating: .nanoseconds(Int(interval)))
    timer.activate()
    #expect(done.wait())
    timer.cancel()
    #expect(lost.value == 0)
  }

  @Test("S7: fires that a slow handler or a suspension misses are counted, in one call")
  func missedFires() {
    let queue = DispatchQueue(label: "timer")
    let timer = DispatchSource.makeTimerSource(queue: queue)
    let fires = Recorder<UInt>()
    timer.setEventHandler { fires.note(timer.data) }
    let start = DispatchTime.now()
    timer.schedule(deadline: start, repeating: .milliseconds(1))
    timer.suspend()
    timer.activate()
    _ = eventually { DispatchTime.now() >= start + .milliseconds(40) }
    #expect(fires.values == [])
    timer.resume()
    waitFor { fires.count >= 1 }
    timer.cancel()
    #expect(fires.values.first ?? 0 >= 40)
  }

  @Test("S7: scheduling anew takes back what was pending, also from inside the handler")
  func rescheduling() {
    let queue = DispatchQueue(label: "timer")
    let timer = DispatchSource.makeTimerSource(queue: queue)
    let (fires, again) = (Recorder<UInt>(), Latch())
    timer.schedule(deadline: .now())
    timer.suspend()
    timer.setEventHandler {
      fires.note(timer.data)
      if fires.count < 3 { timer.schedule(deadline: .now() + .milliseconds(5)) } else { again.open() }
    }
    timer.activate()
    timer.schedule(deadline: .distantFuture)
    timer.resume()
    queue.sync {}
    #expect(fires.values == [])
    timer.schedule(deadline: .now())
    #expect(again.wait())
    queue.sync {}
    #expect(fires.values == [1, 1, 1])
    timer.cancel()
  }

  @Test("S7: a timer scheduled from several threads while it fires ends up with one schedule")
  func racingSchedules() {
    let queue = DispatchQueue(label: "timer")
    let timer = DispatchSource.makeTimerSource(queue: queue)
    let fires = Counter()
    timer.setEventHandler { fires.add() }
    timer.activate()
    PlainThread.concurrently(3) { index in
      for round in 0..<2_000 { timer.schedule(deadline: .now() + .microseconds((round * 7 + index) % 50)) }
    }
    timer.schedule(deadline: .distantFuture)
    queue.sync {}
    let before = fires.value
    timer.schedule(deadline: .now())
    waitFor { fires.value > before }
    queue.sync {}
    #expect(fires.value == before + 1)
    timer.cancel()
  }

  @Test("S7: cancelling while the timer fires delivers nothing afterwards")
  func racingCancellations() {
    let queue = DispatchQueue(label: "timer")
    for _ in 0..<300 {
      let timer = DispatchSource.makeTimerSource(queue: queue)
      let (after, cancelled, ended) = (Counter(), Latch(), Latch())
      timer.setEventHandler { if cancelled.isOpen { after.add() } }
      timer.setCancelHandler {
        cancelled.open()
        ended.open()
      }
      timer.schedule(deadline: .now(), repeating: .microseconds(20))
      timer.activate()
      timer.cancel()
      #expect(ended.wait())
      #expect(after.value == 0)
    }
  }

  /// Tells when the handler has gone that keeps it.
  private final class Witness: Sendable {
    let died: Latch
    init(_ died: Latch) { self.died = died }
    deinit { died.open() }
  }

  /// A timer that has been activated; `died` opens when it has ended.
  private func startTimer(_ queue: DispatchQueue, _ fires: Counter, _ died: Latch) -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    let witness = Witness(died)
    timer.setEventHandler { withExtendedLifetime(witness) { _ = fires.add() } }
    timer.schedule(deadline: .now())
    timer.activate()
    return timer
  }

  @Test("O3: a timer ends with its last fire, or with the program's last reference if that goes later")
  func endsWithoutCancellation() {
    let (queue, fires, before, after) = (DispatchQueue(label: "timer"), Counter(), Latch(), Latch())
    _ = startTimer(queue, fires, before)
    #expect(before.wait())
    #expect(fires.value == 1)
    func keepWhileItFires() {
      withExtendedLifetime(startTimer(queue, fires, after)) {
        waitFor { fires.value == 2 }
        queue.sync {}
        #expect(!after.isOpen)
      }
    }
    keepWhileItFires()
    #expect(after.wait())
  }

  @Test("O3, S5, S7: a timer that has fired keeps itself again when it is scheduled or announced anew")
  func wakesUp() {
    let (queue, fires, registered, died) = (DispatchQueue(label: "timer"), Counter(), Latch(), Latch())
    func wake() {
      let timer = startTimer(queue, fires, died)
      waitFor { fires.value == 1 }
      queue.sync {}
      timer.suspend()
      timer.resume()
      timer.setRegistrationHandler { registered.open() }
      #expect(registered.wait())
      queue.sync {}
      timer.schedule(deadline: .now() + .milliseconds(5))
    }
    wake()
    #expect(died.wait())
    #expect(fires.value == 2)
  }

  @Test("S4: a timer that has fired is cancelled as any other")
  func cancelledAfterFiring() {
    let (queue, fires, cancels, died) = (DispatchQueue(label: "timer"), Counter(), Counter(), Latch())
    func cancel() {
      let timer = startTimer(queue, fires, died)
      waitFor { fires.value == 1 }
      queue.sync {}
      timer.setCancelHandler { cancels.add() }
      timer.cancel()
      timer.cancel()
    }
    cancel()
    #expect(died.wait())
    queue.sync {}
    #expect(cancels.value == 1)
  }

  @Test("S7: the spellings of old")
  @available(*, deprecated)
  func oldSpellings() {
    let timer = DispatchSource.makeTimerSource(flags: .strict, queue: .global())
    let fired = Latch(3)
    timer.setEventHandler { fired.open() }
    timer.scheduleRepeating(deadline: .now(), interval: 0.001)
    timer.activate()
    #expect(fired.wait())
    timer.scheduleOneshot(wallDeadline: .now())
    timer.scheduleOneshot(deadline: .now(), leeway: .milliseconds(1))
    timer.scheduleRepeating(wallDeadline: .now(), interval: .milliseconds(1))
    timer.cancel()
  }

  @Test("S7: a leeway without end is none", arguments: [DispatchTimeInterval.never, .seconds(.max)])
  func endlessLeeway(leeway: DispatchTimeInterval) {
    let timer = DispatchSource.makeTimerSource()
    let fired = Latch()
    timer.setEventHandler { fired.open() }
    timer.schedule(deadline: .now() + .milliseconds(1), leeway: leeway)
    timer.activate()
    #expect(fired.wait())
    timer.cancel()
  }

  @Test("S7: timers with leeway share their wake-ups")
  func leewayCoalesces() {
    let queue = DispatchQueue(label: "timers")
    let (instants, done) = (Recorder<UInt64>(), Latch(200))
    let timers = (0..<100).map { index in
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.schedule(
        deadline: .now() + .milliseconds(index), repeating: .milliseconds(200), leeway: .milliseconds(100))
      timer.setEventHandler {
        instants.note(monotonicNanoseconds())
        done.open()
      }
      timer.activate()
      return timer
    }
    #expect(done.wait())
    for timer in timers { timer.cancel() }
    // Fires that are less than a millisecond apart came with one wake-up.
    let sorted = instants.values.sorted()
    let groups = zip(sorted, sorted.dropFirst()).filter { $1 - $0 > 1_000_000 }.count + 1
    #expect(groups * 4 < sorted.count, "\(sorted.count) fires in \(groups) groups")
  }
}
