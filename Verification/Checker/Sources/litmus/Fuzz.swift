// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CheckerCore
import CheckerKit
import Synchronization

// Random small programs: the search with reduction must find exactly the outcomes that the search without it finds. So the reduction,
// whose argument is long, is checked by something that has none.

struct Program {
  enum Step {
    case load(Int, Int)
    case store(Int, Int, Int)
    case add(Int, Int)
    case exchange(Int, Int, Int, Int)
    case fence(Int)
  }

  var threads: [[Step]]

  init(_ generator: inout SplitMix) {
    let count = generator.below(4) == 0 ? 3 : 2
    var value = 1
    threads = (0..<count).map { _ in
      (0..<(count == 3 ? 1 + generator.below(2) : 2 + generator.below(2))).map { _ in
        let word = generator.below(2), order = generator.below(5)
        switch generator.below(10) {
        case 0...3: return .load(word, order)
        case 4...6:
          value += 1
          return .store(word, value, order)
        case 7: return .add(word, order)
        case 8: return .exchange(word, generator.below(3), 90 + generator.below(5), order)
        default: return .fence(order)
        }
      }
    }
  }

  /// Carries out one thread; what it has read.
  static func carryOut(_ steps: [Step], _ words: [Word]) -> String {
    var read = ""
    for step in steps {
      switch step {
      case .load(let word, let order):
        let value =
          order < 2
          ? words[word].load(.relaxed)
          : order < 4
            ? words[word].load(.acquiring)
            : words[word].load(.sequentiallyConsistent)
        read += " \(value)"
      case .store(let word, let value, let order):
        if order < 2 {
          words[word].store(value, .relaxed)
        } else if order < 4 {
          words[word].store(value, .releasing)
        } else {
          words[word].store(value, .sequentiallyConsistent)
        }
      case .add(let word, let order):
        let atomic = words[word]
        let old =
          order == 0
          ? atomic.atomic.wrappingAdd(100, ordering: .relaxed).oldValue
          : order < 4
            ? atomic.atomic.wrappingAdd(100, ordering: .acquiringAndReleasing).oldValue
            : atomic.atomic.wrappingAdd(100, ordering: .sequentiallyConsistent).oldValue
        read += " +\(old)"
      case .exchange(let word, let expected, let value, let order):
        let (done, found) =
          order < 3
          ? words[word].atomic.compareExchange(
            expected: expected, desired: value, successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed)
          : words[word].atomic.compareExchange(expected: expected, desired: value, ordering: .sequentiallyConsistent)
        read += done ? " x" : " \(found)"
      case .fence(let order):
        if order < 2 {
          atomicMemoryFence(ordering: .acquiringAndReleasing)
        } else {
          atomicMemoryFence(ordering: .sequentiallyConsistent)
        }
      }
    }
    return read
  }

  func outcomes(_ options: ck_options) -> (Set<String>, Exploration) {
    var found: Set<String> = []
    let scenario = Scenario("random program", of: "litmus") { run in
      let words = [Word(), Word()]
      var read = [String](repeating: "", count: threads.count)
      for (index, steps) in threads.enumerated() { run.thread { read[index] = Self.carryOut(steps, words) } }
      run.finally {
        found.insert(read.joined(separator: " |") + " : \(words[0].load(.relaxed)) \(words[1].load(.relaxed))")
      }
    }
    let exploration = scenario.explore(options)
    return (found, exploration)
  }
}

struct SplitMix {
  var state: UInt64
  mutating func below(_ bound: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((z ^ (z >> 31)) % UInt64(bound))
  }
}

/// Returns how many differ.
func fuzz(_ count: Int, seed: UInt64) -> Int {
  var differing = 0, compared = 0, reducedRuns: UInt64 = 0, allRuns: UInt64 = 0
  for index in 0..<count {
    var generator = SplitMix(state: seed &+ UInt64(index))
    let program = Program(&generator)
    for sc in [false, true] {
      var options = ck_default_options()
      options.quiet = true
      options.sc = sc
      options.unusual = 0
      let (reduced, first) = program.outcomes(options)
      options.preemptions = 1_000
      options.runs = 300_000
      let (all, second) = program.outcomes(options)
      if !second.isComplete { continue }
      compared += 1
      reducedRuns += first.runs
      allRuns += second.runs
      if reduced == all, first.isComplete, !first.failed { continue }
      differing += 1
      print("FAIL program \(seed &+ UInt64(index))\(sc ? " --sc" : ""): \(program.threads)")
      print("  not found with reduction:", all.subtracting(reduced).sorted(), first.message)
      print("  found only with it:", reduced.subtracting(all).sorted())
    }
  }
  print("random programs from seed \(seed): \(compared) compared, \(reducedRuns) runs reduced, \(allRuns) runs without")
  return differing
}
