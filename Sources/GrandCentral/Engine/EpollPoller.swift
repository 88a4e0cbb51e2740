// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// What the poller's holder waits in: epoll, an event descriptor to interrupt it, and a kernel timer for each clock
/// that may step or run on while the machine sleeps.
///
/// Everything degrades when descriptors run out: without epoll the holder waits on a futex, without a kernel timer it
/// looks at that clock every `resort`. Both are tried again at each wait.
struct EpollPoller: ~Copyable, @unchecked Sendable {  // the holder's own, but for what is atomic
  /// The poller's own tokens; those of the descriptor table differ.
  private enum Token {
    static let interruption: UInt64 = 0
    static let wallTimer: UInt64 = 1
    static let continuousTimer: UInt64 = 2
  }

  /// How often a clock without a kernel timer is looked at.
  private static let resort: UInt64 = 1_000_000_000

  private struct ClockTimer: ~Copyable {
    let timer: TimerFD
    var armedFor: UInt64 = .max
  }

  private typealias Slot = UnsafeMutablePointer<UnsafeMutablePointer<ClockTimer>?>

  /// A, made once: where the epoll is, and the number of the event descriptor plus one, which comes first. The epoll
  /// in that place is replaced by the holder, under the descriptor table's lock.
  private let place = Atomic<UnsafeMutableRawPointer?>(nil)
  private let interruption = Atomic<Int32>(0)
  private let making = Lock()
  /// The holder's own, one for the wall clock and one for the continuous clock; made when first needed.
  private let wall: Slot
  private let continuous: Slot
  /// A, written by the holder: counts the waits, each before it begins.
  private let waits = Atomic<UInt64>(0)
  private let events: UnsafeMutableBufferPointer<Epoll.Event>
  private let eventCount: UnsafeMutablePointer<Int>
  /// A: what the holder waits on without epoll; each interruption adds one.
  private let fallback = Atomic<UInt32>(0)
  /// The holder's own: `fallback` as it was when the role's deadlines were read.
  private let seenFallback: UnsafeMutablePointer<UInt32>

  init() {
    // unsafe: all of it lives as long as the poller.
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

  /// One that was made at the same time as another, and not used.
  deinit {
    wall.deallocate()
    continuous.deallocate()
    events.deallocate()
    eventCount.deallocate()
    seenFallback.deallocate()
  }

  /// What to register with, once there is something.
  var epoll: UnsafeMutablePointer<Epoll>? {
    // pairs with: makeReady – publishes the descriptors
    place.load(ordering: .acquiring)?.assumingMemoryBound(to: Epoll.self)
  }

  /// The number of the wait that has begun last. For the holder: of the one that has brought the events.
  var newestWait: UInt64 {
    // relaxed: see `wait`.
    waits.load(ordering: .relaxed)
  }

  /// Whether an event other than a deadline can happen.
  var hasRegistrations: Bool { wall.pointee != nil || continuous.pointee != nil }

  /// Arms the kernel timers. Returns when, on the uptime clock, the wait must end.
  func prepare(_ timers: borrowing Timers) -> UInt64 {
    // relaxed: an interruption that comes later changes the word, so that the wait below does not begin.
    seenFallback.pointee = fallback.load(ordering: .relaxed)
    if epoll == nil { _ = makeReady() }
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
      guard let epoll, let made = TimerFD(clock: clock) else { return false }
      if epoll.pointee.add(made.descriptor.raw, [.readable, .edgeTriggered], token: token) != nil { return false }
      let timer = UnsafeMutablePointer<ClockTimer>.allocate(capacity: 1)
      timer.initialize(to: ClockTimer(timer: made))
      slot.pointee = timer
    }
    guard let timer = slot.pointee else { return false }
    if timer.pointee.armedFor == instant { return true }
    timer.pointee.armedFor = instant
    return timer.pointee.timer.arm(at: instant) == nil
  }

