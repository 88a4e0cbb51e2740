// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// Raw memory. Allocation does not fail: a process without memory ends with a message of the C library's.
enum Memory {
  @inline(__always)
  static func allocate(_ size: Int) -> UnsafeMutableRawPointer { gc_malloc(size) }

  @inline(__always)
  static func allocate(_ size: Int, alignment: Int) -> UnsafeMutableRawPointer { gc_aligned_alloc(alignment, size) }

  @inline(__always)
  static func free(_ memory: UnsafeMutableRawPointer) { gc_free(memory) }
}
