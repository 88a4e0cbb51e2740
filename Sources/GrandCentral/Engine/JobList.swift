// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Jobs in the order of their arrival, by their links. One thread's at a time: its user's lock guards it, or a lane's owner has it.
struct JobList {
  private(set) var first: Job?
  /// Without a meaning while the list is empty.
  private var last: Job?

  @inline(__always)
  init() {}

  @inline(__always)
  var isEmpty: Bool { first == nil }

  /// - Parameter job: A job, or a thread that waits, which no list has.
  @inline(__always)
  mutating func append(_ job: Job) {
    job.link = nil
    if isEmpty { first = job } else { last?.link = job.raw }
    last = job
  }

  /// Takes the oldest job off.
  @inline(__always)
  mutating func popFirst() -> Job? {
    guard let job = first else { return nil }
    first = job.link.map { Job(raw: $0) }
    return job
  }
}
