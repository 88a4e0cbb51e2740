// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// A timer on a serial queue of its own, with its events in `fires`.
private final class Probe: @unchecked Sendable {  // set before the timer begins; then its queue's alone
  let queue = DispatchQueue(label: "timer")
  let timer: any DispatchSourceTimer
  let fires = Log()
  let cancelled = Latch()
  /// Called in the handler, after the event has been noted.
  var onFire: (Probe) -> Void = { _ in }

  init(flags: DispatchSource.TimerFlags = []) {
    timer = DispatchSource.makeTimerSource(flags: flags, queue: queue)
    timer.setEventHandler { [unowned self] in
      fires.add("\(timer.data)")
      onFire(self)
    }
    timer.setCancelHandler { [unowned self] in cancelled.open() }
  }

  func pause(_ milliseconds: Int) { Differential.pause(milliseconds, on: queue) }

  /// Cancels, and waits for the cancel handler.
  func end() {
    timer.cancel()
    cancelled.wait()
    say("cancelled", timer.isCancelled)
  }
}

private func firesOnce(
  _ name: String, flags: DispatchSource.TimerFlags = [], _ schedule: @escaping (any DispatchSourceTimer) -> Void
)
  -> (String, () -> Void)
{
  (
    name,
    {
      let probe = Probe(flags: flags)
      let fired = Latch()
      probe.onFire = { _ in fired.open() }
      schedule(probe.timer)
      probe.timer.resume()
      fired.wait()
      probe.pause(60)
      probe.fires.show("fires:")
      probe.end()
    }
  )
}

private func neverFires(_ name: String, _ schedule: @escaping (any DispatchSourceTimer) -> Void) -> (String, () -> Void)
{
  (
    name,
    {
      let probe = Probe()
      schedule(probe.timer)
      probe.timer.resume()
      probe.pause(80)
      probe.fires.show("fires:")
      probe.end()
    }
  )
}

private func firesAgain(
  _ name: String, flags: DispatchSource.TimerFlags = [], _ schedule: @escaping (any DispatchSourceTimer) -> Void
)
  -> (String, () -> Void)
{
  (
    name,
    {
      let probe = Probe(flags: flags)
      let fired = Latch()
      probe.onFire = { probe in
        if probe.fires.count == 4 {
          probe.timer.cancel()
          fired.open()
        }
      }
      schedule(probe.timer)
      probe.timer.resume()
      fired.wait()
      probe.cancelled.wait()
      probe.pause(40)
      say("handlers", probe.fires.count, "fires at least that", probe.fires.all.allSatisfy { Int($0)! >= 1 })
    }
  )
}

