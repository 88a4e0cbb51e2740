// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

/// Far more items of global queues than there may be threads. Each of them has something done elsewhere, on a serial or a concurrent
/// queue, by a timer or by a source, or on a more urgent global queue, and waits for it: in a way that the engine sees, or in one that it
/// does not see. All of them end (Contract.E1, E9), and two serial queues, one of which stands on the other, run one item at a time.
final class Rush: FuzzLife, Sendable {
  let seed: UInt64
  let story: String
  let submitted = Counter()
  private let count: Int
  /// Whether items wait for a more urgent global queue: that takes one thread of a budget that is not tiny.
  private let hasUrgent: Bool
  private let settled = Counter()
  private let failures = Recorder<String>()
  /// The second stands on the first.
  private let serial: [DispatchQueue]
  private let concurrent: DispatchQueue
  private let source: any DispatchSourceUserDataAdd
  private let added = DispatchSemaphore(value: 0)
  private let inside = Counter()

  private static let classes: [DispatchQoS.QoSClass] = [.background, .utility, .default, .userInitiated]

  init(seed: UInt64, budget: Int) {
    self.seed = seed
    var random = SeededRandom(seed: seed)
    count = budget * 2 + random.below(budget * 4)
    hasUrgent = budget >= 16 && Kernel.threadLimit > 4 * budget
    story = "a rush of \(count) items, at most \(budget) threads"
    let qos: [DispatchQoS] = [.unspecified, .background, .userInitiated]
    let first = DispatchQueue(label: "rush-serial-0", qos: qos[random.below(3)])
    serial = [first, DispatchQueue(label: "rush-serial-1", target: first), DispatchQueue(label: "rush-serial-2")]
    concurrent = DispatchQueue(label: "rush-concurrent", qos: qos[random.below(3)], attributes: .concurrent)
    source = DispatchSource.makeUserDataAddSource(queue: serial[random.below(3)])
    source.setEventHandler { [source, added] in for _ in 0..<source.data { added.signal() } }
    source.activate()
  }

  func run() -> String? {
    var random = SeededRandom(seed: seed ^ 1)
    let classes = (0..<(1 + random.below(3))).map { _ in Self.classes[random.below(Self.classes.count)] }
    for _ in 0..<count {
      let qos = classes[random.below(classes.count)]
      let (kind, choice) = (random.below(9), random.next())
      submitted.add()
      DispatchQueue.global(qos: qos).async { [self] in
        ask(kind, choice)
        settled.add()
      }
    }
    let isOver = eventually { settled.value == submitted.value || failures.count > 0 }
    // The handler holds the source.
    source.setEventHandler {}
    source.cancel()
    return failures.values.first ?? (isOver ? nil : "items do not end")
  }

  /// What one item does.
  private func ask(_ kind: Int, _ choice: UInt64) {
    let queue = serial[Int(choice % 3)]
    let isSeen = choice & 64 == 0
    switch kind {
    case 0, 1: waitFor(seen: isSeen) { done in queue.async { self.answer(on: queue, done) } }
    case 2: queue.sync { answer(on: queue) {} }
    case 3: waitFor(seen: isSeen) { done in self.concurrent.async(flags: .barrier, execute: done) }
    case 4:
      let delay = DispatchTimeInterval.microseconds(Int(choice >> 8 % 2000))
      waitFor(seen: isSeen) { done in queue.asyncAfter(deadline: .now() + delay, execute: done) }
    case 5:
      let item = DispatchWorkItem {}
      DispatchQueue(label: "rush-own", target: choice & 128 == 0 ? queue : nil).async(execute: item)
      item.wait()
    case 6:
      source.add(data: 1)
      added.wait()
    case 7 where hasUrgent:
      waitFor(seen: isSeen) { done in DispatchQueue.global(qos: .userInteractive).async(execute: done) }
    default:
      if isSeen { usleep(UInt32(choice >> 8 % 1000)) }
      let end = monotonicNanoseconds() + choice >> 8 % 200_000
      while monotonicNanoseconds() < end {}
    }
  }

  private func answer(on queue: DispatchQueue, _ done: () -> Void) {
    // The first two queues are one line.
    if queue !== serial[2] {
      if inside.add() != 1 { failures.note("two items at once on a serial queue") }
      inside.add(-1)
    }
    done()
  }

  /// Has `work` call its argument once, anywhere, and waits for that.
  private func waitFor(seen: Bool, _ work: (@escaping @Sendable () -> Void) -> Void) {
    if seen {
      let semaphore = DispatchSemaphore(value: 0)
      work { semaphore.signal() }
      semaphore.wait()
    } else {
      let latch = Latch()
      work { latch.open() }
      latch.wait(seconds: 1e6)
    }
  }

  var state: String {
    "items \(settled.value) of \(submitted.value)\n  \((serial + [concurrent]).map(\.description).joined(separator: "\n  "))"
  }
}
