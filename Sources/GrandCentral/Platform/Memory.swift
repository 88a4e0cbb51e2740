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

  /// Fresh zeroed pages at an address that is a multiple of `size`, a power of two. They cost nothing until touched.
  static func map(_ size: Int) -> UnsafeMutableRawPointer { gc_map(size) }

  static func unmap(_ memory: UnsafeMutableRawPointer, _ size: Int) { gc_unmap(memory, size) }

  /// Has the kernel provide pages now, in one call, that would otherwise each cost a fault.
  static func populate(_ memory: UnsafeMutableRawPointer, _ size: Int) { gc_populate(memory, size) }

  /// Takes away the pages that hold `size` bytes at `memory`, whoever mapped them.
  static func unmapPages(_ memory: UnsafeRawPointer, _ size: Int) { _ = gc_unmap_pages(memory, size) }
}
