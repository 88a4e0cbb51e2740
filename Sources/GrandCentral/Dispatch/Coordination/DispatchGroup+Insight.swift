// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// What other processes may know of a group (Group.R5). All of it runs only where objects are listed.
extension DispatchGroup {
  @inline(never)
  @_optimize(size)
  func enterInsight() {
    _ = insight.give(InsightObjects.Facts(kind: .group, address: Borrowed(self).word))
  }

  /// Objects are listed from now on: a group that was made before gets an entry when it is next entered, or a thread waits for it.
  @inline(never)
  @_optimize(size)
  func list() {
    lock.lock()
    // relaxed: the bit is set under the lock.
    let seen = state.load(ordering: .relaxed)
    if seen & (Self.listed | Self.simulated) == 0 {
      enterInsight()
      if insight.known != 0 {
        // relaxed: Group.R5 is about one word; what it leads to is under locks.
        let before = state.bitwiseOr(Self.listed, ordering: .relaxed).oldValue
        InsightObjects.addMembers(Int(before & Self.countMask), of: insight.known)
      }
    }
    lock.unlock()
  }

  @inline(never)
  func didEnterListed(_ seen: UInt64) {
    // Group.R3
    if seen & ~(Self.watched | Self.listed) == Self.kept { _ = Owned(self).give() }
    // What lists the group counts the step.
    if seen & Self.listed == 0 { list() } else { InsightObjects.addMembers(1, of: insight.known) }
  }

  @inline(never)
  func leaveListed(_ seen: UInt64) {
    // Before the step, after which the group may be gone.
    if seen & Self.countMask != 0 { InsightObjects.addMembers(-1, of: insight.known) }
    leave(seen, marks: Self.listed)
  }
}
