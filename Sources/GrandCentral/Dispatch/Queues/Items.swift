// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

// The kinds of items and what runs them. Each function takes over its job's node, gives the node back before it runs
// the closure, and has released the closure when it returns: before the next item starts.
enum Items {
  /// A closure, nothing else.
  static let plain: Job.Invoke = { raw in
    let job = Job(raw: raw)
    let body = job.takeBody()
    Items.adopt(job)
    job.recycle()
    body.run()
  }

  /// A closure that leaves a group afterwards; `extra` is the group, retained.
  static let grouped: Job.Invoke = { raw in
    let job = Job(raw: raw)
    let group = Unmanaged<DispatchGroup>.fromOpaque(job.extra!)
    Items.adopt(job)
    let body = job.takeBody()
    job.recycle()
    body.run()
    group._withUnsafeGuaranteedRef { $0.leave() }
    group.release()
  }

  /// A work item; `extra` is the item, retained.
  static let workItem: Job.Invoke = { raw in
    let job = Job(raw: raw)
    let item = Unmanaged<DispatchWorkItem>.fromOpaque(job.extra!)
    Items.adopt(job)
    job.recycle()
    item._withUnsafeGuaranteedRef { $0.runSubmitted() }
    item.release()
  }

  /// A work item that leaves a group afterwards; `extra` is the item, `owner` the group, both retained.
  static let groupedWorkItem: Job.Invoke = { raw in
    let job = Job(raw: raw)
    let item = Unmanaged<DispatchWorkItem>.fromOpaque(job.extra!)
    let group = Unmanaged<DispatchGroup>.fromOpaque(job.owner!)
    Items.adopt(job)
    job.recycle()
    item._withUnsafeGuaranteedRef { $0.runSubmitted() }
    item.release()
    group._withUnsafeGuaranteedRef { $0.leave() }
    group.release()
  }

  /// The thread takes on the item's QoS and band while it runs it.
  @inline(__always)
  static func adopt(_ job: Job) {
    gc_thread_self().pointee.qos = UInt32(job.qos)
  }
}
