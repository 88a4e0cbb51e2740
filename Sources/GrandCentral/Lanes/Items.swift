// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// The kinds of items and what runs them. Each function takes over its job's node, gives the node back before it runs the
// closure, and has released the closure when it returns: before the next item starts. The functions for items of groups and
// for work items stand in the files of groups and work items.
enum Items {
  /// A closure, nothing else.
  static let plain: Job.Invoke = { raw in
    let job = Job(raw: raw)
    let body = job.takeBody()
    job.recycle()
    body.run()
  }
}
