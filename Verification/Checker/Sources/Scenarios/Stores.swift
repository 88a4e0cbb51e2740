// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit

@testable import GrandCentral

func memory() -> [Scenario] {
  [
    protocolScenario("a batch goes from a depositor to a fetcher with its nodes", of: "Depot", unusual: 0) { run in
      let full = Depot.emptyClip(), empty = Depot.emptyClip(), node = Node(0)
      var fetched: NodeBatch?
      run.thread {
        node.set(7)
        full[0] = node.raw
        _ = Depot.deposit(full, count: 1)
      }
      run.thread {
        fetched = Depot.fetch(for: empty)
        if let batch = fetched {
          run.check(batch.count == 1 && Node(raw: batch[0]!).number == 7, "the batch is not what was deposited")
        }
      }
      run.finally { run.check(Depot.filledCount == (fetched == nil ? 1 : 0), "a batch was lost, or doubled") }
    },
    protocolScenario("two threads carve: no line twice", of: "Region", unusual: 0) { run in
      var made: [Int] = []
      for _ in 0..<2 { run.thread { made.append(Int(bitPattern: Region.carveClip()!.raw)) } }
      run.finally {
        run.check(abs(made[0] - made[1]) >= NodeBatch.lines * Magazine.nodeSize, "two batches share lines")
      }
    },
    protocolScenario("nodes from thread to thread", of: "Magazine", isSmall: false) { run in
      let nodes = Box(MPSCList())
      run.thread {
        for number in 0..<3 {
          let node = Node(raw: Magazine.take())
          node.set(number)
          _ = nodes.value.push(node.raw)
        }
      }
      run.thread {
        for _ in 0..<3 {
          if let head = nodes.value.head() {
            _ = nodes.value.pop(head)
            _ = Node(raw: head).number
            Magazine.give(head)
          }
        }
        Magazine.flushThread()
      }
      run.thread {
        let node = Node(raw: Magazine.take())
        node.set(9)
        Magazine.give(node.raw)
        Magazine.flushThread()
      }
    },
    protocolScenario("the table of shards is made once", of: "Depot", unusual: 0) { run in
      for _ in 0..<2 { run.thread { Depot.keep(Depot.emptyClip()) } }
    },
  ]
}

func timers() -> [Scenario] {
  [
    protocolScenario("a timer fires or is cancelled, never both", of: "TimerWheel", unusual: 0) { run in
      let lock = Box(Lock()), wheel = Box(TimerWheel(now: 0))
      let entry = Memory.allocate(64, alignment: 64).bindMemory(to: TimerEntry.self, capacity: 1)
      entry.initialize(to: TimerEntry(deadline: 1_000))
      wheel.value.insert(entry)
      var cancelled = 0, fired = 0
      run.thread {
        lock.value.withLock {
          if entry.pointee.isPending {
            wheel.value.remove(entry)
            cancelled += 1
          }
        }
      }
      run.thread {
        lock.value.lock()
        var due = wheel.value.advance(to: 1 << 20)
        while due.popFirst() != nil { fired += 1 }
        lock.value.unlock()
      }
      run.finally { run.check(cancelled + fired == 1, "cancelled \(cancelled) times, fired \(fired) times") }
    },
    protocolScenario("spinners answer each other", of: "SpinBudget", isSmall: false) { run in
      ck_machine_set_processors(2)
      let budget = Box(SpinBudget(nanoseconds: 2_000)), parker = Box(Parker())
      run.thread { parker.value.unpark() }
      run.thread {
        if !parker.value.waitBriefly(budget.value) { run.check(parker.value.park(), "the token was lost") }
      }
    },
  ]
}
