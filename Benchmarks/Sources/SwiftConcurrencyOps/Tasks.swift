// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport

/// D, F, J: tasks that nothing keeps in order.
func concurrentTasks() -> [PeerOperation] {
  [
    PeerOperation(
      "Swift Task.detached",
      Operation("D.global-1p", count: .calibrated(atMost: 50_000)) {
        { n, _ in
          let done = Countdown(n)
          for _ in 0..<n { Task.detached { done.arrive() } }
          done.wait()
        }
      }
    ),
    PeerOperation(
      "Swift task group",
      Operation("D.global-1p", count: .calibrated(atMost: 50_000)) {
        { n, _ in
          let done = Countdown(n)
          inTask { await inGroup(n) { _ in done.arrive() } }
        }
      }
    ),
    PeerOperation(
      "Swift Task.detached",
      Operation("D.global-2p", count: .calibrated(multipleOf: 2, atMost: 50_000)) {
        { n, meter in
          let done = Countdown(n / 2 * 2)
          Crew.run(2, pinned: false, meter: meter) { _ in
            for _ in 0..<n / 2 { Task.detached { done.arrive() } }
          }
          done.wait()
        }
      }
    ),
    PeerOperation(
      "Swift async let",
      Operation("D.fork-tree") { { n, _ in inTask { await fork(n.trailingZeroBitCount - 1) } } }
    ),
    PeerOperation(
      "Swift Task.detached",
      Operation("D.fork-tree") {
        { n, _ in
          let done = Countdown(n - 2)
          grow(n.trailingZeroBitCount - 1, done)
          done.wait()
        }
      }
    ),
    PeerOperation(
      "Swift Task.detached",
      Operation("D.global-1us-bodies", count: .calibrated(atMost: 50_000)) {
        { n, _ in
          let done = Countdown(n)
          for _ in 0..<n {
            Task.detached {
              Work.spin(nanoseconds: 1000)
              done.arrive()
            }
          }
          done.wait()
        }
      }
    ),
    PeerOperation(
      "Swift Task.detached",
      Operation("F.async-signal-wait") {
        { n, _ in
          for _ in 0..<n {
            let done = Latch()
            Task.detached { done.open() }
            done.wait()
          }
        }
      }
    ),
    PeerOperation(
      "Swift Task.sleep",
      Operation("J.lateness", figures: [.reported("p50"), .reported("p99")]) { { n, meter in lateness(n, meter) } }
    ),
  ]
}

/// G: a task for each iteration, which is how a task group is used.
func taskLoops() -> [PeerOperation] {
  func loop(_ name: String, work: @escaping @Sendable (Int) -> UInt64) -> PeerOperation {
    PeerOperation(
      "Swift task group",
      Operation(name) { { n, _ in inTask { await inGroup(n) { Work.spin(nanoseconds: work($0)) } } } }
    )
  }
  return [
    loop("G.1e4-x-1us") { _ in 1000 },
    loop("G.imbalanced") { UInt64($0) * 200 },
  ]
}

private func inGroup(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
  await withDiscardingTaskGroup { group in
    for i in 0..<count { group.addTask { body(i) } }
  }
}

/// Each task waits for two more, down to the given depth: 2^(depth + 1) - 2 tasks.
@Sendable
private func fork(_ depth: Int) async {
  if depth == 0 { return }
  async let left: Void = fork(depth - 1)
  async let right: Void = fork(depth - 1)
  _ = await (left, right)
}

/// The same number of tasks, which nobody waits for but the end of the sample.
private func grow(_ depth: Int, _ done: Countdown) {
  if depth == 0 { return }
  for _ in 0..<2 {
    Task.detached {
      grow(depth - 1, done)
      done.arrive()
    }
  }
}

private func lateness(_ count: Int, _ meter: Meter) {
  let done = Countdown(count)
  let late = Cell<UInt64>(0, count: count)
  var numbers = Numbers()
  let start = ContinuousClock.now
  for i in 0..<count {
    let offset = Int64(numbers.next(upperBound: UInt64(count) * 2_000_000)) + 5_000_000
    let deadline = start + .nanoseconds(offset)
    Task.detached {
      try? await Task.sleep(until: deadline, tolerance: .zero)
      let passed = (ContinuousClock.now - deadline).components
      late[i] = UInt64(max(0, passed.seconds * 1_000_000_000 + passed.attoseconds / 1_000_000_000))
      done.arrive()
    }
  }
  done.wait()
  meter.reportPercentiles(of: (0..<count).map { late[$0] })
  late.deallocate()
}
