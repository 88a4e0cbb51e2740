// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerKit
import Synchronization

@testable import GrandCentral

// Edges of the primitives that the larger scenarios do not need: what one step must have seen of another one. Where the reason
// for an ordering is that a load may not go behind a later store (the model never puts it there), a plain read stands in for
// the load: it is before the same release, and the write behind the acquire races with it if the edge is missing.

/// A number that tells a thread something and orders nothing.
struct Hint: ~Copyable {
  private let word = Atomic<Int>(0)
  func give() { word.store(1, ordering: .relaxed) }
  var isGiven: Bool { word.load(ordering: .relaxed) != 0 }
}

func edges() -> [Scenario] {
  tokenEdges() + queueEdges() + [
    protocolScenario("a look at the count beside the first thread that keeps a batch", of: "Depot", unusual: 0) { run in
      let batch = Region.carveClip()!
      run.thread { Depot.keep(batch) }
      run.thread { run.check(Depot.filledCount == 0, "nothing was deposited") }
    }
  ]
}

private func tokenEdges() -> [Scenario] {
  [
    protocolScenario("K1: two tokens that are taken as one show what both unparkers wrote", of: "Parker", unusual: 0) {
      run in
      let parker = Box(Parker()), first = Box(Hint()), second = Box(Hint())
      run.thread {
        first.value.give()
        parker.value.unpark()
      }
      run.thread {
        second.value.give()
        parker.value.unpark()
      }
      run.thread {
        while !first.value.isGiven || !second.value.isGiven { run.check(parker.value.park(), "the token was lost") }
      }
    },
    protocolScenario("a token that a reset takes shows what its unparker wrote", of: "Parker", unusual: 0) { run in
      let parker = Box(Parker()), hint = Box(Hint())
      run.thread {
        hint.value.give()
        parker.value.unpark()
      }
      run.thread {
        parker.value.reset()
        if !hint.value.isGiven { run.check(parker.value.park(), "the token was lost") }
      }
    },
  ]
}

private func queueEdges() -> [Scenario] {
  [
    protocolScenario("a link between segments shows the next one whole", of: "FIFOQueue", unusual: 0) { run in
      // A dequeuer may learn that there is more from another dequeuer's look, and from nothing else.
      let queue = queue(at: 62)
      let last = FIFOQueue.Segment(raw: queue.value.tailSegment.load(ordering: .relaxed))
      run.thread { queue.value.enqueue(Node(1).raw) }
      run.thread { run.check(!last.findNext().isConsumed, "the new segment is not empty") }
    },
    protocolScenario("F3: a later ticket's taker comes after an earlier one's", of: "FIFOQueue", unusual: 0) {
      run in
      let queue = queue(at: 0, filled: 2), word = Plain()
      run.thread {
        // Stands in for the segment word: read before the ticket is taken, written again after one of the last place is taken.
        _ = word.value
        _ = take(queue)
      }
      run.thread { if take(queue) == 101 { word.value = 1 } }
    },
    protocolScenario("a queue that looks empty: its takers have come before", of: "FIFOQueue", unusual: 0) { run in
      let queue = queue(at: 0, filled: 1), data = Plain()
      run.thread {
        data.value = 1
        _ = take(queue)
      }
      run.thread { if queue.value.isEmpty { run.check(data.value == 1, "the taker's look at the tail is not seen") } }
    },
    protocolScenario("a segment that is consumed: its readers are done with it", of: "FIFOQueue", unusual: 0) { run in
      let segment = filledSegment(but: 0), memory = Plain()
      run.thread {
        // Stands in for the segment's memory.
        _ = memory.value
        _ = segment.read(at: 0)
      }
      run.thread { if segment.isConsumed { memory.value = 1 } }
      run.finally { Memory.free(segment.raw) }
    },
    protocolScenario("limbo: a segment waits for its reader, and is used again once", of: "FIFOQueue", unusual: 0) {
      run in
      let queue = Box(FIFOQueue())
      let waiting = filledSegment(but: 0), consumed = filledSegment(but: nil), live = FIFOQueue.Segment.make()
      // The link that it had in the queue.
      waiting.next.pointee.store(live.raw, ordering: .relaxed)
      run.thread { _ = waiting.read(at: 0) }
      run.thread { queue.value.retire(waiting) }
      run.thread { queue.value.retire(consumed) }
      // Freed twice if a thread has followed the old link.
      run.finally { Memory.free(live.raw) }
    },
  ]
}

/// A segment of which all slots have been read, but for one that holds a value.
private func filledSegment(but place: Int?) -> FIFOQueue.Segment {
  let segment = FIFOQueue.Segment.make()
  for each in 0..<FIFOQueue.Segment.places {
    segment.write(UnsafeMutableRawPointer(bitPattern: 16)!, at: each)
    if each != place { _ = segment.read(at: each) }
  }
  return segment
}
