// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import Synchronization

/// What threads of the program's own have submitted beside simulations, and what has become of it.
final class Tally: Sendable {
  let submitted = Atomic<Int>(0)
  let done = Atomic<Int>(0)
  /// Groups and timers that did not come to their end in time.
  let late = Atomic<Int>(0)
  let isOver = Atomic<Bool>(false)
  let threadsLeft = Atomic<Int>(0)

  func submit() { submitted.wrappingAdd(1, ordering: .relaxed) }
  func finish() { done.wrappingAdd(1, ordering: .relaxed) }
}

/// A thread of the program's own that uses the library, whatever else the process does, with objects of its own.
final class Stranger: @unchecked Sendable {  // the thread's alone
  private static let patience = DispatchTimeInterval.seconds(40)

  private let tally: Tally
  private let serial: DispatchQueue
  private let concurrent: DispatchQueue

  private init(_ number: Int, _ tally: Tally) {
    self.tally = tally
    serial = DispatchQueue(label: "stranger \(number)")
    concurrent = DispatchQueue(label: "strangers \(number)", attributes: .concurrent)
  }

  /// Starts a thread that does rounds until the tally is over. Between them it is quiet for a moment, so that simulations begin.
  static func start(_ number: Int, _ tally: Tally) {
    tally.threadsLeft.wrappingAdd(1, ordering: .relaxed)
    startThread {
      let stranger = Stranger(number, tally)
      var round = 0
      while !tally.isOver.load(ordering: .acquiring) {
        stranger.work()
        round += 1
        usleep(UInt32((number * 7 + round * 13) % 5) * 1_000)
      }
      tally.threadsLeft.wrappingSubtract(1, ordering: .releasing)
    }
  }

  /// One round: items on queues of each kind, a group, a semaphore that hands items on, and timers.
  private func work() {
    let (group, turns) = (DispatchGroup(), DispatchSemaphore(value: 0))
    for _ in 0..<40 {
      for queue in [serial, concurrent, .global(), .global(qos: .utility)] {
        tally.submit()
        queue.async(group: group) { [tally] in tally.finish() }
      }
    }
    for queue in [serial, concurrent] { queue.sync {} }
    concurrent.async(group: group, flags: .barrier) { turns.signal() }
    if turns.wait(timeout: .now() + Self.patience) == .timedOut { missed() }
    for _ in 0..<4 {
      group.enter()
      tally.submit()
      serial.asyncAfter(deadline: .now() + .milliseconds(1)) { [tally] in
        tally.finish()
        group.leave()
      }
    }
    let timer = DispatchSource.makeTimerSource(queue: serial)
    group.enter()
    timer.setEventHandler { timer.cancel() }
    timer.setCancelHandler { group.leave() }
    timer.schedule(deadline: .now() + .milliseconds(2), repeating: .milliseconds(1))
    timer.resume()
    if group.wait(timeout: .now() + Self.patience) == .timedOut { missed() }
  }

  private func missed() { tally.late.wrappingAdd(1, ordering: .relaxed) }
}
