// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// A descriptor that polls readable after `signal`, until it is drained.
struct EventFD: ~Copyable, Sendable {
  let descriptor: FileDescriptor

  /// Nil when the kernel makes none, for example because the process or the system has no descriptor left.
  init?() {
    var error: Errno?
    self.init(or: &error)
  }

  /// As above; says why.
  init?(or error: inout Errno?) {
    let result = gc_eventfd()
    error = Errno(result: Int(result))
    guard let descriptor = FileDescriptor(result: result) else { return nil }
    self.descriptor = descriptor
  }

  /// Makes the descriptor readable. Any thread; does not block, signals add up.
  borrowing func signal() { Self.signal(descriptor.raw) }

  /// Makes the descriptor unreadable.
  /// - Returns: how often it was signalled since it was last drained.
  @discardableResult
  borrowing func drain() -> UInt64 {
    switch descriptor.readCounter() {
    case .success(let count): count
    case .failure: 0
    }
  }

  /// Gives up the descriptor: it lives as long as the process, known by its number.
  consuming func release() -> Int32 { descriptor.take() }

  /// In a forked child: puts another one, which is not signalled, in the place of a released one, which is the parent's as well.
  ///
  /// - Returns: false if there is none. Then the number is that of the parent's still.
  static func renew(_ number: Int32) -> Bool { gc_eventfd_renew(number) >= 0 }

  /// `signal()` for a descriptor that was released. Out of line: its buffer would give the callers' quick ways a guarded
  /// frame.
  @inline(never)
  static func signal(_ number: Int32) {
    if let world = World.current { world.mayEndPolls() }
    var one: UInt64 = 1
    // unsafe: the buffer is the variable, valid for the call. A full counter (EAGAIN) is readable already, which is all
    // that is promised.
    _ = withUnsafeBytes(of: &one) { gc_write(number, $0.baseAddress, $0.count) }
  }

  /// `drain()` for a descriptor that was released.
  static func drain(_ number: Int32) {
    var counter: UInt64 = 0
    // unsafe: the buffer is the variable, valid for the call.
    _ = withUnsafeMutableBytes(of: &counter) { gc_read(number, $0.baseAddress, $0.count) }
  }
}
