// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Jobs that wait for something to happen, each with the queue that it is for; first in, first out. The user's lock
/// guards it.
///
/// Each lies in a node of its own: the job's link is for the queue. `owner` is the queue, retained; `extra` the job.
struct NoteList: ~Copyable {
  private var notes = JobList()

  @inline(__always)
  init() {}

  @inline(__always)
  var isEmpty: Bool { notes.isEmpty }

  mutating func append(_ job: Job, for queue: Lane) {
    let note = Job(invoke: { _ in }, band: job.band, owner: Owned(queue).intoWord())
    note.extra = job.raw
    notes.append(note)
  }

  /// Takes everything out.
  mutating func takeAll() -> NoteList {
    var all = NoteList()
    swap(&all, &self)
    return all
  }

  /// Submits what there is. Not under the lock: what it submits may come back.
  mutating func submitAll() {
    while let (job, queue) = popFirst() { queue.enqueueSlow(job) }
  }

  private mutating func popFirst() -> (Job, Lane)? {
    guard let note = notes.popFirst() else { return nil }
    let job = Job(raw: note.extra!)
    let queue = Owned<Lane>(word: note.owner!).take()
    note.recycle()
    return (job, queue)
  }
}
