// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Machine

/// Threads outside of the pool that do their share of an operation at the same time.
final class Crew: @unchecked Sendable {  // the machine's gates order what the threads do
  typealias Share = @Sendable (_ member: Int, _ count: Int) -> Void

  private final class Member {
    let crew: Crew
    let index: Int

    init(crew: Crew, index: Int) {
      self.crew = crew
      self.index = index
    }
  }

  let size: Int
  private let share: Share
  /// One gate per round: the crew works twice, first to warm up.
  private let go: UnsafeMutablePointer<machine_gate>
  private let ready: UnsafeMutablePointer<machine_gate>
  private var count = 0

  static let rounds = 2

  init(_ size: Int, _ share: @escaping Share) {
    self.size = size
    self.share = share
    go = .allocate(capacity: Self.rounds)
    go.initialize(repeating: machine_gate(left: 1), count: Self.rounds)
    ready = .allocate(capacity: 1)
    ready.initialize(to: machine_gate(left: Int64(size)))
    for index in 0..<size {
      machine_start(
        { context in
          // unsafe: balances the retain below
          let member = Unmanaged<Member>.fromOpaque(context!).takeRetainedValue()
          member.crew.work(member.index)
        }, Unmanaged.passRetained(Member(crew: self, index: index)).toOpaque())
    }
    machine_wait(ready)
  }

  private func work(_ index: Int) {
    for round in 0..<Self.rounds {
      machine_arrive(ready)
      machine_wait(go + round)
      share(index, count)
    }
    machine_arrive(ready)
  }

  /// Each member does `count` operations; returns when all have.
  func run(round: Int, count: Int) {
    self.count = count
    ready.pointee.left = Int64(size)
    machine_arrive(go + round)
    machine_wait(ready)
  }
}
