// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc
import Testing

@testable import GrandCentral

@Suite("Epoll")
struct EpollTests {
  /// The tokens of the events that one wait returns.
  private func tokens(_ epoll: borrowing Epoll, timeout: UInt64 = 0) -> [UInt64] {
    withUnsafeTemporaryAllocation(of: Epoll.Event.self, capacity: 8) { buffer in
      let count = epoll.wait(into: buffer, timeout: timeout)
      return count < 0 ? [] : buffer[..<count].map(\.token)
    }
  }

  @Test("reports what is ready, with the token of its registration")
  func ready() throws {
    guard let epoll = Epoll(), let first = EventFD(), let second = EventFD() else {
      Issue.record("no descriptors")
      return
    }
    #expect(epoll.add(first.descriptor.raw, .readable, token: 1 << 40) == nil)
    #expect(epoll.add(second.descriptor.raw, .readable, token: 2) == nil)
    #expect(tokens(epoll) == [])
    first.signal()
    #expect(tokens(epoll, timeout: .max) == [1 << 40])
    first.drain()
    second.signal()
    #expect(tokens(epoll, timeout: .max) == [2])
  }

  @Test("tells what happened")
  func happened() {
    guard let epoll = Epoll() else {
      Issue.record("no descriptors")
      return
    }
    var ends: [Int32] = [-1, -1]
    #expect(gc_pipe(&ends) == 0)
    let input = FileDescriptor(owning: ends[0])
    #expect(epoll.add(input.raw, .readable, token: 7) == nil)
    #expect(gc_close(ends[1]) == 0)
    withUnsafeTemporaryAllocation(of: Epoll.Event.self, capacity: 1) { buffer in
      #expect(epoll.wait(into: buffer, timeout: .max) == 1)
      #expect(buffer[0].happened == .hangUp)
    }
  }

  @Test("reports a one-shot registration once, until it is armed again")
  func oneShot() {
    guard let epoll = Epoll(), let event = EventFD() else {
      Issue.record("no descriptors")
      return
    }
    event.signal()
    #expect(epoll.add(event.descriptor.raw, [.readable, .oneShot], token: 1) == nil)
    #expect(tokens(epoll, timeout: .max) == [1])
    #expect(tokens(epoll) == [])
    #expect(epoll.modify(event.descriptor.raw, [.readable, .oneShot], token: 3) == nil)
    #expect(tokens(epoll, timeout: .max) == [3])
  }

  @Test("reports an edge-triggered registration for each change")
  func edge() {
    guard let epoll = Epoll(), let event = EventFD() else {
      Issue.record("no descriptors")
      return
    }
    #expect(epoll.add(event.descriptor.raw, [.readable, .edgeTriggered], token: 1) == nil)
    event.signal()
    #expect(tokens(epoll, timeout: .max) == [1])
    #expect(tokens(epoll) == [])
    event.signal()
    #expect(tokens(epoll, timeout: .max) == [1])
  }

  @Test("reports nothing after removal, and refuses what it cannot watch")
  func errors() throws {
    guard let epoll = Epoll(), let event = EventFD() else {
      Issue.record("no descriptors")
      return
    }
    event.signal()
    #expect(epoll.add(event.descriptor.raw, .readable, token: 1) == nil)
    #expect(epoll.add(event.descriptor.raw, .readable, token: 1) == .exists)
    #expect(epoll.remove(event.descriptor.raw) == nil)
    #expect(epoll.remove(event.descriptor.raw) == .noSuchFile)
    #expect(tokens(epoll) == [])
    let file = FileDescriptor.openForReading("/proc/self/exe")
    guard let file else {
      Issue.record("no file")
      return
    }
    #expect(epoll.add(file.raw, .readable, token: 1) == .notPermitted)
  }

  @Test("waits as long as it is told, not less")
  func timeout() {
    guard let epoll = Epoll() else {
      Issue.record("no descriptors")
      return
    }
    let deadline = Deadline.after(10_000_000, on: .uptime)
    #expect(tokens(epoll, timeout: 10_000_000) == [])
    #expect(deadline.hasPassed())
  }

