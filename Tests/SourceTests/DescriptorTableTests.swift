// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

@testable import GrandCentral

/// The table and an epoll of its own, with no other thread at work.
@Suite("What is watched")
struct DescriptorTableTests {
  private final class Heard: Sendable {
    let events = Recorder<UInt32>()
  }

  private static func makeWatch(_ descriptor: Int32, _ heard: Heard) -> DescriptorWatch.Pointer {
    let watch = DescriptorWatch.Pointer.allocate(capacity: 1)
    watch.initialize(
      to: DescriptorWatch(descriptor, .readable, context: Unmanaged.passUnretained(heard).toOpaque()) {
        Unmanaged<Heard>.fromOpaque($0).takeUnretainedValue().events.note($1)
        return true
      })
    return watch
  }

  private func batch(_ descriptor: Int32, from epoll: borrowing Epoll) -> [Epoll.Event] {
    let events = UnsafeMutableBufferPointer<Epoll.Event>.allocate(capacity: 8)
    defer { events.deallocate() }
    let count = epoll.wait(into: events, timeout: 0)
    return Array(events[..<max(0, count)]).filter { Int32(truncatingIfNeeded: $0.token & 0x7fff_ffff) == descriptor }
  }

  @Test("S4: an event that was on its way when its watch was taken off is nobody's, and no reason to rebuild epoll")
  func eventOnItsWay() {
    let table = DescriptorTable()
    let poller = EpollPoller()
    let (ends, heard) = (Ends.pipe(), Heard())
    let refusal = poller.makeReady()
    #expect(refusal == nil)
    let watch = Self.makeWatch(ends.reading, heard)
    let added = table.add(watch, on: poller)
    #expect(added == .watched)
    ends.write("x")
    poller.wait(for: 0)
    let taken = batch(ends.reading, from: poller.epoll!.pointee)
    #expect(taken.count == 1)
    let removed = table.remove(watch, on: poller)
    #expect(removed == .removed)
    let isForeign = taken.withUnsafeBufferPointer { table.report($0, on: poller) }
    #expect(isForeign == false)
    // A later registration of the same number changes nothing about that.
    let addedAgain = table.add(watch, on: poller)
    #expect(addedAgain == .watched)
    let isForeignLater = taken.withUnsafeBufferPointer { table.report($0, on: poller) }
    #expect(isForeignLater == false)
    let removedAgain = table.remove(watch, on: poller)
    #expect(removedAgain == .removed)
    #expect(heard.events.values == [])
    ends.close()
  }

  @Test("S10: an event that comes after its watch was taken off is a file's that cannot be called off")
  func foreignEvent() {
    let table = DescriptorTable()
    let poller = EpollPoller()
    let (ends, heard) = (Ends.pipe(), Heard())
    let refusal = poller.makeReady()
    #expect(refusal == nil)
    let watch = Self.makeWatch(ends.reading, heard)
    let added = table.add(watch, on: poller)
    #expect(added == .watched)
    let (number, keeper) = (ends.reading, dup(ends.reading))
    close(number)
    let removed = table.remove(watch, on: poller)
    #expect(removed == .gone)
    ends.write("x")
    poller.wait(for: 0)
    let taken = batch(number, from: poller.epoll!.pointee)
    #expect(taken.count == 1)
    let isForeign = taken.withUnsafeBufferPointer { table.report($0, on: poller) }
    #expect(isForeign == true)
    close(keeper)
    close(ends.writing)
  }

  @Test("S10: when the new epoll has no room, what is watched stays in the old one, and is not called closed")
  func noRoomToMove() {
    let table = DescriptorTable()
    let poller = EpollPoller()
    let (ends, heard) = (Ends.pipe(), Heard())
    let refusal = poller.makeReady()
    #expect(refusal == nil)
    let watch = Self.makeWatch(ends.reading, heard)
    let added = table.add(watch, on: poller)
    #expect(added == .watched)
    guard let full = Epoll() else {
      Issue.record("no descriptor")
      return
    }
    // Adding fails at that epoll, and the watched descriptor is not the reason.
    let replaced = dup2(ends.writing, full.descriptor.raw)
    #expect(replaced >= 0)
    let moving = table.move(from: poller.epoll!, to: full, on: poller)
    #expect(moving != nil)
    #expect(heard.events.values == [])
    ends.write("x")
    let still = batch(ends.reading, from: poller.epoll!.pointee)
    #expect(still.count == 1)
    let removed = table.remove(watch, on: poller)
    #expect(removed == .removed)
    ends.close()
  }

  /// A poller that a file keeps awake which is watched no more. The kernel keeps the registration, as a duplicate is open.
  private struct Haunted: ~Copyable {
    let poller = EpollPoller()
    let table = DescriptorTable()
    var keeper: Int32 = -1
    var interruption: Int32 = -1

    func look() {
      poller.wait(for: 1_000_000)
      _ = poller.dispatchEvents(table)
    }

    /// How long a wait of so many milliseconds lasts.
    func wait(milliseconds: UInt64) -> UInt64 {
      let start = Clock.uptime.now()
      poller.wait(for: milliseconds * 1_000_000)
      return (Clock.uptime.now() - start) / 1_000_000
    }
  }

  private static func makeHaunted() -> Haunted {
    var made = Haunted()
    let next = dup(0)
    made.interruption = dup(0)
    close(next)
    close(made.interruption)
    guard made.poller.makeReady() == nil, made.poller.epoll!.pointee.descriptor.raw == next else { exit(2) }
    let ends = Ends.pipe()
    let watch = makeWatch(ends.reading, Heard())
    guard made.table.add(watch, on: made.poller) == .watched else { exit(3) }
    made.keeper = dup(ends.reading)
    close(ends.reading)
    guard made.table.remove(watch, on: made.poller) == .gone else { exit(4) }
    ends.write("x")
    return made
  }

  @Test("S10: a file that cannot be called off does not keep a poller awake that watches nothing else")
  func nothingElse() async {
    await #expect(processExitsWith: .exitCode(0)) {
      let haunted = DescriptorTableTests.makeHaunted()
      haunted.look()
      // `_exit` keeps the leak checker quiet: the tables live for ever.
      _exit(haunted.wait(milliseconds: 20) >= 20 ? 0 : 1)
    }
  }

  @Test("E3: an epoll that could not be replaced is waited in again, once nothing keeps its waiter awake")
  func nothingOwed() async {
    await #expect(processExitsWith: .exitCode(0)) {
      let haunted = DescriptorTableTests.makeHaunted()
      var limit = rlimit()
      limit.rlim_max = 4096
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      haunted.look()
      close(haunted.keeper)
      // The last look in between.
      haunted.look()
      // `_exit` keeps the leak checker quiet: the tables live for ever.
      _exit(haunted.wait(milliseconds: 100) >= 100 ? 0 : 1)
    }
  }

  @Test("E6: a new epoll that does not take what ends a wait is no reason to spin")
  func interruptionRefused() async {
    await #expect(processExitsWith: .exitCode(0)) {
      let haunted = DescriptorTableTests.makeHaunted()
      // The event descriptor becomes a plain file. The old epoll has forgotten it, and no new one takes a plain file.
      let file = open("/proc/self/exe", O_RDONLY)
      guard dup2(file, haunted.interruption) >= 0 else { exit(5) }
      haunted.look()
      // `_exit` keeps the leak checker quiet: the tables live for ever.
      _exit(haunted.wait(milliseconds: 8) >= 8 ? 0 : 1)
    }
  }
}
