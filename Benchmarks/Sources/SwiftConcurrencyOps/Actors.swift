// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport

/// What a serial queue protects, as an actor.
private actor Counter {
  private var count: UInt64 = 0

  func add() {
    count &+= 1
  }

  func next() -> UInt64 {
    count &+= 1
    return count
  }

  /// From this actor to the other and back, again and again.
  func play(with other: Counter, rounds: Int) async {
    for _ in 0..<rounds {
      await other.add()
      add()
    }
  }
}

/// A serial queue: a task that calls what comes out of a stream.
private struct StreamQueue {
  private let items: AsyncStream<@Sendable () -> Void>.Continuation

  init() {
    let (stream, items) = AsyncStream.makeStream(of: (@Sendable () -> Void).self)
    self.items = items
    Task.detached { for await item in stream { item() } }
  }

  func async(_ item: @escaping @Sendable () -> Void) {
    items.yield(item)
  }

  /// Waits until everything submitted so far has run, and ends the task.
  func finish() {
    let done = Latch()
    async { done.open() }
    items.finish()
    done.wait()
  }
}

/// A: empty items for one after another.
func serialAsync() -> [PeerOperation] {
  func stream(_ name: String, submit: @escaping (StreamQueue, Int) -> Void) -> PeerOperation {
    PeerOperation(
      "Swift AsyncStream",
      Operation(name) {
        { n, _ in
          let queue = StreamQueue()
          submit(queue, n)
          queue.finish()
        }
      }
    )
  }
  return [
    stream("A.serial-async-1p") { queue, n in
      for _ in 0..<n { queue.async {} }
    },
    stream("A.capture-3-words") { queue, n in
      let end = UInt64(n)
      for i in 0..<end {
        let next = i &+ 1
        queue.async { bench_consume(i &+ next &+ end) }
      }
    },
    PeerOperation(
      "Swift actor",
      Operation("A.serial-async-1p", count: .calibrated(atMost: 20_000)) {
        let counter = Counter()
        return { n, _ in
          let done = Countdown(n)
          for _ in 0..<n {
            Task.detached {
              await counter.add()
              done.arrive()
            }
          }
          done.wait()
        }
      }
    ),
  ]
}

/// B, E: calls from a task to an actor, and from actor to actor.
func actorCalls() -> [PeerOperation] {
  func calls(_ name: String, _ body: @escaping @Sendable (Int) async -> Void) -> PeerOperation {
    PeerOperation("Swift actor", Operation(name) { { n, _ in inTask { await body(n) } } })
  }
  return [
    calls("B.sync-void") { n in
      let counter = Counter()
      for _ in 0..<n { await counter.add() }
    },
    calls("B.sync-returning") { n in
      let counter = Counter()
      var sum: UInt64 = 0
      for _ in 0..<n { sum &+= await counter.next() }
      bench_consume(sum)
    },
    calls("E.ping-pong") { n in
      await Counter().play(with: Counter(), rounds: n / 2)
    },
    calls("E.chain-1000") { n in
      let counters = (0..<1000).map { _ in Counter() }
      for i in 0..<n { await counters[i % 1000].add() }
    },
  ]
}

/// I: an actor that lives briefly.
func actorLives() -> [PeerOperation] {
  [
    PeerOperation(
      "Swift actor",
      Operation("I.create-destroy") {
        { n, _ in for _ in 0..<n { letEscape(Counter()) } }
      }
    )
  ]
}