  @Test("C5: a thread that the program has cancelled comes back from a wait that a signal ends")
  func cancelled() async {
    await #expect(processExitsWith: .success) {
      let epoll = gc_epoll_create()
      signal(SIGUSR1) { _ in }
      var thread = pthread_t()
      let error = pthread_create(
        &thread, nil,
        { argument in
          // The thread that starts it may be one that blocks all signals.
          var signals = sigset_t()
          sigemptyset(&signals)
          sigaddset(&signals, SIGUSR1)
          pthread_sigmask(SIG_UNBLOCK, &signals, nil)
          // As another thread's cancellation that has come just before.
          pthread_cancel(pthread_self())
          var event = gc_epoll_event()
          let count = gc_epoll_wait(Int32(Int(bitPattern: argument)), &event, 1, .max)
          _exit(count == 0 ? EXIT_SUCCESS : EXIT_FAILURE)
        }, UnsafeMutableRawPointer(bitPattern: Int(epoll)))
      if error != 0 { _exit(EXIT_FAILURE) }
      // Until the thread sleeps in the wait: a signal that comes before it does ends nothing.
      _ = eventually {
        pthread_kill(thread, SIGUSR1)
        return false
      }
      _exit(EXIT_FAILURE)
    }
  }

  @Test("E6: and its companions are nil when there are no descriptors")
  func exhaustion() async {
    await #expect(processExitsWith: .exitCode(0)) {
      var limit = rlimit(rlim_cur: 0, rlim_max: 0)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let hasEpoll = Epoll() != nil
      let hasEvent = EventFD() != nil
      let hasTimer = TimerFD(clock: .wall) != nil
      let processors = Topology.systemProcessors()
      exit(hasEpoll || hasEvent || hasTimer || processors < 1 ? 1 : 0)
    }
  }
}

@Suite("An event descriptor")
struct EventFDTests {
  @Test("adds its signals up until it is drained")
  func counts() {
    guard let event = EventFD() else {
      Issue.record("no descriptors")
      return
    }
    #expect(event.drain() == 0)
    event.signal()
    event.signal()
    #expect(event.drain() == 2)
    #expect(event.drain() == 0)
  }
}

@Suite("A timer descriptor")
struct TimerFDTests {
  private func isReadable(_ fd: Int32, milliseconds: Int32) -> Bool {
    var poll = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
    return Glibc.poll(&poll, 1, milliseconds) == 1
  }

  @Test("T1: expires at its deadline, on each clock", arguments: DeadlineTests.clocks)
  func expires(clock: GrandCentral.Clock) {
    guard let timer = TimerFD(clock: clock) else {
      Issue.record("no descriptors")
      return
    }
    #expect(timer.acknowledge() == .nothing)
    let deadline = clock.now() + 5_000_000
    #expect(timer.arm(at: deadline) == nil)
    #expect(isReadable(timer.descriptor.raw, milliseconds: 30_000))
    #expect(clock.now() >= deadline)
    #expect(timer.acknowledge() == .expired)
    #expect(timer.acknowledge() == .nothing)
  }

  @Test("expires at once when its deadline has passed", arguments: [0, 1] as [UInt64])
  func past(deadline: UInt64) {
    guard let timer = TimerFD(clock: .wall) else {
      Issue.record("no descriptors")
      return
    }
    #expect(timer.arm(at: deadline) == nil)
    #expect(isReadable(timer.descriptor.raw, milliseconds: 30_000))
    #expect(timer.acknowledge() == .expired)
  }

  @Test("does not expire once it is disarmed, or told never")
  func disarmed() {
    guard let timer = TimerFD(clock: .uptime) else {
      Issue.record("no descriptors")
      return
    }
    #expect(timer.arm(at: 1) == nil)
    #expect(isReadable(timer.descriptor.raw, milliseconds: 30_000))
    #expect(timer.disarm() == nil)
    #expect(!isReadable(timer.descriptor.raw, milliseconds: 0))
    #expect(timer.arm(at: .max) == nil)
    #expect(!isReadable(timer.descriptor.raw, milliseconds: 0))
  }
}
