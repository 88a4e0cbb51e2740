// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Something that a thread waits for and that is no lane: a group, a work item, a once. The layers above know more of it.
///
/// Nothing is retained: the call that waits keeps it alive.
struct Awaited {
  /// Where the work that ends the wait is at this moment, as far as that is certain.
  enum Whereabouts: Equatable {
    /// It runs on that thread, and nowhere else.
    case runs(on: UInt32)
    /// It is one job, or some of them, that have the object as their `owner` or `extra`; or it runs, on threads that have noted
    /// the object as their item's group.
    case waits
    /// It is not known, or the waiter has been let go.
    case unknown
  }

  /// For messages.
  let kind: WaitNote.Kind
  let address: Job.Word
  /// Nil where nothing lists the waiters.
  private let waiter: UnsafeMutablePointer<Waiter>?
  private let look: (Awaited) -> Whereabouts

  /// - Parameter look: Called with the graph's lock held and the hierarchy's: it may take the object's own lock, no other.
  @inline(__always)
  init(
    _ kind: WaitNote.Kind, _ address: Job.Word, _ waiter: UnsafeMutablePointer<Waiter>?,
    look: @escaping (Awaited) -> Whereabouts
  ) {
    self.kind = kind
    self.address = address
    self.waiter = waiter
    self.look = look
  }

  var whereabouts: Whereabouts { look(self) }

  // MARK: For `look`

  /// Whether the waiter has not been let go. The object's lock is held.
  var isListed: Bool { waiter?.pointee.isListed ?? false }

  /// What the object's word holds, for one that is a word and no more.
  var word: UInt32 {
    // unsafe: the address of an atomic word.
    // relaxed: only the number counts.
    address.assumingMemoryBound(to: Atomic<UInt32>.self).pointee.load(ordering: .relaxed)
  }
}
