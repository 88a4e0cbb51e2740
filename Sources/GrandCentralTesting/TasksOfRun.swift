// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Under `gcd sim` all tasks take part, and so do the clocks. The hook is called as a C function is on these machines.
#if !GRANDCENTRAL_DROPIN && (arch(x86_64) || arch(arm64))
  internal import CPlatform
  import Glibc
  import GrandCentral

  /// What a simulation has to do with Swift's tasks: their clocks, and those that take no part.
  enum TasksOfRun {
    private typealias Enqueue = @convention(c) (_ job: UInt, _ own: UnsafeRawPointer?) -> Void
    private typealias OwnEnqueue = @convention(c) (_ job: UInt) -> Void

    /// Asked once in a process, by the first simulation.
    static let areSeen: Bool = {
      // The dynamic linker has found the library's functions then, and does not write where another one is put.
      _ = ContinuousClock.now
      let haveClocks = gc_simulate_swift_clocks { SimulationSupport.now() }
      if haveClocks { SimulationSupport.noteSwiftClocks() }
      let enqueue: Enqueue = { job, own in
        if SimulationSupport.isTaskOutside() { Explorer.current?.noteTaskOutside() }
        // unsafe: Swift hands over its own function, of this argument.
        unsafeBitCast(own, to: OwnEnqueue.self)(job)
      }
      // unsafe: the hook is a variable of the runtime's for such a function.
      guard let hook = dlsym(nil, "swift_task_enqueueGlobal_hook")?.assumingMemoryBound(to: Enqueue?.self),
        hook.pointee == nil
      else { return false }
      hook.pointee = enqueue
      return haveClocks
    }()
  }
#else
  enum TasksOfRun { static let areSeen = false }
#endif
