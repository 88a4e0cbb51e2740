// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CheckerKit
import Synchronization

typealias Load = AtomicLoadOrdering
typealias Store = AtomicStoreOrdering

private func storeBuffering(_ name: String, _ store: Store, _ load: Load, fence: Bool, _ allowed: Set<String>) -> Litmus
{
  Litmus(name: "store buffering, " + name, allowed: allowed, withSC: ["01", "10", "11"]) { run, outcome in
    let x = Word(), y = Word()
    var a = 0, b = 0
    run.thread {
      x.store(1, store)
      if fence { atomicMemoryFence(ordering: .sequentiallyConsistent) }
      a = y.load(load)
    }
    run.thread {
      y.store(1, store)
      if fence { atomicMemoryFence(ordering: .sequentiallyConsistent) }
      b = x.load(load)
    }
    outcome { "\(a)\(b)" }
  }
}

/// Between its store and its load of the other word, each thread reads its own store.
private func bufferedReads(_ name: String, _ store: Store, _ allowed: Set<String>) -> Litmus {
  Litmus(name: "store buffering, own stores read, " + name, allowed: allowed, withSC: ["01", "10", "11"]) {
    run, outcome in
    let x = Word(), y = Word()
    var a = 0, b = 0
    run.thread {
      x.store(1, store)
      _ = x.load(.sequentiallyConsistent)
      a = y.load(.sequentiallyConsistent)
    }
    run.thread {
      y.store(1, store)
      _ = y.load(.sequentiallyConsistent)
      b = x.load(.sequentiallyConsistent)
    }
    outcome { "\(a)\(b)" }
  }
}

private func messagePassing(_ name: String, _ store: Store, _ load: Load, fence: Bool, _ allowed: Set<String>) -> Litmus
{
  Litmus(name: "message passing, " + name, allowed: allowed, withSC: ["00", "01", "11"]) { run, outcome in
    let x = Word(), y = Word()
    var a = 0, b = 0
    run.thread {
      x.store(1, .relaxed)
      if fence { atomicMemoryFence(ordering: .releasing) }
      y.store(1, store)
    }
    run.thread {
      a = y.load(load)
      if fence { atomicMemoryFence(ordering: .acquiring) }
      b = x.load(.relaxed)
    }
    outcome { "\(a)\(b)" }
  }
}

private func iriw(_ name: String, _ store: Store, _ load: Load, _ forbids: Bool) -> Litmus {
  var all: Set<String> = []
  for i in 0..<16 { all.insert((0..<4).map { i >> $0 & 1 == 1 ? "1" : "0" }.joined()) }
  let sc = all.subtracting(["1010"])
  return Litmus(
    name: "independent reads of independent writes, " + name, allowed: forbids ? sc : all, withSC: sc, isShort: forbids
  ) {
    run, outcome in
    let x = Word(), y = Word()
    var a = 0, b = 0, c = 0, d = 0
    run.thread { x.store(1, store) }
    run.thread { y.store(1, store) }
    run.thread { (a, b) = (x.load(load), y.load(load)) }
    run.thread { (c, d) = (y.load(load), x.load(load)) }
    outcome { "\(a)\(b)\(c)\(d)" }
  }
}

/// The final values: what comes last in the order of modification.
private func twoPlusTwoWrites(_ name: String, _ store: Store, _ allowed: Set<String>) -> Litmus {
  Litmus(name: "2+2W, " + name, allowed: allowed, withSC: ["12", "21", "22"]) { run, outcome in
    let x = Word(), y = Word()
    run.thread {
      x.store(1, store)
      y.store(2, store)
    }
    run.thread {
      y.store(1, store)
      x.store(2, store)
    }
    outcome { "\(x.load(.relaxed))\(y.load(.relaxed))" }
  }
}

private let sb: Set<String> = ["00", "01", "10", "11"]
private let mp: Set<String> = ["00", "01", "10", "11"]