  /// Sees to it that there is something to wait in and to register with, if descriptors are left. Any thread.
  func makeReady() -> Bool {
    if epoll != nil { return true }
    making.lock()
    defer { making.unlock() }
    if epoll != nil { return true }
    guard let made = Epoll(), let event = EventFD() else { return false }
    if Self.addInterruption(event.descriptor.raw, to: made) != nil { return false }
    // unsafe: lives as long as the engine.
    let memory = UnsafeMutablePointer<Epoll>.allocate(capacity: 1)
    memory.initialize(to: made)
    // relaxed: published with the place.
    interruption.store(event.release() + 1, ordering: .relaxed)
    // pairs with: epoll – publishes the descriptors
    place.store(UnsafeMutableRawPointer(memory), ordering: .releasing)
    return true
  }

  /// Edge-triggered: each interruption is an edge, so nobody has to read the counter back.
  private static func addInterruption(_ event: Int32, to epoll: borrowing Epoll) -> Errno? {
    epoll.add(event, [.readable, .edgeTriggered], token: Token.interruption)
  }

  /// Holder: leaves behind what the old epoll reports and nobody can call off; see DescriptorTable.
  func replaceEpoll(_ descriptors: borrowing DescriptorTable) {
    // relaxed: made together with the epoll.
    guard let epoll, let made = Epoll() else { return }
    if Self.addInterruption(interruption.load(ordering: .relaxed) - 1, to: made) != nil { return }
    for (slot, token) in [(wall, Token.wallTimer), (continuous, Token.continuousTimer)] {
      guard let timer = slot.pointee else { continue }
      _ = made.add(timer.pointee.timer.descriptor.raw, [.readable, .edgeTriggered], token: token)
    }
    descriptors.move(from: epoll, to: made, on: self)
  }

  /// Waits for at most `timeout` nanoseconds; `max` is for ever.
  func wait(for timeout: UInt64) {
    // relaxed: the holder is the only writer; who changes a registration reads it after a call about the same epoll,
    // which the kernel orders against the wait's own look (DescriptorTable, D4).
    waits.store(newestWait &+ 1, ordering: .relaxed)
    if let epoll {
      eventCount.pointee = epoll.pointee.wait(into: events, timeout: timeout)
    } else {
      eventCount.pointee = 0
      let deadline = timeout == .max ? Deadline.never : Deadline.after(timeout, on: .uptime)
      _ = _withUnprotectedUnsafePointer(to: fallback) { Futex.wait($0, while: seenFallback.pointee, until: deadline) }
    }
  }

  /// Ends the holder's wait; any thread.
  func interrupt() {
    // seq-cst: counted before the look for epoll: a holder that waits without it has read the count before.
    fallback.wrappingAdd(1, ordering: .sequentiallyConsistent)
    if epoll != nil {
      // relaxed: published with the epoll's place.
      EventFD.signal(interruption.load(ordering: .relaxed) - 1)
    } else {
      _ = _withUnprotectedUnsafePointer(to: fallback) { Futex.wake($0) }
    }
  }

  /// Holder: reports what the last wait has brought.
  ///
  /// - Returns: whether there were events of descriptors.
  func dispatchEvents(_ descriptors: borrowing DescriptorTable) -> Bool {
    Signals.reassert()
    let batch = UnsafeBufferPointer(start: events.baseAddress, count: max(0, eventCount.pointee))
    if !batch.isEmpty, !descriptors.isEmpty, descriptors.report(batch, on: self) { replaceEpoll(descriptors) }
    var ownEvents = 0
    for event in batch {
      switch event.token {
      case Token.wallTimer: acknowledge(wall)
      case Token.continuousTimer: acknowledge(continuous)
      case Token.interruption: break
      default: continue
      }
      ownEvents += 1
    }
    eventCount.pointee = 0
    return batch.count > ownEvents
  }

  /// The kernel timer has expired, or its clock was set: it is armed anew from the wheel at the next wait.
  private func acknowledge(_ slot: Slot) {
    guard let timer = slot.pointee else { return }
    _ = timer.pointee.timer.acknowledge()
    timer.pointee.armedFor = .max
  }
}
