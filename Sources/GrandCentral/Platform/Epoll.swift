// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// A kernel object that watches many descriptors.
///
/// Each registration carries a 64-bit token that comes back with its events. One registration exists per descriptor.
struct Epoll: ~Copyable, Sendable {
  typealias Event = gc_epoll_event

  /// What to watch for, and what has happened.
  struct Interest: OptionSet, Sendable {
    let rawValue: UInt32

    static let readable = Interest(rawValue: UInt32(GC_EPOLLIN))
    static let writable = Interest(rawValue: UInt32(GC_EPOLLOUT))
    /// Exceptional conditions, such as a pressure trigger that has fired.
    static let priority = Interest(rawValue: UInt32(GC_EPOLLPRI))
    /// Reported without being asked for.
    static let error = Interest(rawValue: UInt32(GC_EPOLLERR))
    /// Reported without being asked for.
    static let hangUp = Interest(rawValue: UInt32(GC_EPOLLHUP))
    /// The peer of a stream socket writes no more.
    static let peerClosed = Interest(rawValue: UInt32(GC_EPOLLRDHUP))
    /// One event, then silence until `modify`.
    static let oneShot = Interest(rawValue: UInt32(GC_EPOLLONESHOT))
    /// An event for each change, not for each look.
    static let edgeTriggered = Interest(rawValue: GC_EPOLLET)
  }

  /// The number of events that one wait returns at most.
  static let largestBatch = 128

  let descriptor: FileDescriptor

  /// Nil when the kernel makes none, for example because the process or the system has no descriptor left.
  init?() {
    var error: Errno?
    self.init(or: &error)
  }

  /// As above; says why.
  init?(or error: inout Errno?) {
    let result = gc_epoll_create()
    error = Errno(result: Int(result))
    guard let descriptor = FileDescriptor(result: result) else { return nil }
    self.descriptor = descriptor
  }

  /// Starts watching `fd`. `.exists` when it is watched already; `.notPermitted` for a file that is always ready.
  borrowing func add(_ fd: Int32, _ interest: Interest, token: UInt64) -> Errno? {
    Errno(result: Int(gc_epoll_add(descriptor.raw, fd, interest.rawValue, token)))
  }

  /// Replaces interest and token, and arms a `.oneShot` registration again.
  borrowing func modify(_ fd: Int32, _ interest: Interest, token: UInt64) -> Errno? {
    Errno(result: Int(gc_epoll_modify(descriptor.raw, fd, interest.rawValue, token)))
  }

  /// Stops watching `fd`. Events that a concurrent wait has taken already still come.
  borrowing func remove(_ fd: Int32) -> Errno? {
    Errno(result: Int(gc_epoll_remove(descriptor.raw, fd)))
  }

  /// Waits for events, at most `timeout` nanoseconds: 0 does not block, `UInt64.max` waits for ever.
  ///
  /// - Returns: the number of events at the start of `buffer`, or the negated error number.
  borrowing func wait(into buffer: UnsafeMutableBufferPointer<Event>, timeout: UInt64) -> Int {
    // unsafe: the shim writes at most `count` events, and never more than the largest batch.
    guard let start = buffer.baseAddress else { return 0 }
    if timeout > 0, let world = World.current {
      return world.poll(timeout) { wait(into: buffer, timeout: 0) }
    }
    return Int(gc_epoll_wait(descriptor.raw, start, Int32(min(buffer.count, Epoll.largestBatch)), timeout))
  }
}

extension gc_epoll_event {
  /// What has happened.
  var happened: Epoll.Interest { Epoll.Interest(rawValue: events) }
}
