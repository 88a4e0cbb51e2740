// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// What ThreadSanitizer is told: of the order of things, if the program is built with it and this library is not; and what it is not to
/// see of a simulation.
enum Sanitizer {
  /// What the thread has done so far comes before whatever follows a `comesAfter` with the same address.
  @inline(__always)
  static func comesBefore(_ address: UnsafeMutableRawPointer?) { gc_comes_before(address) }

  @inline(__always)
  static func comesAfter(_ address: UnsafeMutableRawPointer?) { gc_comes_after(address) }

  /// As above, for what an object stands for.
  @inline(__always)
  static func comesBefore(_ object: AnyObject) { gc_comes_before(.init(bitPattern: number(of: object))) }

  @inline(__always)
  static func comesAfter(_ object: AnyObject) { gc_comes_after(.init(bitPattern: number(of: object))) }

  private static func number(of object: AnyObject) -> UInt { UInt(bitPattern: ObjectIdentifier(object)) }

  /// Whether ThreadSanitizer is there.
  static var isWatched: Bool { gc_is_watched() }

  /// How many reports it has made.
  static var reports: Int { gc_sanitizer_reports() }

  /// Calls the function behind each report, on the thread that has raced.
  static func listen(_ heard: (@convention(c) () -> Void)?) { gc_sanitizer_listen(heard) }

  /// What the body does puts nothing in order, and is no race. A simulation's threads hand the turn to each other in it: otherwise each
  /// step would come before all that follow it, and no race would be seen.
  @inline(__always)
  static func unseen<Result>(_ body: () -> Result) -> Result {
    gc_unseen()
    defer { gc_seen_again() }
    return body()
  }

  /// Inside of `unseen`.
  @inline(__always)
  static func seen<Result>(_ body: () -> Result) -> Result {
    gc_seen_again()
    defer { gc_unseen() }
    return body()
  }
}
