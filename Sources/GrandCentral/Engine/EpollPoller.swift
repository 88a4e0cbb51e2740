// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// What the poller's holder waits in: epoll, an event descriptor to interrupt it, and a kernel timer for each clock
/// that may step or run on while the machine sleeps.
///
/// Everything degrades when descriptors run out: without epoll the holder waits on a futex, without a kernel timer it
/// looks at that clock every `resort`. Both are asked for again at later waits, as `Shortages` paces it.
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

  /// Made once: where the epoll is, and the number of the event descriptor plus one, which comes first. The epoll
  /// in that place is replaced by the holder, under the descriptor table's lock.
  private let place = Atomic<UnsafeMutableRawPointer?>(nil)
  private let interruption = Atomic<Int32>(0)
  private let making = Lock()
  /// The holder's own, one for the wall clock and one for the continuous clock; made when first needed.
  private let wall: Slot
  private let continuous: Slot
  /// Written by the holder: counts the waits, each before it begins.
  private let waits = Atomic<UInt64>(0)
  private let events: UnsafeMutableBufferPointer<Epoll.Event>
  private let eventCount: UnsafeMutablePointer<Int>
  /// The word that the holder waits on without epoll. Each interruption adds one, whatever the holder waits in.
  ///
  /// An interrupter adds one first. Afterwards it looks for the epoll, and for a holder on this word. The epoll is made, and
  /// the holder says that it waits here, before the holder looks at the count for the last time. So one of the two sees the
  /// other, also while the first epoll is being made.
  private let fallback = Atomic<UInt32>(0)
  /// The holder waits on `fallback`, whether or not there is an epoll by now.
  private let isOnFallback = Atomic<Bool>(false)
  /// The holder's own: the value of `fallback` when the last wait had ended. An interruption since then ends the next wait at
  /// once, because the interrupter may have begun before the holder prepares for its wait.
  private let seenFallback: UnsafeMutablePointer<UInt32>
  /// The holder's own: the epoll is to be replaced as soon as there is a descriptor for a new one.
  private let owesEpoll: UnsafeMutablePointer<Bool>

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
    owesEpoll = .allocate(capacity: 1)
    owesEpoll.initialize(to: false)
  }

  /// For a poller that was made at the same time as another one, and is not used; or its engine goes, and nothing is watched.
  deinit {
    if let epoll {
      epoll.deinitialize(count: 1)
      epoll.deallocate()
      // relaxed: made together with the epoll.
      _ = FileDescriptor(owning: interruption.load(ordering: .relaxed) - 1)
    }
    wall.deallocate()
    continuous.deallocate()
    events.deallocate()
    eventCount.deallocate()
    seenFallback.deallocate()
    owesEpoll.deallocate()
  }

  /// What to register with, once there is something.
  var epoll: UnsafeMutablePointer<Epoll>? {
    // pairs with: makeReady – publishes the descriptors
    place.load(ordering: .acquiring)?.assumingMemoryBound(to: Epoll.self)
  }

  /// The number of the wait that has begun last. For the holder: of the wait that has brought the events.
  var newestWait: UInt64 {
    // relaxed: see `wait`.
    waits.load(ordering: .relaxed)
  }

  /// Whether an event other than a deadline can happen.
  var hasRegistrations: Bool { wall.pointee != nil || continuous.pointee != nil }

  /// Arms the kernel timers. Returns when, on the uptime clock, the wait must end.
  func prepare(_ timers: borrowing Timers) -> UInt64 {
    // All clocks of a simulation go alike, and the kernel's do not follow them.
    if World.isSimulated {
      return min(
        timers.earliest(on: .uptime), timers.uptimeOfEarliest(on: .wall), timers.uptimeOfEarliest(on: .continuous))
    }
    if epoll == nil, Shortages.descriptors.mayAsk { _ = makeReady() }
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
      guard let epoll, Shortages.descriptors.mayAsk, let made = makeTimer(clock) else { return false }
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

  private func makeTimer(_ clock: Clock) -> TimerFD? {
    var error: Errno?
    let made = TimerFD(clock: clock, or: &error)
    if let error { Shortages.descriptors.refused(error) }
    return made
  }

  /// Makes sure that there is something to wait in and to register with. Any thread.
  ///
  /// - Returns: nil, or why there is nothing.
  func makeReady() -> Errno? {
    if epoll != nil { return nil }
    making.lock()
    defer { making.unlock() }
    if epoll != nil { return nil }
    let error = make()
    if let error { Shortages.descriptors.refused(error) } else { Shortages.descriptors.granted() }
    return error
  }

  /// With `making` held.
  private func make() -> Errno? {
    var error: Errno?
    guard let made = Epoll(or: &error), let event = EventFD(or: &error) else { return error }
    if let error = Self.addInterruption(event.descriptor.raw, to: made) { return error }
    // unsafe: lives as long as the engine.
    let memory = UnsafeMutablePointer<Epoll>.allocate(capacity: 1)
    memory.initialize(to: made)
    // relaxed: published with the place.
    interruption.store(event.release() + 1, ordering: .relaxed)
    // pairs with: epoll – publishes the descriptors
    // seq-cst: before the holder's look at the count of interruptions, see `fallback`.
    place.store(UnsafeMutableRawPointer(memory), ordering: .sequentiallyConsistent)
    return nil
  }

  /// Edge-triggered: each interruption is an edge, so no thread has to read the counter back.
  private static func addInterruption(_ event: Int32, to epoll: borrowing Epoll) -> Errno? {
    epoll.add(event, [.readable, .edgeTriggered], token: Token.interruption)
  }

  /// Holder: moves to a new epoll, and leaves behind registrations that cannot be removed (DescriptorTable.D4).
  func replaceEpoll(_ descriptors: borrowing DescriptorTable) {
    guard let epoll else { return }
    var error: Errno?
    guard let made = Epoll(or: &error) else { return oweEpoll(error) }
    // relaxed: made together with the epoll.
    error = Self.addInterruption(interruption.load(ordering: .relaxed) - 1, to: made)
    for (slot, token) in [(wall, Token.wallTimer), (continuous, Token.continuousTimer)] {
      guard error == nil, let timer = slot.pointee else { continue }
      error = made.add(timer.pointee.timer.descriptor.raw, [.readable, .edgeTriggered], token: token)
    }
    if let error { return oweEpoll(error) }
    oweEpoll(descriptors.move(from: epoll, to: made, on: self))
  }

  /// The old epoll would report the same events for ever and keep the holder busy: from now on the holder waits a little
  /// first.
  private func oweEpoll(_ error: Errno?) {
    owesEpoll.pointee = error != nil
    if let error { _ = Shortages.ofRegistration(error).refused(error) }
  }

  /// Waits for at most `timeout` nanoseconds; `max` is for ever.
  func wait(for timeout: UInt64) {
    // relaxed: the holder is the only writer. A thread that changes a registration reads it after a call about the same epoll,
    // and the kernel orders that call against the wait's own look (DescriptorTable.D4).
    waits.store(newestWait &+ 1, ordering: .relaxed)
    eventCount.pointee = 0
    if owesEpoll.pointee, timeout > 0 {
      waitOnFallback(min(timeout, Self.breath))
      waitInEpoll(0)
    } else if epoll != nil {
      // seq-cst: after the epoll was made, see `fallback`.
      waitInEpoll(fallback.load(ordering: .sequentiallyConsistent) == seenFallback.pointee ? timeout : 0)
    } else if timeout > 0 {
      waitOnFallback(timeout)
    }
    // pairs with: interrupt – publishes what the interrupter has to say
    seenFallback.pointee = fallback.load(ordering: .acquiring)
  }

  /// How long the holder waits outside of an epoll that would not let it sleep.
  private static let breath: UInt64 = 8_000_000

  private func waitInEpoll(_ timeout: UInt64) {
    guard let epoll else { return }
    let count = epoll.pointee.wait(into: events, timeout: timeout)
    eventCount.pointee = max(0, count)
    // Nothing keeps the holder busy any more. If the events come back, they are reported again.
    if count == 0 { owesEpoll.pointee = false }
    if let error = Errno(result: count) {
      Shortages.waits.refused(error)
      if timeout > 0 { waitOnFallback(min(timeout, Self.breath)) }
    }
  }

  private func waitOnFallback(_ timeout: UInt64) {
    let deadline = timeout == .max ? Deadline.never : Deadline.after(timeout, on: .uptime)
    // seq-cst: set before the kernel compares the word, see `fallback`.
    isOnFallback.store(true, ordering: .sequentiallyConsistent)
    Signals.receiving {
      _ = _withUnprotectedUnsafePointer(to: fallback) { Futex.wait($0, while: seenFallback.pointee, until: deadline) }
    }
    // relaxed: an interrupter that sees it late makes one needless call.
    isOnFallback.store(false, ordering: .relaxed)
  }

  /// Ends the holder's wait; any thread.
  func interrupt() {
    // seq-cst: counted before the looks below, see `fallback`.
    fallback.wrappingAdd(1, ordering: .sequentiallyConsistent)
    // seq-cst: as above.
    if place.load(ordering: .sequentiallyConsistent) != nil {
      // relaxed: published with the epoll's place.
      EventFD.signal(interruption.load(ordering: .relaxed) - 1)
    }
    // seq-cst: as above. The holder may have gone to wait before there was an epoll.
    if isOnFallback.load(ordering: .sequentiallyConsistent) {
      _ = _withUnprotectedUnsafePointer(to: fallback) { Futex.wake($0) }
    }
  }

  /// Holder: reports what the last wait has brought.
  ///
  /// - Returns: whether there were events of descriptors.
  func dispatchEvents(_ descriptors: borrowing DescriptorTable) -> Bool {
    Signals.reassert()
    let batch = UnsafeBufferPointer(start: events.baseAddress, count: eventCount.pointee)
    // Also with an empty table: a registration that cannot be removed still has events (DescriptorTable.D4).
    if !batch.isEmpty, descriptors.report(batch, on: self) { replaceEpoll(descriptors) }
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
