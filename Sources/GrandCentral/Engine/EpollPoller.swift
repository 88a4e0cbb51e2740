// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// What the poller's holder waits in: epoll, an event descriptor to interrupt it, and a kernel timer for each clock
/// that may step or run on while the machine sleeps.
///
/// Everything degrades when descriptors run out: without epoll the holder waits on a futex, without a kernel timer it
/// looks at that clock every `resort`. Both are tried again at each wait.
struct EpollPoller: ~Copyable, @unchecked Sendable {  // used by the holder alone, but for `interrupt`
  private enum Token {
    static let interruption: UInt64 = 0
    static let wallTimer: UInt64 = 1
    static let continuousTimer: UInt64 = 2
  }

  /// How often a clock without a kernel timer is looked at.
  private static let resort: UInt64 = 1_000_000_000

  /// The two descriptors without which there is nothing to wait in.
  private struct Core: ~Copyable {
    let epoll: Epoll
    let interruption: EventFD
  }

  private struct ClockTimer: ~Copyable {
    let timer: TimerFD
    var armedFor: UInt64 = .max
  }

  private typealias Slot = UnsafeMutablePointer<UnsafeMutablePointer<ClockTimer>?>

  /// A, written by the holder once
  private let core = Atomic<UnsafeMutableRawPointer?>(nil)
  /// The holder's own, one for the wall clock and one for the continuous clock; made when first needed.
  private let wall: Slot
  private let continuous: Slot
  private let events: UnsafeMutableBufferPointer<Epoll.Event>
  private let eventCount: UnsafeMutablePointer<Int>
  /// A: what the holder waits on without epoll; each interruption adds one.
  private let fallback = Atomic<UInt32>(0)
  /// The holder's own: `fallback` as it was when the role's deadlines were read.
  private let seenFallback: UnsafeMutablePointer<UInt32>

  init() {
    // unsafe: all of it lives as long as the engine.
    wall = .allocate(capacity: 1)
    wall.initialize(to: nil)
    continuous = .allocate(capacity: 1)
    continuous.initialize(to: nil)
    events = .allocate(capacity: Epoll.largestBatch)
    events.initialize(repeating: Epoll.Event(events: 0, token: 0))
    eventCount = .allocate(capacity: 1)
    eventCount.initialize(to: 0)
    seenFallback = .allocate(capacity: 1)
    seenFallback.initialize(to: 0)
  }

  private var readyCore: UnsafeMutablePointer<Core>? {
    // pairs with: makeCore – publishes the descriptors
    core.load(ordering: .acquiring)?.assumingMemoryBound(to: Core.self)
  }

  /// Whether an event other than a deadline can happen.
  var hasRegistrations: Bool { wall.pointee != nil || continuous.pointee != nil }

  /// Arms the kernel timers. Returns when, on the uptime clock, the wait must end.
  func prepare(_ timers: borrowing Timers) -> UInt64 {
    // relaxed: an interruption that comes later changes the word, so that the wait below does not begin.
    seenFallback.pointee = fallback.load(ordering: .relaxed)
    if readyCore == nil { makeCore() }
    var deadline = timers.earliest(on: .uptime)
    if !arm(wall, .wall, Token.wallTimer, timers.earliest(on: .wall)) {
      deadline = min(deadline, resort(timers.uptimeOfEarliest(on: .wall)))
    }
    if !arm(continuous, .continuous, Token.continuousTimer, timers.earliest(on: .continuous)) {
      deadline = min(deadline, resort(timers.uptimeOfEarliest(on: .continuous)))
    }
    return deadline
  }

  private func resort(_ instant: UInt64) -> UInt64 {
    min(instant, Clock.uptime.now().addingSaturated(Self.resort))
  }

  /// - Returns: false if the clock must be looked at without the kernel's help.
  private func arm(_ slot: Slot, _ clock: Clock, _ token: UInt64, _ instant: UInt64) -> Bool {
    if slot.pointee == nil {
      if instant == .max { return true }
      guard let core = readyCore, let made = TimerFD(clock: clock) else { return false }
      if core.pointee.epoll.add(made.descriptor.raw, [.readable, .edgeTriggered], token: token) != nil { return false }
      let timer = UnsafeMutablePointer<ClockTimer>.allocate(capacity: 1)
      timer.initialize(to: ClockTimer(timer: made))
      slot.pointee = timer
    }
    guard let timer = slot.pointee else { return false }
    if timer.pointee.armedFor == instant { return true }
    timer.pointee.armedFor = instant
    return timer.pointee.timer.arm(at: instant) == nil
  }

  private func makeCore() {
    guard let epoll = Epoll(), let interruption = EventFD() else { return }
    // Edge-triggered: each interruption is an edge, so nobody has to read the counter back.
    if epoll.add(interruption.descriptor.raw, [.readable, .edgeTriggered], token: Token.interruption) != nil { return }
    let made = UnsafeMutablePointer<Core>.allocate(capacity: 1)
    made.initialize(to: Core(epoll: epoll, interruption: interruption))
    // pairs with: readyCore – publishes the descriptors
    core.store(UnsafeMutableRawPointer(made), ordering: .releasing)
  }

  /// Waits for at most `timeout` nanoseconds; `max` is for ever.
  func wait(for timeout: UInt64) {
    if let core = readyCore {
      eventCount.pointee = core.pointee.epoll.wait(into: events, timeout: timeout)
    } else {
      eventCount.pointee = 0
      let deadline = timeout == .max ? Deadline.never : Deadline.after(timeout, on: .uptime)
      _ = withUnsafePointer(to: fallback) { Futex.wait($0, while: seenFallback.pointee, until: deadline) }
    }
  }

  /// Ends the holder's wait; any thread.
  func interrupt() {
    // seq-cst: counted before the look for epoll: a holder that waits without it has read the count before.
    fallback.wrappingAdd(1, ordering: .sequentiallyConsistent)
    if let core = readyCore {
      core.pointee.interruption.signal()
    } else {
      _ = withUnsafePointer(to: fallback) { Futex.wake($0) }
    }
  }

  /// Holder: notes what the last wait has brought.
  func dispatchEvents() {
    for index in 0..<max(0, eventCount.pointee) {
      switch events[index].token {
      case Token.wallTimer: acknowledge(wall)
      case Token.continuousTimer: acknowledge(continuous)
      default: break
      }
    }
    eventCount.pointee = 0
  }

  /// The kernel timer has expired, or its clock was set: it is armed anew from the wheel at the next wait.
  private func acknowledge(_ slot: Slot) {
    guard let timer = slot.pointee else { return }
    _ = timer.pointee.timer.acknowledge()
    timer.pointee.armedFor = .max
  }
}