let tests: [Litmus] = [
  storeBuffering("relaxed", .relaxed, .relaxed, fence: false, sb),
  storeBuffering("release and acquire", .releasing, .acquiring, fence: false, sb),
  storeBuffering("SeqCst", .sequentiallyConsistent, .sequentiallyConsistent, fence: false, ["01", "10", "11"]),
  storeBuffering("SeqCst stores only", .sequentiallyConsistent, .acquiring, fence: false, sb),
  bufferedReads("release", .releasing, sb),
  bufferedReads("SeqCst", .sequentiallyConsistent, ["01", "10", "11"]),
  storeBuffering("SeqCst fences", .relaxed, .relaxed, fence: true, ["01", "10", "11"]),

  messagePassing("relaxed", .relaxed, .relaxed, fence: false, mp),
  messagePassing("release and acquire", .releasing, .acquiring, fence: false, ["00", "01", "11"]),
  messagePassing("no acquire", .releasing, .relaxed, fence: false, mp),
  messagePassing("no release", .relaxed, .acquiring, fence: false, mp),
  messagePassing("fences", .relaxed, .relaxed, fence: true, ["00", "01", "11"]),

  iriw("acquire", .releasing, .acquiring, false),
  iriw("SeqCst", .sequentiallyConsistent, .sequentiallyConsistent, true),

  twoPlusTwoWrites("relaxed", .relaxed, ["11", "12", "21", "22"]),
  twoPlusTwoWrites("release", .releasing, ["11", "12", "21", "22"]),
  twoPlusTwoWrites("SeqCst", .sequentiallyConsistent, ["12", "21", "22"]),

  Litmus(name: "load buffering: excluded", allowed: ["00", "01", "10"], withSC: ["00", "01", "10"]) { run, outcome in
    let x = Word(), y = Word()
    var a = 0, b = 0
    run.thread {
      a = x.load(.relaxed)
      y.store(1, .relaxed)
    }
    run.thread {
      b = y.load(.relaxed)
      x.store(1, .relaxed)
    }
    outcome { "\(a)\(b)" }
  },

  Litmus(name: "coherence of two reads", allowed: ["00", "01", "11"], withSC: ["00", "01", "11"]) { run, outcome in
    let x = Word()
    var a = 0, b = 0
    run.thread { x.store(1, .relaxed) }
    run.thread { (a, b) = (x.load(.relaxed), x.load(.relaxed)) }
    outcome { "\(a)\(b)" }
  },

  Litmus(name: "coherence: two readers see one order", allowed: coherent, withSC: coherent, isShort: false) {
    run, outcome in
    let x = Word()
    var a = 0, b = 0, c = 0, d = 0
    run.thread { x.store(1, .relaxed) }
    run.thread { x.store(2, .relaxed) }
    run.thread { (a, b) = (x.load(.relaxed), x.load(.relaxed)) }
    run.thread { (c, d) = (x.load(.relaxed), x.load(.relaxed)) }
    outcome { "\(a)\(b)\(c)\(d)" }
  },

  Litmus(name: "an own write is read, or a newer one", allowed: ["1", "2"], withSC: ["1", "2"]) { run, outcome in
    let x = Word()
    var a = 0
    run.thread { x.store(2, .relaxed) }
    run.thread {
      x.store(1, .relaxed)
      a = x.load(.relaxed)
    }
    outcome { "\(a)" }
  },

  Litmus(name: "updates are one after the other", allowed: ["2 01", "2 10"], withSC: ["2 01", "2 10"]) { run, outcome in
    let x = Word()
    var a = 0, b = 0
    run.thread { a = x.atomic.wrappingAdd(1, ordering: .relaxed).oldValue }
    run.thread { b = x.atomic.wrappingAdd(1, ordering: .relaxed).oldValue }
    outcome { "\(x.load(.relaxed)) \(a)\(b)" }
  },

  // x is 1 before y is released by thread 1; thread 2's relaxed update hands the release on.
  Litmus(name: "release sequence through an update", allowed: ["00", "01", "10", "11", "21"]) { run, outcome in
    let x = Word(), y = Word()
    var a = 0, b = 0
    run.thread {
      x.store(1, .relaxed)
      y.store(1, .releasing)
    }
    run.thread { _ = y.atomic.compareExchange(expected: 1, desired: 2, ordering: .relaxed) }
    run.thread {
      a = y.load(.acquiring)
      b = x.load(.relaxed)
    }
    outcome { "\(a)\(b)" }
  }.without("10"),

  Litmus(name: "no release sequence through a store", allowed: ["00", "01", "11", "20", "21"]) { run, outcome in
    let x = Word(), y = Word()
    var a = 0, b = 0
    run.thread {
      x.store(1, .relaxed)
      y.store(1, .releasing)
      y.store(2, .relaxed)
    }
    run.thread {
      a = y.load(.acquiring)
      b = x.load(.relaxed)
    }
    outcome { "\(a)\(b)" }
  },

  Litmus(name: "write-to-read causality", allowed: ["000", "001", "100", "101", "111", "110"]) { run, outcome in
    let x = Word(), y = Word()
    var a = 0, b = 0, c = 0
    run.thread { x.store(1, .relaxed) }
    run.thread {
      a = x.load(.acquiring)
      y.store(1, .releasing)
    }
    run.thread {
      b = y.load(.acquiring)
      c = x.load(.relaxed)
    }
    outcome { "\(a)\(b)\(c)" }
  }.with("010", "011").without("110"),

  // The second store of x hangs on the first one, and goes before it all the same: no order of the steps reads it as the newest.
  Litmus(
    name: "a store goes before the one that it hangs on",
    allowed: ["001", "002", "101", "102", "201", "202", "011", "012", "111", "112", "211", "212"],
    withSC: ["001", "002", "101", "102", "201", "202", "012", "112", "212"]
  ) { run, outcome in
    let x = Word(), y = Word()
    var a = 0, b = 0
    run.thread {
      x.store(1, .relaxed)
      y.store(1, .relaxed)
    }
    run.thread { a = x.load(.relaxed) }
    run.thread {
      b = y.load(.relaxed)
      x.store(2, .relaxed)
    }
    outcome { "\(a)\(b)\(x.load(.relaxed))" }
  },

  // A SeqCst load is ordered after SeqCst stores of the same location only.
  Litmus(name: "a SeqCst fence and a SeqCst store", allowed: ["01", "10", "11"]) { run, outcome in
    let x = Word(), y = Word()
    var a = 0, b = 0
    run.thread {
      x.store(1, .relaxed)
      atomicMemoryFence(ordering: .sequentiallyConsistent)
      a = y.load(.relaxed)
    }
    run.thread {
      y.store(1, .sequentiallyConsistent)
      b = x.load(.sequentiallyConsistent)
    }
    outcome { "\(a)\(b)" }
  },

  Litmus(name: "a weak exchange may fail", allowed: ["true", "false"], withSC: ["true"]) { run, outcome in
    let x = Word()
    var done = false
    run.thread { done = x.atomic.weakCompareExchange(expected: 0, desired: 1, ordering: .relaxed).exchanged }
    outcome { "\(done)" }
  },
]

private let coherent: Set<String> = {
  // Each reader's pair goes forward in one of the two orders, the same for both.
  var all: Set<String> = []
  for order in [[0, 1, 2], [0, 2, 1]] {
    for a in 0..<3 {
      for b in a..<3 {
        for c in 0..<3 {
          for d in c..<3 {
            all.insert("\(order[a])\(order[b])\(order[c])\(order[d])")
          }
        }
      }
    }
  }
  return all
}()

extension Litmus {
  func without(_ outcomes: String...) -> Litmus {
    Litmus(name: name, allowed: allowed.subtracting(outcomes), withSC: withSC, body: body)
  }
  func with(_ outcomes: String...) -> Litmus {
    Litmus(name: name, allowed: allowed.union(outcomes), withSC: withSC, body: body)
  }
}
