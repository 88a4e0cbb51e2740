// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import Glibc

  /// What a thread of the process waits for in the kernel, without a deadline: a lock, or a condition of the C library's or of Swift's.
  struct FutexWait {
    /// The address of the word that it sleeps on.
    private let word: UInt
    /// The word is the lock, and has its owner's id: so has Swift's `Mutex`.
    private let isOwnersWord: Bool

    // What the kernel calls them.
    #if arch(arm64)
      private static let futex: UInt = 98
    #else
      private static let futex: UInt = 202
    #endif
    private static let wait: UInt = 0
    private static let waitBitset: UInt = 9
    private static let lock: UInt = 6
    private static let lockByClock: UInt = 13
    /// Without the bits that say whose word it is, and by which clock.
    private static let operations: UInt = 127
    private static let ids: UInt32 = (1 << 30) - 1

    /// Nil if the thread does not sleep, sleeps elsewhere, or may not be looked at; and if what it waits for has come, for it sleeps no longer
    /// than until the kernel has a processor for it.
    init?(ofThread id: UInt32) {
      guard let text = Self.read("/proc/self/task/\(id)/syscall", 0, count: 256) else { return nil }
      // The number of the call, and its arguments: the word, the operation, the value that it waits behind, the deadline.
      let fields = String(decoding: text, as: UTF8.self).split(separator: " ").prefix(5)
      guard fields.count == 5, UInt(fields[0]) == Self.futex else { return nil }
      let arguments = fields.dropFirst().compactMap { UInt($0.dropFirst(2), radix: 16) }
      guard arguments.count == 4, arguments[3] == 0 else { return nil }
      switch arguments[1] & Self.operations {
      case Self.lock, Self.lockByClock: isOwnersWord = true
      case Self.wait, Self.waitBitset: isOwnersWord = false
      default: return nil
      }
      word = arguments[0]
      // The thread that ends a wait writes the word before it wakes the sleeper.
      guard let now = Self.word(at: word) else { return nil }
      if isOwnersWord {
        let owner = now & Self.ids
        if owner == 0 || owner == id { return nil }
      } else if now != UInt32(truncatingIfNeeded: arguments[2]) {
        return nil
      }
    }

    /// The thread that holds the lock. Of a condition it is the id of no thread, or by a rare chance of one that has to do with it no more
    /// than others.
    var owner: UInt32 {
      // The C library's mutex has its owner's id in its third word.
      (Self.word(at: isOwnersWord ? word : word + 8) ?? 0) & Self.ids
    }

    private static func word(at address: UInt) -> UInt32? {
      guard let bytes = read("/proc/self/mem", Int(address), count: 4), bytes.count == 4 else { return nil }
      return bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// As the kernel reads it: what is no memory is an error, and no fault.
    private static func read(_ path: String, _ offset: Int, count: Int) -> [UInt8]? {
      let file = open(path, O_RDONLY | O_CLOEXEC)
      if file < 0 { return nil }
      defer { close(file) }
      let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, read in
        read = max(0, pread(file, buffer.baseAddress, count, offset))
      }
      return bytes.isEmpty ? nil : bytes
    }
  }
#endif
