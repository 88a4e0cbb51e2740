// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import GrandCentral
import Testing

/// Serial queues whose items come in all bands, on targets that are changed and suspended meanwhile: activations are overtaken,
/// left over, adopted and left behind in former targets.
@Suite("Overtaken activations under stress", .serialized)
struct QueueOvertakenStress {
  private static let submitters = 3
  private static let bands: [DispatchQoS] = [.background, .utility, .default, .userInitiated, .userInteractive]

  @Test("Q1, Q2, Q6, Q8, O4: work of all bands runs once, in order and alone, and its queues go afterwards")
  func allBands() {
    let seed = Stress.seed("overtaken")
    var random = SeededRandom(seed: seed)
    let deadline = Stress.deadline()
    repeat {
      let seeds = (0...Self.submitters).map { _ in random.next() }
      let gone = round(seeds)
      #expect(eventually { gone.allSatisfy { $0() } }, "seed \(seed): the queues go")
    } while Stress.runs(until: deadline)
  }

  /// - Returns: for each queue whether it is gone.
  private func round(_ seeds: [UInt64]) -> [() -> Bool] {
    let targets: [DispatchQueue] = [
      DispatchWorkloop(label: "loop"), DispatchQueue(label: "serial target", qos: .utility), .global(),
      DispatchQueue(label: "concurrent target", attributes: .concurrent), .global(qos: .background),
    ]
    let lanes = (0..<3).map { Lane(target: targets[$0]) }
    PlainThread.concurrently(Self.submitters + 1) { number in
      var random = SeededRandom(seed: seeds[number])
      for step in 0..<300 {
        let lane = lanes[random.below(lanes.count)]
        if number < Self.submitters {
          lane.submit(from: number, step, Self.bands[random.below(Self.bands.count)], waits: random.oneIn(30))
        } else {
          disturb(lane, targets, &random)
        }
      }
    }
    for lane in lanes {
      lane.queue.sync {}
      #expect(lane.faults.values == [])
      #expect(lane.ran.value == lane.submitted.value)
    }
    return lanes.map { lane in { [weak queue = lane.queue] in queue == nil } }
  }

  private func disturb(_ lane: Lane, _ targets: [DispatchQueue], _ random: inout SeededRandom) {
    switch random.below(8) {
    case 0: lane.queue.setTarget(queue: targets[random.below(targets.count)])
    case 1:
      let target = targets[[0, 1, 3][random.below(3)]]
      target.suspend()
      lane.queue.async(qos: .background) {}
      lane.queue.async(qos: .userInteractive) {}
      target.resume()
    case 2:
      lane.queue.suspend()
      lane.queue.async(qos: .userInitiated) {}
      lane.queue.resume()
    default: lane.queue.async {}
    }
  }
}

/// A serial queue that knows what must not happen on it.
private final class Lane: Sendable {
  let queue: DispatchQueue
  let submitted = Counter()
  let ran = Counter()
  let faults = Recorder<String>()
  private let inside = Occupancy()
  private let last = Guarded<[Int: Int]>([:])

  init(target: DispatchQueue) { queue = DispatchQueue(label: "lane", target: target) }

  func submit(from number: Int, _ step: Int, _ qos: DispatchQoS, waits: Bool) {
    submitted.add()
    if waits {
      queue.sync { run(number, step) }
    } else {
      queue.async(qos: qos) { [self] in run(number, step) }
    }
  }

  private func run(_ number: Int, _ step: Int) {
    if inside.enter() != 1 { faults.note("two items at once") }
    last.with {
      if $0[number, default: -1] >= step { faults.note("item \(step) of thread \(number) is late") }
      $0[number] = step
    }
    ran.add()
    inside.leave()
  }
}
