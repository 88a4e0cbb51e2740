// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Memory to read into, used again and again: fresh pages cost more than the copy from the page cache.
///
/// The buffer that came back last is handed out first: it may still be in the processor's cache. Buffers beyond `most` go back
/// to the allocator.
struct IOBuffers: ~Copyable, @unchecked Sendable {  // the array is guarded by `lock`
  static let size = 256 << 10
  private static let most = 8

  private let lock = Lock()
  /// Guarded by `lock`.
  private let free: UnsafeMutablePointer<UnsafeMutableRawPointer>
  private let count: UnsafeMutablePointer<Int>

  init() {
    // unsafe: both live as long as the scheduler: for ever.
    free = .allocate(capacity: Self.most)
    count = .allocate(capacity: 1)
    count.initialize(to: 0)
  }

  func take() -> UnsafeMutableRawPointer {
    lock.lock()
    if count.pointee > 0 {
      count.pointee -= 1
      let buffer = free[count.pointee]
      lock.unlock()
      return buffer
    }
    lock.unlock()
    return Memory.allocate(Self.size, alignment: 4096)
  }

  func give(_ buffer: UnsafeMutableRawPointer) {
    lock.lock()
    if count.pointee < Self.most {
      // unsafe: within the capacity; the memory of a trivial type needs no initialisation.
      free[count.pointee] = buffer
      count.pointee += 1
      return lock.unlock()
    }
    lock.unlock()
    Memory.free(buffer)
  }

  /// Data over the first `used` bytes of a buffer, which comes back when they have gone.
  static func data(_ buffer: UnsafeMutableRawPointer, _ used: Int) -> DispatchData {
    DataRegion.lend(UnsafeRawBufferPointer(start: buffer, count: used), to: IOBuffers.giveBack)
  }

  private static let giveBack: DataRegion.GiveBack = { base in
    IOScheduler.shared.buffers.give(UnsafeMutableRawPointer(mutating: base))
  }
}
