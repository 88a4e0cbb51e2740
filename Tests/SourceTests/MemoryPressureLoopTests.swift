// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

private typealias Event = DispatchSource.MemoryPressureEvent

/// A loop, on our pool: the tests block threads of Swift Concurrency's.
private final class Loop: Sendable {
  let seen = Recorder<Event>()
  private let ended = Latch()
  private let task: Task<Void, Never>

  init(_ kernel: FakeKernel, mask: Event = .all, body: @escaping @Sendable (Event) -> Void = { _ in }) {
    let levels = DispatchSource.memoryPressure(kernel.setup(), mask: mask)
    task = Task(executorPreference: DispatchQueue.global()) { [seen, ended] in
      for await level in levels {
        seen.note(level)
        body(level)
      }
      ended.open()
    }
  }

  func end() {
    task.cancel()
    #expect(ended.wait())
  }
}

@Suite("A loop over memory pressure", .timeLimit(.minutes(30)))
struct MemoryPressureLoopTests {
  @Test("X2: tells of each level that is there when it asks, and ends with its task")
  func levels() {
    let kernel = FakeKernel()
    defer { kernel.remove() }
    kernel.setMachine(left: 8)
    let loop = Loop(kernel)
    // A loop that begins while memory is short is told so at once; the other levels come one by one.
    for (left, level) in [(8, Event.warning), (2, .critical), (90, .normal), (8, .warning)] {
      kernel.setMachine(left: left)
      waitFor { loop.seen.values.last == level }
    }
    loop.end()
    #expect(loop.seen.values == [.warning, .critical, .normal, .warning])
  }

  @Test("X2: tells of the levels in its mask alone")
  func masked() {
    let kernel = FakeKernel()
    defer { kernel.remove() }
    kernel.setMachine(left: 90)
    let (critical, all) = (Loop(kernel, mask: .critical), Loop(kernel))
    kernel.setMachine(left: 8)
    waitFor { all.seen.values.last == .warning }
    kernel.setMachine(left: 2)
    waitFor { all.seen.values.last == .critical && critical.seen.count == 1 }
    kernel.setMachine(left: 90)
    waitFor { all.seen.values.last == .normal }
    critical.end()
    all.end()
    #expect(critical.seen.values == [.critical])
    #expect(all.seen.values == [.warning, .critical, .normal])
  }

  @Test("X2: levels that come and go while the loop's body runs are one event: the last level")
  func merged() {
    let kernel = FakeKernel()
    defer { kernel.remove() }
    kernel.setMachine(left: 8)
    let go = Latch()
    let (slow, quick) = (Loop(kernel) { if $0 == .warning { go.wait() } }, Loop(kernel))
    waitFor { slow.seen.values == [.warning] && quick.seen.values == [.warning] }
    for (left, level) in [(2, Event.critical), (90, .normal), (2, .critical)] {
      kernel.setMachine(left: left)
      waitFor { quick.seen.values.last == level }
    }
    go.open()
    waitFor { slow.seen.count == 2 }
    slow.end()
    quick.end()
    #expect(slow.seen.values == [.warning, .critical])
    #expect(quick.seen.values == [.warning, .critical, .normal, .critical])
  }
}
