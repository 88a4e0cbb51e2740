// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A barrier of a channel.
struct IOBarrier {
  let body: @Sendable () -> Void
  /// Among those of the file; 0 if there is no file.
  let number: Int
  /// Whether it was submitted before the channel was closed: then it may use the descriptor.
  let hasDescriptor: Bool
}

/// What waits in a channel: barriers, and operations behind them; first in, first out, at a constant cost each. The
/// channel's lock guards it.
struct IOGate {
  enum Entry {
    case operation(IOOperation)
    case barrier(IOBarrier)
  }

  /// Those before `head` have passed and are nil.
  private var entries: [Entry?] = []
  private var head = 0
  private(set) var barriers = 0
  private static let leastToMove = 32

  var isEmpty: Bool { head == entries.count }
  var first: Entry? { isEmpty ? nil : entries[head] }

  mutating func append(_ entry: Entry) {
    entries.append(entry)
    if case .barrier = entry { barriers += 1 }
  }

  /// The first one passes. What stays moves up when at least as much has passed, so that each entry is moved once on average.
  mutating func removeFirst() {
    if case .barrier = first { barriers -= 1 }
    entries[head] = nil
    head += 1
    if head == entries.count {
      entries.removeAll(keepingCapacity: head <= Self.leastToMove)
      head = 0
    } else if head >= Self.leastToMove, head * 2 >= entries.count {
      entries.removeFirst(head)
      head = 0
    }
  }
}
