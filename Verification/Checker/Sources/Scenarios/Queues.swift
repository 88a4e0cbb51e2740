// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit

@testable import GrandCentral

/// Takes everything out, as the one consumer.
private func drain(_ list: Box<MPSCList>, _ found: inout [Int]) {
  while let head = list.value.head() {
    _ = list.value.pop(head)
    let node = Node(raw: head)
    found.append(node.number)
    node.free()
  }
}

func lists() -> [Scenario] {
  [
    protocolScenario("M1: two producers, one consumer", of: "MPSCList") { run in
      let list = Box(MPSCList())
      var found: [Int] = [], firsts = 0
      for number in 1...2 { run.thread { if list.value.push(Node(number).raw) { firsts += 1 } } }
      run.thread { drain(list, &found) }
      run.finally {
        drain(list, &found)
        run.check(found.sorted() == [1, 2], "the list held \(found)")
        run.check(firsts >= 1, "nobody was told to announce")
        run.check(list.value.tailIsNil, "the list is empty and does not look so")
      }
    },
    protocolScenario("M2: one producer's order; nodes are freed after their pop (M4)", of: "MPSCList") { run in
      let list = Box(MPSCList())
      var found: [Int] = []
      run.thread { for number in 1...2 { _ = list.value.push(Node(number).raw) } }
      run.thread { for _ in 0..<2 { drain(list, &found) } }
      run.finally {
        drain(list, &found)
        run.check(found == [1, 2], "the list's order was \(found)")
      }
    },
    protocolScenario("M3: two producers of two, one consumer", of: "MPSCList", isSmall: false) { run in
      let list = Box(MPSCList())
      var found: [Int] = []
      for first in [1, 3] {
        run.thread { for number in first...first + 1 { _ = list.value.push(Node(number).raw) } }
      }
      run.thread { for _ in 0..<3 { drain(list, &found) } }
      run.finally {
        drain(list, &found)
        run.check(found.sorted() == [1, 2, 3, 4], "the list held \(found)")
        run.check(found.filter { $0 < 3 } == [1, 2] && found.filter { $0 > 2 } == [3, 4], "the order was \(found)")
      }
    },
    protocolScenario("M5: a consumer keeps the oldest node to itself, and another one comes after it", of: "MPSCList") {
      run in
      let list = Box(MPSCList())
      var found: [Int] = []
      run.thread { for number in 1...3 { _ = list.value.push(Node(number).raw) } }
      run.thread {
        var kept: UnsafeMutableRawPointer?
        while found.count < 2, let oldest = kept ?? list.value.head() {
          kept = list.value.popKept(oldest)
          let node = Node(raw: oldest)
          found.append(node.number)
          node.free()
        }
        if let kept { list.value.settle(kept) }
      }
      run.finally {
        drain(list, &found)
        run.check(found == [1, 2, 3], "the list's order was \(found)")
        run.check(list.value.tailIsNil, "the list is empty and does not look so")
      }
    },
  ]
}

/// A queue whose indices stand at `place` of their segment, and the numbers that have been put in behind that.
func queue(at place: Int, filled: Int = 0) -> Box<FIFOQueue> {
  let queue = Box(FIFOQueue())
  for _ in 0..<place {
    queue.value.enqueue(UnsafeMutableRawPointer(bitPattern: 16)!)
    _ = queue.value.dequeue()
  }
  for number in 0..<filled { queue.value.enqueue(Node(100 + number).raw) }
  return queue
}

func take(_ queue: Box<FIFOQueue>) -> Int? {
  guard let raw = queue.value.dequeue() else { return nil }
  let node = Node(raw: raw)
  defer { node.free() }
  return node.number
}

func queues() -> [Scenario] {
  func twoEnqueuers(_ place: Int) -> Scenario {
    protocolScenario("F2: two enqueuers from place \(place)", of: "FIFOQueue") { run in
      let queue = queue(at: place)
      for number in 1...2 { run.thread { queue.value.enqueue(Node(number).raw) } }
      run.finally {
        let found = [take(queue), take(queue), take(queue)]
        run.check(Set(found) == [1, 2, nil], "the queue held \(found)")
      }
    }
  }
  func oneOfEach(_ place: Int) -> Scenario {
    protocolScenario("F1: an enqueuer and a dequeuer from place \(place)", of: "FIFOQueue") { run in
      let queue = queue(at: place)
      var found: [Int] = []
      run.thread { for number in 1...2 { queue.value.enqueue(Node(number).raw) } }
      run.thread { for _ in 0..<2 { if let number = take(queue) { found.append(number) } } }
      run.finally {
        while let number = take(queue) { found.append(number) }
        run.check(found == [1, 2], "the queue's order was \(found)")
        run.check(queue.value.isEmpty, "the queue is empty and does not look so")
      }
    }
  }
  func twoDequeuers(_ place: Int) -> Scenario {
    protocolScenario("F4: two dequeuers from place \(place)", of: "FIFOQueue") { run in
      let queue = queue(at: place, filled: 2)
      var found: [Int] = []
      for _ in 0..<2 { run.thread { if let number = take(queue) { found.append(number) } } }
      run.finally {
        while let number = take(queue) { found.append(number) }
        run.check(found.sorted() == [100, 101], "the queue held \(found)")
      }
    }
  }
  return [
    twoEnqueuers(0), twoEnqueuers(61), twoEnqueuers(62), oneOfEach(0), oneOfEach(61), oneOfEach(62), twoDequeuers(0),
    twoDequeuers(61), twoDequeuers(62),
    // One dequeuer's knownTail lets the other one pass without a look at the tail.
    protocolScenario("F1: an enqueuer of two, two dequeuers", of: "FIFOQueue", isSmall: false) { run in
      let queue = queue(at: 0)
      var found: [Int] = []
      run.thread { for number in 1...2 { queue.value.enqueue(Node(number).raw) } }
      for _ in 0..<2 { run.thread { if let number = take(queue) { found.append(number) } } }
      run.finally {
        while let number = take(queue) { found.append(number) }
        run.check(found.sorted() == [1, 2], "the queue held \(found)")
      }
    },
    sleeper("looks again") { $0.value.isEmpty },
    sleeper("tries to take") { take($0) == nil },
  ]
}

/// An enqueuer looks for sleepers; a consumer becomes one, and looks again in one of the two ways: one sees the other.
private func sleeper(_ looks: String, isEmpty: @escaping (Box<FIFOQueue>) -> Bool) -> Scenario {
  protocolScenario("moveTail: an enqueuer looks for sleepers, a consumer sleeps and \(looks)", of: "FIFOQueue") { run in
    let queue = queue(at: 0), flag = Box(AtomicFlag())
    var sleeps = false, wakes = false
    run.thread {
      queue.value.enqueue(Node(1).raw)
      wakes = flag.value.isRaised
    }
    run.thread {
      flag.value.raise()
      sleeps = isEmpty(queue)
    }
    run.finally { run.check(!sleeps || wakes, "the consumer sleeps, and nobody wakes it") }
  }
}
