// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit
import Synchronization

@testable import GrandCentral

// What the engine keeps for others to look at: its own beginning, workers' records, what they run; and what a fork locks.

/// A record of the insight region: its number, and two words that change together.
private struct SharedRecord {
  let words = UnsafeMutablePointer<Atomic<UInt32>>.allocate(capacity: 3)

  init() { for index in 0..<3 { (words + index).initialize(to: Atomic(0)) } }

  /// One word at a time; nothing orders them.
  func change() {
    InsightSequence(words).change {
      (words + 1).pointee.store(1, ordering: .relaxed)
      (words + 2).pointee.store(1, ordering: .relaxed)
    }
  }

  func copy() -> (UInt32, UInt32) {
    ((words + 1).pointee.load(ordering: .relaxed), (words + 2).pointee.load(ordering: .relaxed))
  }
}

func records() -> [Scenario] {
  [
    protocolScenario("a thread looks at a record of the region that changes", of: "InsightSequence", unusual: 0) {
      run in
      let record = SharedRecord()
      run.thread { record.change() }
      run.thread {
        if let copy = InsightSequence(record.words).whole({ record.copy() }) {
          run.check(copy.0 == copy.1, "the copy has half of a change")
        }
      }
    },
    protocolScenario("another process looks at a record of the region", of: "InsightSequence", unusual: 0) { run in
      let record = SharedRecord()
      run.thread { record.change() }
      run.thread {
        // As `RegionMemory.stable` of the tool, which cannot write there.
        let before = record.words.pointee.load(ordering: .acquiring)
        let copy = record.copy()
        atomicMemoryFence(ordering: .acquiring)
        let after = record.words.pointee.load(ordering: .acquiring)
        if before & 1 == 0, before == after { run.check(copy.0 == copy.1, "the copy has half of a change") }
      }
    },
    protocolScenario("the engine is looked for while it is made", of: "Engine", unusual: 0) { run in
      run.thread { _ = Engine.shared }
      run.thread { if let engine = Engine.existing { run.check(engine.pointee.workers.count == 0, "it has begun") } }
    },
    protocolScenario("a record is made while another thread looks at all of them", of: "WorkerTable", unusual: 0) {
      run in
      let table = Box(WorkerTable())
      run.thread { _ = table.value.take() }
      run.thread {
        for index in 0..<table.value.count {
          run.check(table.value[index].pointee.index == index, "another one's record")
        }
      }
    },
    protocolScenario("a record is given back and taken: no two threads have one", of: "WorkerTable", unusual: 0) {
      run in
      let table = Box(WorkerTable())
      let first = table.value.take()
      var taken: [Worker.Pointer] = []
      run.thread {
        table.value.give(first)
        taken.append(table.value.take())
      }
      run.thread { taken.append(table.value.take()) }
      run.finally {
        run.check(taken[0] != taken[1] && table.value.count <= 2, "a record has two threads, or one is lost")
      }
    },
    protocolScenario("a worker's lane is named for a report, and goes away", of: "Inspection", unusual: 0) { run in
      // The lane's name is looked up by a function that the first global queue has set.
      _ = DispatchQueue.global()
      engine.pointee.setParallelism(1)
      engine.pointee.pool.update {
        $0.rawValue = PoolState.liveOne
        $0.block()
      }
      standInForMonitor()
      let worker = engine.pointee.workers.take()
      run.thread {
        let lane = Box<DispatchQueue?>(DispatchQueue(label: "short-lived"))
        lane.value?.publishRunning(worker)
        lane.value?.withdrawRunning(worker, outer: nil)
        lane.value = nil
      }
      run.thread { engine.pointee.reportExhaustion() }
    },
    protocolScenario("what a worker has published, while somebody looks, and afterwards", of: "Inspection", unusual: 0)
    { run in
      let inspection = Box(Inspection()), worker = engine.pointee.workers.take(), lane = Node(7)
      run.thread {
        // As `Lane.publishRunning` and `withdrawRunning`; then the lane goes away.
        worker.pointee.runningLane.store(lane.raw, ordering: .releasing)
        worker.pointee.runningLane.store(nil, ordering: .releasing)
        inspection.value.passWhileInspected()
        lane.set(0)
      }
      run.thread {
        inspection.value.withLanesHeld {
          guard let raw = worker.pointee.runningLane.load(ordering: .acquiring) else { return }
          run.check(Node(raw: raw).number == 7, "the lane has gone while somebody looks")
        }
      }
    },
    protocolScenario("a fork's locks beside a timer and a registration", of: "Fork", unusual: 0) { run in
      standInForPool()
      let pipe = makePipe(), watch = DescriptorWatch.Pointer.allocate(capacity: 1)
      watch.initialize(
        to: DescriptorWatch(pipe.reading, .readable, context: UnsafeMutableRawPointer(watch), report: { _, _ in true }))
      run.thread {
        Fork.prepare()
        Fork.parent()
      }
      run.thread {
        engine.pointee.timers.add(makeTimer(1 << 30), on: .uptime, in: engine.pointee)
        run.check(engine.pointee.poller.watch(watch, in: engine.pointee) == .watched, "the descriptor is not watched")
      }
    },
  ]
}
