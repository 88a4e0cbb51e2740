// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// Raw memory.
///
/// Where there is none, the thread that asks waits for it, for a second: other threads may give some back meanwhile. Then
/// the process ends, with a message.
enum Memory {
  @inline(__always)
  static func allocate(_ size: Int) -> UnsafeMutableRawPointer { gc_malloc(size) ?? allocateSlow(size, alignment: 16) }

  @inline(__always)
  static func allocate(_ size: Int, alignment: Int) -> UnsafeMutableRawPointer {
    gc_aligned_alloc(alignment, size) ?? allocateSlow(size, alignment: alignment)
  }

  @inline(never)
  private static func allocateSlow(_ size: Int, alignment: Int) -> UnsafeMutableRawPointer {
    var patience = Patience()
    while true {
      patience.wait(for: size)
      if let memory = gc_aligned_alloc(alignment, size) {
        patience.isRewarded()
        return memory
      }
    }
  }

  @inline(__always)
  static func free(_ memory: UnsafeMutableRawPointer) { gc_free(memory) }

  /// Fresh zeroed pages at an address that is a multiple of `size`, a power of two. They cost nothing until touched. Nil
  /// where there is no room: the caller decides whether to wait, see `Patience`.
  static func map(_ size: Int) -> UnsafeMutableRawPointer? { gc_map(size) }

  static func unmap(_ memory: UnsafeMutableRawPointer, _ size: Int) { gc_unmap(memory, size) }

  /// Has the kernel provide pages now, in one call, that would otherwise each cost a fault.
  static func populate(_ memory: UnsafeMutableRawPointer, _ size: Int) { gc_populate(memory, size) }

  /// Takes away the pages that hold `size` bytes at `memory`, whichever code mapped them.
  static func unmapPages(_ memory: UnsafeRawPointer, _ size: Int) { _ = gc_unmap_pages(memory, size) }

  /// How long one thread waits for memory. Nothing here allocates.
  struct Patience {
    private static let most: UInt64 = 1_000_000_000
    private var began: UInt64 = 0

    /// Waits for a while; ends the process if the thread has waited for a second already.
    @inline(never)
    mutating func wait(for size: Int) {
      let now = Clock.uptime.now()
      if began == 0 { began = now }
      let pause = Shortages.memory.refused(.noMemory)
      if now - began >= Self.most { Self.giveUp(size) }
      Thread.sleep(nanoseconds: pause)
    }

    /// The kernel has granted the memory.
    @inline(__always)
    func isRewarded() { if began != 0 { Shortages.memory.granted() } }

    @inline(never)
    private static func giveUp(_ size: Int) -> Never {
      PlainLine.write { line in
        line.add("GrandCentral: there is no memory: ")
        line.add(size)
        line.add(" bytes were asked for during a second, in vain. The process ends. Raise its limit (ulimit -v, the ")
        line.add("memory limit of its control group), or let less work wait at a time.")
      }
      gc_abort()
    }
  }
}

/// One line on standard error that is put together without an allocation.
struct PlainLine {
  private static let room = 768

  private let buffer: UnsafeMutableRawBufferPointer
  private var count = 0

  private init(_ buffer: UnsafeMutableRawBufferPointer) { self.buffer = buffer }

  @inline(never)
  static func write(_ body: (inout PlainLine) -> Void) {
    withUnsafeTemporaryAllocation(byteCount: room, alignment: 1) { buffer in
      var line = PlainLine(buffer)
      body(&line)
      line.count = min(line.count, room - 1)
      line.add(byte: 0x0A)
      // unsafe: the buffer holds at least as many bytes.
      _ = gc_write_quietly(2, buffer.baseAddress, line.count)
    }
  }

  mutating func add(_ text: StaticString) {
    for index in 0..<text.utf8CodeUnitCount { add(byte: text.utf8Start[index]) }
  }

  /// The text of an error, with its number.
  mutating func add(_ error: Errno) {
    // unsafe: the shim returns a constant text that ends with a zero.
    var next = UnsafeRawPointer(gc_strerror(error.code)).unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self)
    while next.pointee != 0 {
      add(byte: next.pointee)
      next += 1
    }
    add(" (")
    add(Int(error.code))
    add(")")
  }

  /// Not negative.
  mutating func add(_ number: Int) {
    if number >= 10 { add(number / 10) }
    add(byte: 0x30 + UInt8(truncatingIfNeeded: number % 10))
  }

  private mutating func add(byte: UInt8) {
    if count == buffer.count { return }
    buffer[count] = byte
    count += 1
  }
}
