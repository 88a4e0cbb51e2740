// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

// A run's threads, what they wait for, and how the run has ended.
extension Run {
  struct Member {
    let name: String
    let carrier: Carrier
    var wait = Wait.nothing
    /// The instant at which the wait ends by itself; never is `UInt64.max`.
    var deadline = UInt64.max
    /// How many waits it has begun.
    var waits = 0
    /// Whether the wait has ended before its deadline.
    var wasWoken = false
    /// A worker that has nothing to do.
    var isIdle = false
    /// Such a one that looks again from time to time, and waits for no timer.
    var naps = false
    /// A worker that has been started, or woken to look for a job, and has not gone on yet.
    var isComing = false
    /// It stands before an operation, or behind one, and can go on.
    var isAtPoint = false
    /// What it has noted of its wait.
    var entry: UnsafeRawPointer?
    /// The number of the queue whose item it has begun and not ended, or 0. Behind an item inside of another one it is 0 as well.
    private(set) var queue: UInt32 = 0
    /// What it waits for, where that is nothing of the library's.
    var foreignWait: ForeignWait?
    /// What is said of it where it waits, and has not noted what for.
    var unknownWait = "waits"
    /// The engine's monitor: nothing in a program waits for its ticks.
    var isMonitor: Bool { name == "gc-monitor" }

    mutating func note(_ kind: UInt8, _ queue: UInt32) {
      switch kind {
      case Events.Kind.itemBegins, SimulationSupport.syncBegins: self.queue = queue
      case Events.Kind.itemEnds, SimulationSupport.syncEnds: self.queue = 0
      default: break
      }
    }
  }

  /// Of a program's own: what it does, "waits for a lock", and the number of the thread that holds that, where it is known.
  struct ForeignWait {
    let words: String
    let holder: Int?
  }

  enum Wait: Equatable {
    case nothing
    case word(UnsafeRawPointer)
    case sleep
    case poll
    /// The run's first thread lets the others go on, until they have nothing to do.
    case rest(Rest)
    /// Run.R8
    case outside
    case ended
  }

  /// The number of the thread that the kernel calls so, the last one of those that it has called so.
  func number(ofKernels id: UInt32) -> Int? {
    members.lastIndex { id != 0 && $0.carrier.kernelID == id }
  }

  /// Descriptors that threads of the program wait for, where a whole process is the run.
  struct Descriptors {
    /// Lets those threads go on that wait for one which has become ready.
    let look: () -> Void
    /// Waits in real time for what others may make ready. Whether something has come.
    let awaitOutside: (_ nanoseconds: UInt64) -> Bool
    /// When a timer of the program's makes one ready next; `isPolled` says whether the library waits for any.
    let nextExpiration: (_ isPolled: Bool) -> UInt64
    /// Lets timers of the program's expire. Whether any has.
    let timeHasPassed: () -> Bool
  }

  enum Outcome {
    case ended
    case threw(any Error)
    case failed(SimulationFailure.Reason)
  }
}
