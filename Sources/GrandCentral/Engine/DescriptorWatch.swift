// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// One party's interest in a descriptor, in memory that the party provides and keeps in place while it is watched.
struct DescriptorWatch: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<DescriptorWatch>

  /// Tells the party what has happened, with the table's lock held: it must not call the table.
  ///
  /// - Returns: whether it wants to hear more before it has called `rearm`.
  typealias Report = @convention(c) (_ context: UnsafeMutableRawPointer, _ happened: UInt32) -> Bool

  /// Reported instead of events: the descriptor was closed behind the watch's back. The watch is off the table.
  static let gone: UInt32 = .max

  /// Guarded by the table's lock.
  var next: Pointer?
  let descriptor: Int32
  /// What is watched for, as bits: a stored option set would bring the tables of its conformances into each program, for reflection.
  private let interestBits: UInt32
  var interest: Epoll.Interest { Epoll.Interest(rawValue: interestBits) }
  let report: Report
  let context: UnsafeMutableRawPointer
  /// Guarded by the table's lock: whether events are wanted now.
  var isArmed = true
  /// Guarded by the table's lock: whether the table has it.
  var isListed = false
  /// Guarded by the table's lock: the generation of the process whose table that is. A forked child has a copy of the watch, and not the table.
  var generation: UInt32 = 0

  init(_ descriptor: Int32, _ interest: Epoll.Interest, context: UnsafeMutableRawPointer, report: @escaping Report) {
    self.descriptor = descriptor
    interestBits = interest.rawValue
    self.context = context
    self.report = report
  }
}
