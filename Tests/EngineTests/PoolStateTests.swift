// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import GrandCentral

@Suite("The pool word")
struct PoolStateTests {
  private func word(live: Int, blocked: Int, sleeping: Int, searching: Int) -> PoolState {
    PoolState(
      rawValue: UInt64(live) * PoolState.liveOne + UInt64(blocked) * PoolState.blockedOne
        + UInt64(sleeping) * PoolState.sleepingOne + UInt64(searching))
  }

  @Test("E1: one wake-up is claimed, and only when nobody searches and a processor is free", arguments: 0..<3)
  func claims(searching: Int) {
    for live in 0...4 {
      for blocked in 0...live {
        for sleeping in 0...(live - blocked) where searching <= live - blocked - sleeping {
          let before = word(live: live, blocked: blocked, sleeping: sleeping, searching: searching)
          var after = before
          let wake = after.claimWake(parallelism: 2, budget: 4)
          let free = live - blocked - sleeping < 2
          switch wake {
          case .nothing: #expect(searching > 0 && after == before)
          case .watch: #expect(!free && after == before)
          case .unpark:
            #expect(free && sleeping > 0)
            #expect(after.sleeping == sleeping - 1 && after.searching == 1 && after.live == live)
          case .spawn:
            #expect(free && sleeping == 0 && live < 4)
            #expect(after.live == live + 1 && after.searching == 1)
          case .exhausted: #expect(free && sleeping == 0 && live == 4 && after == before)
          }
          #expect(after.blocked == blocked)
          #expect(after.searching + after.sleeping + after.blocked <= after.live)
        }
      }
    }
  }

  @Test("E2: a convoy of blocked workers is left to the monitor while half of the processors have a worker")
  func convoy() {
    for parallelism in [1, 2, 3, 16] {
      let most = max(8, 2 * parallelism + 4)
      for blocked in [0, most, most + 1, 100] {
        for active in 0...parallelism {
          for adrift in 0...2 {
            var state = word(live: blocked + active + adrift, blocked: blocked, sleeping: 0, searching: 0)
            for _ in 0..<adrift { state.setAside(as: Worker.Status.adrift) }
            #expect(state.isConvoy(parallelism: parallelism) == (blocked > most))
            let holdsBack = blocked > most && 2 * (active + adrift) >= parallelism
            let expected: PoolState.Wake = active >= parallelism || holdsBack ? .watch : .spawn
            #expect(
              state.wake(parallelism: parallelism, budget: 512) == expected,
              "\(blocked) blocked, \(active) of \(parallelism), \(adrift) adrift")
          }
        }
      }
    }
  }

  @Test("E1: each step is undone by its counterpart, and touches nothing else")
  func pairs() {
    let start = word(live: 5, blocked: 1, sleeping: 2, searching: 1)
    var state = start
    state.block()
    #expect(state.blocked == 2)
    state.unblock()
    #expect(state == start)
    state.fallAsleep()
    #expect(state.sleeping == 3 && state.searching == 0)
    state.wakeUp()
    #expect(state == start)
    state.setAside(as: Worker.Status.adrift)
    #expect(state.adrift == 1 && state.active == start.active - 1 && state.live == 5)
    state.takeBack(from: Worker.Status.adrift)
    #expect(state == start)
    state.setAside(as: Worker.Status.stalled)
    #expect(state.blocked == 2)
    state.takeBack(from: Worker.Status.stalled)
    #expect(state == start)
    state.startSearching()
    state.stopSearching()
    #expect(state == start && state.searching == 1)
    state.stopSearching()
    #expect(state.searching == 0)
  }

  @Test("E1: a worker that retires counts as a thread until it is gone, and as one that runs nothing")
  func ending() {
    var state = word(live: 3, blocked: 0, sleeping: 2, searching: 0)
    let retirement = state.retire()
    #expect(retirement == .granted)
    #expect(state.live == 3 && state.sleeping == 1 && state.active == 1)
    #expect(state.wake(parallelism: 3, budget: 3) == .unpark)
    _ = state.claimWake(parallelism: 3, budget: 3)
    state.stopSearching()
    #expect(state.wake(parallelism: 3, budget: 3) == .exhausted)
    state.end()
    #expect(state.live == 2 && state.blocked == 0)
    #expect(state.wake(parallelism: 3, budget: 3) == .spawn)
  }

  @Test("E3: the last worker that could run anything does not retire")
  func retire() {
    var two = word(live: 2, blocked: 0, sleeping: 2, searching: 0)
    let first = two.retire()
    #expect(first == .granted)
    #expect(two.live == 2 && two.sleeping == 1 && two.blocked == 1)
    let last = two.retire()
    #expect(last == .refused)
    var blocked = word(live: 3, blocked: 2, sleeping: 1, searching: 0)
    let onlyUnblocked = blocked.retire()
    #expect(onlyUnblocked == .refused)
  }

  @Test("E6: a thread that could not be started leaves no trace")
  func spawnFailed() {
    let start = word(live: 1, blocked: 1, sleeping: 0, searching: 0)
    var state = start
    let wake = state.claimWake(parallelism: 2, budget: 4)
    #expect(wake == .spawn)
    state.spawnFailed()
    #expect(state == start)
  }
}

@Suite("The layout of jobs")
struct JobLayoutTests {
  @Test("what a node holds comes back, field by field")
  func fields() {
    let job = Job(invoke: { _ in }, flags: .barrier, qos: 0x1905, band: .utility, owner: nil)
    job.extra = UnsafeMutableRawPointer(bitPattern: 0x40)
    #expect(job.flags == .barrier && job.qos == 0x1905 && job.band == .utility)
    #expect(job.owner == nil && job.extra == UnsafeMutableRawPointer(bitPattern: 0x40))
    job.band = .background
    #expect(job.qos == 0x1905 && job.flags == .barrier)
    job.recycle()
  }

  @Test("a waiter looks like a job to the list and the drainer")
  func waiter() {
    var waiter = WaiterNode(flags: .barrier, qos: QoSWord(.userInitiated), thread: 77)
    withUnsafeMutablePointer(to: &waiter) { waiter in
      let job = Job(raw: UnsafeMutableRawPointer(waiter))
      #expect(job.flags == [.waiter, .barrier])
      #expect(job.band == .userInitiated)
      #expect(WaiterNode.owner(of: job) == 77)
    }
  }

  @Test("Q16 Q8: a closure that does not escape is called by its words")
  func borrowed() {
    var sum = 0
    func call(_ body: (ApplyLoop.Pointer) -> Void) {
      let borrowed = BorrowedClosure(body)
      var loop = ApplyLoop()
      withUnsafeMutablePointer(to: &loop) { loop in
        loop[0].end.store(20, ordering: .relaxed)
        borrowed(loop)
        loop[0].end.store(25, ordering: .relaxed)
        borrowed(loop)
      }
    }
    call { ApplyLoop.run($0) { sum += $0 } }
    #expect(sum == (0..<25).reduce(0, +))
  }
}