let timerScenarios: [(String, () -> Void)] = [
  firesOnce("timer one-shot") { $0.schedule(deadline: .now() + .milliseconds(10)) },
  firesOnce("timer now") { $0.schedule(deadline: .now()) },
  firesOnce("timer past") { $0.schedule(deadline: .now() - 5) },
  firesOnce("timer at zero") { $0.schedule(deadline: DispatchTime(uptimeNanoseconds: 0)) },
  firesOnce("timer wall one-shot") { $0.schedule(wallDeadline: .now() + .milliseconds(10)) },
  firesOnce("timer wall past") { $0.schedule(wallDeadline: .now() - 5) },
  firesOnce("timer leeway") { $0.schedule(deadline: .now() + .milliseconds(5), leeway: .milliseconds(20)) },
  firesOnce("timer leeway never") { $0.schedule(deadline: .now() + .milliseconds(5), leeway: .never) },
  firesOnce("timer strict", flags: .strict) { $0.schedule(deadline: .now() + .milliseconds(5), leeway: .seconds(10)) },
  firesOnce("timer repeating never") { $0.schedule(deadline: .now() + .milliseconds(5), repeating: .never) },
  firesOnce("timer repeating infinity") { $0.schedule(deadline: .now() + .milliseconds(5), repeating: .infinity) },
  firesOnce("timer long interval") { $0.schedule(deadline: .now(), repeating: .seconds(1000)) },
  firesOnce("timer missed fires") { $0.schedule(deadline: .now() - 3500, repeating: .seconds(1000), leeway: .never) },
  firesOnce("timer missed wall fires") {
    $0.schedule(wallDeadline: .now() - 3500, repeating: 1000, leeway: .seconds(0))
  },
  firesOnce("timer scheduled twice") {
    $0.schedule(deadline: .now(), repeating: .milliseconds(1))
    $0.schedule(deadline: .now() + .milliseconds(20))
  },
  firesOnce("timer brought forward") {
    $0.schedule(deadline: .distantFuture)
    $0.schedule(deadline: .now())
  },
  neverFires("timer distant future") { $0.schedule(deadline: .distantFuture) },
  neverFires("timer wall distant future") { $0.schedule(wallDeadline: .distantFuture) },
  neverFires("timer distant future repeating") { $0.schedule(deadline: .distantFuture, repeating: .milliseconds(1)) },
  neverFires("timer without schedule") { _ in },
  neverFires("timer put off") {
    $0.schedule(deadline: .now() + .milliseconds(1), repeating: .milliseconds(1))
    $0.schedule(deadline: .distantFuture)
  },
  firesAgain("timer repeating") { $0.schedule(deadline: .now(), repeating: .milliseconds(3)) },
  firesAgain("timer repeating, seconds") { $0.schedule(deadline: .now() + 0.002, repeating: 0.003) },
  firesAgain("timer wall repeating") { $0.schedule(wallDeadline: .now(), repeating: .milliseconds(3)) },
  firesAgain("timer repeating, strict", flags: .strict) { $0.schedule(deadline: .now(), repeating: .milliseconds(3)) },
  firesAgain("timer repeating, leeway") {
    $0.schedule(deadline: .now(), repeating: .milliseconds(3), leeway: .milliseconds(5))
  },
  firesAgain("timer interval zero") { $0.schedule(deadline: .now(), repeating: .nanoseconds(0)) },
  (
    "timer rescheduled in its handler",
    {
      let probe = Probe()
      let fired = Latch()
      probe.onFire = { probe in
        if probe.fires.count == 3 { fired.open() } else { probe.timer.schedule(deadline: .now() + .milliseconds(2)) }
      }
      probe.timer.schedule(deadline: .now())
      probe.timer.resume()
      fired.wait()
      probe.pause(40)
      probe.fires.show("fires:")
      probe.end()
    }
  ),
  (
    "timer suspended",
    {
      let probe = Probe()
      let fired = Latch()
      probe.onFire = { _ in fired.open() }
      probe.timer.schedule(deadline: .now() - 3500, repeating: .seconds(1000))
      probe.timer.resume()
      fired.wait()
      probe.timer.suspend()
      probe.timer.schedule(deadline: .now() - 4500, repeating: .seconds(1000))
      probe.pause(30)
      probe.fires.show("suspended:")
      let again = Latch()
      probe.onFire = { _ in again.open() }
      probe.timer.resume()
      again.wait()
      probe.fires.show("resumed:")
      probe.end()
    }
  ),
  (
    "timer cancelled in its handler",
    {
      let probe = Probe()
      probe.onFire = { probe in
        probe.timer.cancel()
        say("inside", probe.timer.isCancelled)
      }
      probe.timer.schedule(deadline: .now(), repeating: .milliseconds(1))
      probe.timer.resume()
      probe.cancelled.wait()
      probe.pause(20)
      say("handlers", probe.fires.count)
    }
  ),
  (
    "timer cancelled before it is resumed",
    {
      let probe = Probe()
      probe.timer.schedule(deadline: .now())
      probe.timer.cancel()
      probe.timer.resume()
      probe.cancelled.wait()
      probe.pause(20)
      probe.fires.show("fires:")
    }
  ),
  (
    "timer cancelled while suspended",
    {
      let probe = Probe()
      probe.timer.resume()
      probe.timer.suspend()
      probe.timer.cancel()
      say("cancelled", probe.timer.isCancelled)
      probe.timer.resume()
      probe.cancelled.wait()
      probe.fires.show("fires:")
    }
  ),
  (
    "timer handler replaced",
    {
      let probe = Probe()
      let (log, done) = (Log(), Latch())
      probe.timer.setRegistrationHandler { log.add("registered") }
      probe.timer.setEventHandler {
        log.add("first")
        probe.timer.setEventHandler {
          log.add("second")
          probe.timer.cancel()
        }
        probe.timer.schedule(deadline: .now())
      }
      probe.timer.setCancelHandler {
        log.add("cancelled")
        done.open()
      }
      probe.timer.schedule(deadline: .now())
      probe.timer.activate()
      done.wait()
      log.show("handlers:")
    }
  ),
  (
    "timer properties",
    {
      let probe = Probe()
      say("handle", probe.timer.handle, "mask", probe.timer.mask, "data", probe.timer.data, probe.timer.isCancelled)
      probe.timer.resume()
      probe.end()
    }
  ),
  (
    "timers in the order of their deadlines",
    {
      let queue = DispatchQueue(label: "after")
      let (log, done) = (Log(), Latch())
      for delay in [120, 60, 0, 180] {
        queue.asyncAfter(deadline: .now() + .milliseconds(delay)) { log.add(delay) }
      }
      queue.asyncAfter(deadline: .distantFuture) { log.add("never") }
      queue.asyncAfter(wallDeadline: .distantFuture) { log.add("never, wall") }
      queue.asyncAfter(deadline: .now() + .milliseconds(240)) { done.open() }
      done.wait()
      log.show("order:")
    }
  ),
]
