// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import Machine

/// An operation that is done many times, by as many threads as there are workers or by one.
struct Row {
  let name: String
  /// How many operations are counted with so many workers.
  let count: (_ workers: Int) -> Int
  /// Called once; what it returns does so many operations, first to warm up (round 0), then counted (round 1).
  let prepare: (_ workers: Int) -> (_ round: Int, _ count: Int) -> Void
}

/// Items arrive at the machine's global gate: they capture nothing, and nothing they do is counted.
private func afterItems(_ count: Int, _ submit: () -> Void) {
  machine_expect_items(Int64(count))
  submit()
  machine_wait_for_items()
}

private func oneProducer(_ name: String, _ makeQueue: @escaping () -> DispatchQueue) -> Row {
  Row(name: name, count: { _ in 8_000 }) { _ in
    let queue = makeQueue()
    return { _, count in
      afterItems(count) { for _ in 0..<count { queue.async { machine_item_done() } } }
    }
  }
}

/// Each of as many threads as there are workers does its share of the operations.
private func crew(
  _ name: String, items: Bool = false, each: Int = 250, _ makeShare: @escaping (_ size: Int) -> Crew.Share
) -> Row {
  Row(name: name, count: { workers in max(20 * each, each * workers) }) { workers in
    let crew = Crew(workers, makeShare(workers))
    return { round, count in
      if items {
        afterItems(count / workers * workers) { crew.run(round: round, count: count / workers) }
      } else {
        crew.run(round: round, count: count / workers)
      }
    }
  }
}

private func queues(_ count: Int) -> [DispatchQueue] {
  (0..<count).map { DispatchQueue(label: "scaling.\($0)") }
}

func allRows() -> [Row] { asyncRows() + hopRows() + performRows() + syncRows() + coordinationRows() }

private func asyncRows() -> [Row] {
  [
    oneProducer("serial-async.1-producer") { DispatchQueue(label: "scaling") },
    crew("serial-async.W-producers", items: true) { _ in
      let queue = DispatchQueue(label: "scaling")
      return { _, count in for _ in 0..<count { queue.async { machine_item_done() } } }
    },
    crew("serial-async.W-queues", items: true) { size in
      let queues = queues(size)
      return { member, count in
        let queue = queues[member]
        for _ in 0..<count { queue.async { machine_item_done() } }
      }
    },
    oneProducer("concurrent-async.1-producer") { DispatchQueue(label: "scaling", attributes: .concurrent) },
    oneProducer("global-async.1-producer") { DispatchQueue.global() },
    crew("global-async.W-producers", items: true) { _ in
      let queue = DispatchQueue.global()
      return { _, count in for _ in 0..<count { queue.async { machine_item_done() } } }
    },
    Row(name: "fork-tree", count: { workers in max(1 << 12, workers << 7) * 2 - 2 }) { _ in
      { _, count in
        let depth = Int.bitWidth - 2 - (count + 2).leadingZeroBitCount
        afterItems((2 << depth) - 2) { grow(depth) }
      }
    },
  ]
}

/// Each task submits two more, down to the given depth: 2^(depth + 1) - 2 tasks.
private func grow(_ depth: Int) {
  if depth == 0 { return }
  for _ in 0..<2 {
    DispatchQueue.global().async {
      grow(depth - 1)
      machine_item_done()
    }
  }
}

private final class Hops: @unchecked Sendable {  // one hop at a time
  private let queues: [DispatchQueue]
  /// On lines of its own: what is counted is the library's sharing, not that of a row with whatever lies beside it.
  private let left = UnsafeMutableRawPointer.allocate(byteCount: 128, alignment: 128)
    .initializeMemory(as: Int.self, to: 0)

  init(_ queues: [DispatchQueue]) { self.queues = queues }

  deinit { left.deallocate() }

  func begin(_ count: Int) {
    left.pointee = count
    hop()
  }

  private func hop() {
    if left.pointee == 0 { return machine_item_done() }
    left.pointee -= 1
    queues[left.pointee % queues.count].async { self.hop() }
  }
}

private func hopRows() -> [Row] {
  [
    Row(name: "ping-pong", count: { _ in 10_000 }) { _ in
      let hops = Hops(queues(2))
      return { _, count in afterItems(1) { hops.begin(count) } }
    },
    // From one item to many queues: the queues wait at the place, in its slot and its backlog.
    Row(name: "fan-out.256-queues", count: { _ in 256 * 20 }) { _ in
      let source = DispatchQueue(label: "scaling.source")
      let queues = queues(256)
      return { _, count in
        for _ in 0..<count / queues.count {
          afterItems(queues.count) {
            source.async {
              for queue in queues {
                queue.async {
                  machine_work(500)
                  machine_item_done()
                }
              }
            }
          }
        }
      }
    },
    Row(name: "ping-pong.W-pairs", count: { workers in max(5_000, 250 * workers) }) { workers in
      let pairs = (0..<workers).map { _ in Hops(queues(2)) }
      return { _, count in afterItems(workers) { for pair in pairs { pair.begin(count / workers) } } }
    },
  ]
}

private func performRows() -> [Row] {
  [
    Row(name: "concurrent-perform.64", count: { _ in 150 }) { _ in
      { _, count in
        for _ in 0..<count { DispatchQueue.concurrentPerform(iterations: 64) { _ in machine_work(100) } }
      }
    },
    Row(name: "concurrent-perform.100000", count: { _ in 100_000 }) { _ in
      { _, count in DispatchQueue.concurrentPerform(iterations: count) { _ in machine_work(100) } }
    },
  ]
}

private func syncRows() -> [Row] {
  [
    crew("sync.contended", each: 100) { _ in
      let queue = DispatchQueue(label: "scaling")
      return { _, count in for _ in 0..<count { queue.sync { machine_work(20) } } }
    },
    crew("sync.own-queues") { size in
      let queues = queues(size)
      return { member, count in
        let queue = queues[member]
        for _ in 0..<count { queue.sync { machine_work(20) } }
      }
    },
    crew("sync.readers") { _ in
      let queue = DispatchQueue(label: "scaling", attributes: .concurrent)
      return { _, count in for _ in 0..<count { queue.sync { machine_work(20) } } }
    },
  ]
}

private func coordinationRows() -> [Row] {
  [
    crew("group.enter-leave") { _ in
      let group = DispatchGroup()
      return { _, count in
        for _ in 0..<count {
          group.enter()
          group.leave()
        }
      }
    },
    crew("async-after.W-queues", items: true, each: 800) { size in
      let queues = queues(size)
      return { member, count in
        let queue = queues[member]
        let first = DispatchTime.now() + .milliseconds(2)
        for i in 0..<count {
          queue.asyncAfter(deadline: first + .microseconds(10 * i)) { machine_item_done() }
        }
      }
    },
    crew("semaphore.uncontended") { size in
      let semaphore = DispatchSemaphore(value: size)
      return { _, count in
        for _ in 0..<count {
          semaphore.wait()
          semaphore.signal()
        }
      }
    },
    crew("semaphore.contended", each: 100) { size in
      let semaphore = DispatchSemaphore(value: 1)
      return { _, count in
        for _ in 0..<count {
          semaphore.wait()
          machine_work(20)
          semaphore.signal()
        }
      }
    },
  ]
}
