// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// What others may see of a thread that sleeps, and of lists from which no thread takes anything.

extension Parker {
  /// What others see of a parker while its thread waits.
  struct Sight: @unchecked Sendable {  // an address; the user sees to it that the parker is there
    fileprivate let word: UnsafeRawPointer

    var hasToken: Bool {
      // unsafe: the address of an atomic word.
      // pairs with: unpark – publishes what the unparker wrote before
      word.assumingMemoryBound(to: Atomic<UInt32>.self).pointee.load(ordering: .acquiring) == State.token
    }
  }

  var sight: Sight { Sight(word: address) }
}

extension MPSCList {
  /// The node behind `node`, or nil if there is none or its push is half done. Any thread, while no thread pops.
  borrowing func next(behind node: Job.Word) -> Job.Word? {
    // pairs with: push – publishes the next node's contents
    Self.link(node).pointee.load(ordering: .acquiring)
  }
}

extension PriorityBuckets {
  /// Whether one of the jobs satisfies the condition. Any thread, while the owner sleeps.
  func contains(where matches: (Job) -> Bool) -> Bool {
    for rank in 0..<Band.count {
      var job = first(ofRank: rank)
      while let seen = job {
        if matches(seen) { return true }
        job = seen.link.map { Job(raw: $0) }
      }
    }
    return false
  }
}

extension Items {
  /// The item that begins now leaves the group with this address at its end; 0 at the end. WaitGraph finds by it which thread
  /// a wait for the group is for: an item that has begun inside another one is noted, the outer one no longer.
  @inline(__always)
  static func note(_ group: UInt) { gc_thread_self().pointee.group = group }
}
