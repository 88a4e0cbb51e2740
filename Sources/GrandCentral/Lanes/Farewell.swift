// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// Releases the target of a queue that is going, without recursion.
///
/// The last reference to a queue may be the last one to its target, and so on along a chain. Releasing the target from
/// within `deinit` would nest as deep as the chain is long, and a chain of 100,000 queues would overflow the stack. So the
/// outermost release of a thread is a loop, and releases within it leave their queue to the loop.
///
/// The thread's record points to the loop's list while there is one. The list's nodes are jobs that never run: `owner` is
/// the queue to release.
enum Farewell {
  static func release(_ lane: consuming Owned<Lane>) {
    // The release of a global queue ends nothing.
    if lane.use({ $0.kind.isBuiltIn }) { return lane.release() }
    let thread = gc_thread_self()
    if let list = thread.pointee.farewells { return append(lane, to: list) }
    let lane = lane.give()
    var first: Job?
    _withUnprotectedUnsafeMutablePointer(to: &first) { first in
      thread.pointee.farewells = UnsafeMutableRawPointer(first)
      lane.giveBack()
      while let job = first.pointee {
        let next = Owned<Lane>(word: job.owner!)
        first.pointee = job.link.map { Job(raw: $0) }
        job.recycle()
        next.release()
      }
      thread.pointee.farewells = nil
    }
  }

  private static func append(_ lane: consuming Owned<Lane>, to list: UnsafeMutableRawPointer) {
    // unsafe: the list lies in the frame of this thread's loop, which goes on until the list is empty.
    let first = list.assumingMemoryBound(to: Job?.self)
    let job = Job(invoke: { _ in }, band: .normal, owner: lane.intoWord())
    job.link = first.pointee?.raw
    first.pointee = job
  }
}
