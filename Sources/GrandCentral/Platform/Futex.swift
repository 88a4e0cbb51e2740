// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// Sleeping on a 32-bit word, and waking the sleepers.
///
/// The kernel compares the word under its own lock, so a waker that changes the word first and wakes second is never
/// missed. Neither call orders memory for the program: the atomic operations on the word do.
enum Futex {
  /// How long a wait on the continuous clock may go on without looking at that clock. The kernel times a futex by
  /// uptime or wall clock only; a machine that slept meanwhile lets such a wait end late by this much at most.
  private static let continuousSlice: UInt64 = 10_000_000_000

  /// Sleeps while the word at `address` equals `expected`.
  ///
  /// May return early without cause, as futexes do: the caller looks at the word again, in a loop.
  /// - Returns: false when the deadline has passed, else true.
  static func wait(_ address: UnsafeRawPointer, while expected: UInt32, until deadline: Deadline? = nil) -> Bool {
    if let world = World.current { return world.wait(address, expected, World.uptime(of: deadline ?? .never)) }
    guard let deadline, !deadline.isNever else {
      waitInKernel(address, while: expected)
      return true
    }
    switch deadline.clock {
    case .uptime:
      var time = timespec(nanoseconds: deadline.nanoseconds)
      return gc_futex_wait(address, expected, &time) != -Errno.timedOut.code
    case .wall:
      var time = timespec(nanoseconds: deadline.nanoseconds)
      return gc_futex_wait_wall(address, expected, &time) != -Errno.timedOut.code
    case .continuous:
      return waitContinuous(address, while: expected, until: deadline)
    }
  }

  /// Wakes up to `count` threads that sleep on `address`.
  ///
  /// The memory is not touched: it may be gone already.
  /// - Returns: how many were woken.
  @discardableResult
  static func wake(_ address: UnsafeRawPointer, count: Int32 = 1) -> Int {
    if let world = World.current { return world.wake(address, Int(count)) }
    return wakeInKernel(address, count: count)
  }

  /// As `wait`, in the real world whatever the calling thread's is.
  static func waitInKernel(_ address: UnsafeRawPointer, while expected: UInt32) {
    _ = gc_futex_wait(address, expected, nil)
  }

  /// As `wake`, in the real world whatever the calling thread's is.
  static func wakeInKernel(_ address: UnsafeRawPointer, count: Int32) -> Int {
    Int(max(0, gc_futex_wake(address, count)))
  }

  private static func waitContinuous(
    _ address: UnsafeRawPointer, while expected: UInt32, until deadline: Deadline
  ) -> Bool {
    while true {
      let remaining = deadline.remaining()
      if remaining == 0 { return false }
      let slice = Deadline.after(min(remaining, continuousSlice), on: .uptime)
      var time = timespec(nanoseconds: slice.nanoseconds)
      if gc_futex_wait(address, expected, &time) != -Errno.timedOut.code { return true }
    }
  }
}

extension timespec {
  /// An instant as the kernel's two words.
  fileprivate init(nanoseconds: UInt64) {
    self.init(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  }
}
