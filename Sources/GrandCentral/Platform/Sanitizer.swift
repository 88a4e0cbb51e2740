// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// What ThreadSanitizer is told, if the program is built with it and this library is not.
enum Sanitizer {
  /// What the thread has done so far comes before whatever follows a `comesAfter` with the same address.
  @inline(__always)
  static func comesBefore(_ address: UnsafeMutableRawPointer?) { gc_comes_before(address) }

  @inline(__always)
  static func comesAfter(_ address: UnsafeMutableRawPointer?) { gc_comes_after(address) }
}
