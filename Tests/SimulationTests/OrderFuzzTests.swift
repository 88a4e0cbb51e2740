// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import GrandCentralTesting
import Testing

/// A program by chance: two or three threads, with one to three operations each on the same few objects. The outcome is what each
/// operation has answered, and the order of the items of one serial queue.
private struct ChancedProgram {
  private enum Act: Int, CaseIterable {
    case append, lower, upper, lowerSync, upperSync, signal, tryWait, leave, tryGroup, notifyGroup, startItem, tryItem,
      cancelItem, notifyItem, askItem, merge, cancelSource, later, schedule
    // What may come at the instant of a timer, and more kinds of queues.
    case awaitSignal, awaitGroup, awaitItem, startItemLater, hold, setRepeating, cancelTimer, read, write, main
  }

  private let threads: [[Act]]

  init(seed: UInt64) {
    var chance = SplitMix(seed)
    threads = (0..<Int.random(in: 2...3, using: &chance)).map { _ in
      (0..<Int.random(in: 1...3, using: &chance)).map { _ in Act.allCases.randomElement(using: &chance)! }
    }
  }

  var description: String { threads.map { $0.map { "\($0)" }.joined(separator: ", ") }.joined(separator: " | ") }

  /// - Parameter isReversed: The last thread's item is submitted first: the outcomes are the same ones.
  func run(_ sim: Simulation, isReversed: Bool = false) -> String {
    let objects = Objects()
    let numbered = Array(threads.enumerated())
    for (number, acts) in isReversed ? numbered.reversed() : numbered {
      DispatchQueue.global().async {
        for (index, act) in acts.enumerated() { objects.take(act, "\(number)\(index)") }
      }
    }
    sim.run()
    let left = threads.count { $0.first == .leave }
    objects.leave(3 - left)
    sim.run()
    objects.end()
    sim.run()
    return objects.outcome
  }

  private final class Objects: @unchecked Sendable {  // in a simulation one thread goes on at a time
    private let letters = DispatchQueue(label: "letters")
    private let lower = DispatchQueue(label: "lower")
    private let upper: DispatchQueue
    private let values = DispatchQueue(label: "values", attributes: .concurrent)
    private let semaphore = DispatchSemaphore(value: 0)
    private let group = DispatchGroup()
    private let item = DispatchWorkItem {}
    private let source: any DispatchSourceUserDataAdd
    private let timer: any DispatchSourceTimer
    private let seen = Box("")
    private var answers: [String: Bool] = [:]

    init() {
      upper = DispatchQueue(label: "upper", target: lower)
      source = DispatchSource.makeUserDataAddSource(queue: letters)
      timer = DispatchSource.makeTimerSource(queue: letters)
      for _ in 0..<3 { group.enter() }
      let seen = seen
      source.setEventHandler { [unowned source] in seen.value += "[d\(source.data)]" }
      source.activate()
      let fires = Box(0)
      timer.setEventHandler { [unowned timer] in
        seen.value += "[t]"
        fires.value += 1
        if fires.value == 2 { timer.cancel() }
      }
      timer.schedule(deadline: .now() + .seconds(9))
      timer.activate()
    }

    private func append(_ name: String) { letters.async { [seen] in seen.value += name + " " } }

