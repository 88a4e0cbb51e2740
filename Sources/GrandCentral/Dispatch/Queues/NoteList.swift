// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Jobs that wait for something to happen, each with the queue that it is for; first in, first out. The user's lock
/// guards it.
///
/// Each lies in a node of its own: the job's link is for the queue. `owner` is the queue, retained; `extra` the job.
struct NoteList: ~Copyable {
  private var first: UnsafeMutableRawPointer?
  private var last: UnsafeMutableRawPointer?

  @inline(__always)
  init() {}

  @inline(__always)
  var isEmpty: Bool { first == nil }

  mutating func append(_ job: Job, for queue: DispatchQueue) {
    let note = Job(invoke: { _ in }, band: job.band, owner: Unmanaged.passRetained(queue).toOpaque())
    note.extra = job.raw
    note.link = nil
    if let last { Job(raw: last).link = note.raw } else { first = note.raw }
    last = note.raw
  }

  /// Takes everything out.
  mutating func takeAll() -> NoteList {
    var all = NoteList()
    swap(&all, &self)
    return all
  }

  /// Submits what there is. Not under the lock: what it submits may come back.
  mutating func submitAll() {
    while let (job, queue) = popFirst() { queue.enqueue(job) }
  }

  private mutating func popFirst() -> (Job, DispatchQueue)? {
    guard let first else { return nil }
    let note = Job(raw: first)
    self.first = note.link
    if self.first == nil { last = nil }
    let job = Job(raw: note.extra!)
    let queue = Unmanaged<DispatchQueue>.fromOpaque(note.owner!).takeRetainedValue()
    note.recycle()
    return (job, queue)
  }
}
