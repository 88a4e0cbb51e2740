// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Under `gcd sim` all tasks take part, and so do the clocks. The hook is called as a C function is on these machines.
#if !GRANDCENTRAL_DROPIN && (arch(x86_64) || arch(arm64))
  internal import CPlatform
  import Glibc
  import GrandCentral
  import Synchronization

  /// What a simulation has to do with Swift's tasks: their clocks, and those that take no part.
  enum TasksOfRun {
    private typealias Enqueue = @convention(c) (_ job: UInt, _ own: UnsafeRawPointer?) -> Void
    private typealias OwnEnqueue = @convention(c) (_ job: UInt) -> Void

    /// Whether the task that goes on is none of the program's.
    private static let isKits = Atomic<Bool>(false)

    /// Lets a task of the test framework go on, which is outside of the run by right.
    static func unnoted(_ body: () -> Void) {
      // relaxed: by the thread that has the turn.
      isKits.store(true, ordering: .relaxed)
      body()
      isKits.store(false, ordering: .relaxed)
    }

    /// Asked once in a process, by the first simulation.
    static let areSeen: Bool = {
      // The dynamic linker has found the library's functions then, and does not write where another one is put.
      _ = ContinuousClock.now
      let haveClocks = gc_simulate_swift_clocks { SimulationSupport.now() }
      if haveClocks { SimulationSupport.noteSwiftClocks() }
      let enqueue: Enqueue = { job, own in
        // relaxed: set by the thread that has the turn.
        if SimulationSupport.isTaskOutside(), !isKits.load(ordering: .relaxed) { Explorer.current?.noteTaskOutside() }
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
  enum TasksOfRun {
    static let areSeen = false
    static func unnoted(_ body: () -> Void) { body() }
  }
#endif
