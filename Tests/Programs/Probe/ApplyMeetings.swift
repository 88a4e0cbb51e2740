// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

// Calls of `concurrentPerform` whose iterations wait for each other, at random. No call needs more threads than there may be, if indices are
// begun in order: iterations that wait for each other stand side by side, no more than there may be threads.

extension Scenario {
  static let applyMeetings: [String: Body] = ["apply-meetings": meetAtRandom]

  /// How neighbours wait for each other.
  private enum Shape: Int, CaseIterable {
    case alone, all, firstForLast, eachForNext, eachForFormer
  }

  /// Neighbouring iterations that wait for each other.
  private struct Meeting: Sendable {
    let first: Int
    let count: Int
    let shape: Shape
  }

  /// What an iteration has reached. Each thread that waits for it passes the signal on.
  private struct Event: Sendable {
    private let signal = DispatchSemaphore(value: 0)
    private let word: Unprotected<UnsafeMutablePointer<sem_t>>?

    /// - Parameter isSeen: Whether the library sees the waits.
    init(isSeen: Bool) {
      word = isSeen ? nil : Unprotected(.allocate(capacity: 1))
      if let word { sem_init(word.value, 0, 0) }
    }

    func free() { word?.value.deallocate() }

    func reach() {
      if let word { sem_post(word.value) } else { signal.signal() }
    }

    func wait() {
      if let word { while sem_wait(word.value) != 0 {} } else { signal.wait() }
      reach()
    }
  }

  @Sendable private static func meetAtRandom() {
    let seed = getenv("GC_STRESS_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 0...UInt64.max)
    // At once: a call may hang.
    report("seed", String(seed))
    var random = SeededRandom(seed: seed)
    let end = Stress.deadline()
    let queue = DispatchQueue(label: "meetings", attributes: .concurrent)
    var calls = 0
    while Stress.runs(until: end) {
      require(meet(&random, on: calls % 2 == 0 ? nil : queue), "each index is given once")
      calls += 1
    }
    report("calls", calls)
  }

  private static func meet(_ random: inout SeededRandom, on queue: DispatchQueue?) -> Bool {
    let count = [2, 3, 7, 64, 500, 5_000].randomElement(using: &random)!
    // The ones before are too short to measure.
    let quiet = Int.random(in: 0..<count, using: &random)
    let threads = Int(getenv("GRANDCENTRAL_THREADS").flatMap { Int32(String(cString: $0)) } ?? 2)
    var meetings: [Meeting] = []
    var place = Array(repeating: -1, count: count)
    var next = quiet
    while next < count {
      let size = min(Int.random(in: 1...threads, using: &random), count - next)
      for index in next..<next + size { place[index] = meetings.count }
      meetings.append(Meeting(first: next, count: size, shape: Shape.allCases.randomElement(using: &random)!))
      next += size
    }
    let isSeen = Bool.random(using: &random)
    let reached = (0..<count).map { _ in Event(isSeen: isSeen) }
    let arrived = meetings.map { _ in Counter() }
    let longest = UInt64([0, 0, 30, 300].randomElement(using: &random)!)
    let given = (0..<count).map { _ in Counter() }
    let (all, places) = (meetings, place)
    let body: @Sendable (Int) -> Void = { index in
      given[index].add()
      if longest > 0, index % 16 == 5 { compute(microseconds: UInt64(index) % longest) }
      if places[index] < 0 { return }
      let meeting = all[places[index]]
      let last = meeting.first + meeting.count - 1
      switch meeting.shape {
      case .alone: break
      case .all:
        if arrived[places[index]].add() == meeting.count { reached[last].reach() } else { reached[last].wait() }
      case .firstForLast:
        if index == last { reached[last].reach() } else if index == meeting.first { reached[last].wait() }
      case .eachForNext:
        if index < last { reached[index + 1].wait() }
        reached[index].reach()
      case .eachForFormer:
        if index > meeting.first { reached[index - 1].wait() }
        reached[index].reach()
      }
    }
    if let queue {
      queue.apply(iterations: count, execute: body)
    } else {
      DispatchQueue.concurrentPerform(iterations: count, execute: body)
    }
    for event in reached { event.free() }
    return given.allSatisfy { $0.value == 1 }
  }
}
