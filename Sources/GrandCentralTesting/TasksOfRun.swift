// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Under `gcd sim` the clocks of the whole program are virtual.
#if !GRANDCENTRAL_DROPIN
  import GrandCentral

  /// What a simulation has to do with Swift's tasks: their clocks.
  enum TasksOfRun {
    /// Asked once in a process, by the first simulation.
    static let areSeen: Bool = {
      // The dynamic linker has found the library's functions then, and does not write where another one is put.
      _ = ContinuousClock.now
      return SimulationSupport.simulateSwiftClocks()
    }()
  }
#else
  enum TasksOfRun { static let areSeen = false }
#endif