    func take(_ act: Act, _ name: String) {
      switch act {
      case .append: append(name)
      case .lower: lower.async { self.append(name) }
      case .upper: upper.async { self.append(name) }
      case .lowerSync: lower.sync { self.append(name) }
      case .upperSync: upper.sync { self.append(name) }
      case .signal: semaphore.signal()
      case .tryWait: answers[name] = semaphore.wait(timeout: .now()) == .success
      // A thread is one member of the three.
      case .leave: if name.hasSuffix("0") { group.leave() }
      case .tryGroup: answers[name] = group.wait(timeout: .now()) == .success
      case .notifyGroup: group.notify(queue: letters) { [seen] in seen.value += name + " " }
      case .startItem: DispatchQueue.global().async(execute: item)
      case .tryItem: answers[name] = item.wait(timeout: .now()) == .success
      case .cancelItem: item.cancel()
      case .notifyItem: item.notify(queue: letters) { [seen] in seen.value += name + " " }
      case .askItem: answers[name] = item.isCancelled
      case .merge: source.add(data: 1)
      case .cancelSource: source.cancel()
      case .later: letters.asyncAfter(deadline: .now() + .seconds(1)) { [seen] in seen.value += name + " " }
      case .schedule: timer.schedule(deadline: .now() + .seconds(1))
      case .awaitSignal:
        answers[name] = semaphore.wait(timeout: .now() + .seconds(1)) == .success
        append(name)
      case .awaitGroup:
        answers[name] = group.wait(timeout: .now() + .seconds(1)) == .success
        append(name)
      case .awaitItem:
        answers[name] = item.wait(timeout: .now() + .seconds(1)) == .success
        append(name)
      case .startItemLater: letters.asyncAfter(deadline: .now() + .seconds(1), execute: item)
      case .hold:
        source.suspend()
        append(name)
        source.resume()
      case .setRepeating: timer.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1))
      case .cancelTimer: timer.cancel()
      case .read: values.sync { self.append(name) }
      case .write: values.async(flags: .barrier) { self.append(name) }
      case .main: DispatchQueue.main.async { self.append(name) }
      }
    }

    /// Sources that are not cancelled keep themselves, and the numbers of their queues.
    func end() {
      source.cancel()
      timer.cancel()
    }

    func leave(_ count: Int) { for _ in 0..<count { group.leave() } }

    var outcome: String {
      seen.value + answers.sorted { $0.key < $1.key }.map { $0.key + ($0.value ? "+" : "-") }.joined(separator: " ")
    }
  }
}

private struct SplitMix: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
    return word ^ word >> 31
  }
}

@Suite("All orders of programs by chance", .timeLimit(.minutes(30)))
struct OrderFuzzTests {
  /// `GC_ORDER_SEED` and `GC_ORDER_PROGRAMS` choose others, and more.
  @Test("What schedules by chance show, every order shows too")
  func outcomes() async {
    await #expect(processExitsWith: .success) {
      let first = getenv("GC_ORDER_SEED").flatMap { UInt64(String(cString: $0)) } ?? 1
      let count = getenv("GC_ORDER_PROGRAMS").flatMap { UInt64(String(cString: $0)) } ?? (isThorough ? 60 : 12)
      var (whole, wrong) = (0, 0)
      for seed in first..<first + count {
        let program = ChancedProgram(seed: seed)
        let (orders, chance) = (Box<Set<String>>([]), Box<Set<String>>([]))
        let report = Simulation.explore(strategy: .everyOrder(atMost: 3_000)) { orders.value.insert(program.run($0)) }
        try require(report.failure == nil, "\(seed): \(program.description) \(String(describing: report.failure))")
        try require(
          Set(report.gaps).isDisjoint(with: OrderGap.ofSearch), "\(seed): \(program.description) \(report.gaps)")
        if !report.isComplete { continue }
        whole += 1
        let reversed = Box<Set<String>>([])
        let again = Simulation.explore(strategy: .everyOrder(atMost: 3_000)) {
          reversed.value.insert(program.run($0, isReversed: true))
        }
        if again.isComplete, reversed.value != orders.value {
          wrong += 1
          tell(
            "\(seed): \(program.description): \(reversed.value.symmetricDifference(orders.value).sorted()) in one order"
          )
        }
        for strategy in [Simulation.Strategy.random, .pct(depth: 4)] {
          let report = Simulation.explore(runs: isThorough ? 1_000 : 100, strategy: strategy, processors: 8, seed: seed)
          {
            chance.value.insert(program.run($0))
          }
          try require(report.failure == nil, "\(seed): \(program.description) \(String(describing: report.failure))")
        }
        if orders.value.isSuperset(of: chance.value) { continue }
        wrong += 1
        tell(
          "\(seed): \(program.description): \(chance.value.subtracting(orders.value).sorted()) are missing of \(report.runs)"
        )
      }
      tell("\(whole) programs were complete, \(wrong) of them wrong")
      try require(wrong == 0 && (count < 10 || whole * 2 > Int(count)))
    }
  }
}
