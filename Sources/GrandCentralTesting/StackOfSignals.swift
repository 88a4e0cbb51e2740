// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Under `gcd sim` the process is the run, and another one says how it ends.
#if !GRANDCENTRAL_DROPIN
  import Glibc

  /// A second stack for handlers of signals on the calling thread, whose own one may have overflowed (`LastWords`).
  struct StackOfSignals {
    /// `LastWords` needs little of it; handlers that come behind, of the runtime or the program, may need more.
    private static let size = 65_536

    private let memory: UnsafeMutableRawPointer?

    /// A sanitizer may have given the thread one, which then stays.
    init() {
      var former = stack_t()
      guard sigaltstack(nil, &former) == 0, Int(former.ss_flags) & Int(SS_DISABLE) != 0 else {
        memory = nil
        return
      }
      let memory = UnsafeMutableRawPointer.allocate(byteCount: Self.size, alignment: 16)
      var stack = stack_t(ss_sp: memory, ss_flags: 0, ss_size: Self.size)
      sigaltstack(&stack, nil)
      self.memory = memory
    }

    /// By the same thread, at its end.
    func end() {
      guard let memory else { return }
      var none = stack_t(ss_sp: nil, ss_flags: Int32(SS_DISABLE), ss_size: 0)
      sigaltstack(&none, nil)
      memory.deallocate()
    }
  }
#endif
