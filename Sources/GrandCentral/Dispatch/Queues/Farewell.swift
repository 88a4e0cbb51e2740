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
  static func release(_ queue: Unmanaged<DispatchQueue>) {
    // Nothing ends with a global queue.
    if queue._withUnsafeGuaranteedRef({ $0.kind == .global || $0.kind == .main }) { return queue.release() }
    let thread = gc_thread_self()
    if let list = thread.pointee.farewells { return append(queue, to: list) }
    var first: UnsafeMutableRawPointer?
    _withUnprotectedUnsafeMutablePointer(to: &first) { first in
      thread.pointee.farewells = UnsafeMutableRawPointer(first)
      queue.release()
      while let raw = first.pointee {
        let job = Job(raw: raw)
        let next = Unmanaged<DispatchQueue>.fromOpaque(job.owner!)
        first.pointee = job.link
        job.recycle()
        next.release()
      }
      thread.pointee.farewells = nil
    }
  }

  private static func append(_ queue: Unmanaged<DispatchQueue>, to list: UnsafeMutableRawPointer) {
    // unsafe: the list lies in the frame of this thread's loop, which goes on until the list is empty.
    let first = list.assumingMemoryBound(to: UnsafeMutableRawPointer?.self)
    let job = Job(invoke: { _ in }, band: .normal, owner: queue.toOpaque())
    job.link = first.pointee
    first.pointee = job.raw
  }
}
