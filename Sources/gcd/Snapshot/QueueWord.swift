// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// What a queue's own word says at the moment of the look.
///
/// The word lies in the process's memory, not in its region: the kernel lets the tool read it where the tool might trace the
/// process. Where it may not, what threads have noted when their waits began is all that is known.
struct QueueWord: Sendable, Equatable {
  /// The thread that holds the queue; 0: none.
  var owner: Int32 = 0
  /// How many items of a concurrent queue run.
  var readers = 0
  /// No thread holds the queue. It has items, and waits for its turn: on its target, or on a worker.
  var isOnItsWay = false
}

extension QueueWord {
  init(_ word: UInt64) {
    owner = Int32(truncatingIfNeeded: word & UInt64(GC_QUEUE_OWNER_MASK))
    readers = Int(word >> UInt64(GC_QUEUE_READERS_SHIFT) & UInt64(GC_QUEUE_OWNER_MASK))
    isOnItsWay = word >> UInt64(GC_QUEUE_ON_ITS_WAY_SHIFT) & 1 != 0
  }
}

extension Snapshot {
  /// So many queues are looked at, at most.
  private static let mostWords = 1_024

  /// Reads the words of the queues that threads wait for, and of their targets. `tids` are the numbers that the process's memory has of
  /// its threads: a word with another number in it is not believed.
  mutating func addQueueWords(_ tids: Set<Int32>) {
    var left = Self.mostWords
    for wait in threads.compactMap({ $0.state == .waiting ? $0.wait : nil }) where wait.placeOfWord != 0 {
      for queue in chain(of: wait) where queue.kind != .global && queue.word == nil && left > 0 {
        left -= 1
        guard let index = objects.firstIndex(where: { $0.number == queue.number }),
          let bits = KernelReading.word(pid, at: queue.address &+ UInt64(wait.placeOfWord))
        else { continue }
        var word = QueueWord(bits)
        guard word.owner == 0 || tids.contains(word.owner) else { continue }
        if let numbers { word.owner = numbers[word.owner] ?? 0 }
        objects[index].word = word
      }
    }
  }

  /// The thread that holds a queue that is waited for, or one of its targets, and which of them that is.
  func holder(_ chain: [Object]) -> (tid: Int32, queue: Object)? {
    for queue in chain {
      if let owner = queue.word?.owner, owner != 0 { return (owner, queue) }
    }
    return nil
  }
}
