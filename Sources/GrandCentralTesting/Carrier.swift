// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import Glibc
  import GrandCentral
#endif

/// A thread of the operating system, on which the threads of runs live, one after the other.
final class Carrier: @unchecked Sendable {  // its work passes with the turn
  private let turn = SimulatedTurn()
  private var work: (() -> Void)?
  /// Whether the thread is the program's own, and lives no longer than its part in the run.
  fileprivate let isGuest: Bool
  /// What the kernel calls the thread, once it has had a turn.
  private(set) var kernelID: UInt32 = 0

  /// Nil when the kernel makes no thread.
  init?() {
    isGuest = false
    let started = SimulatedTurn.startThread { [self] in
      #if !GRANDCENTRAL_DROPIN
        pthread_setspecific(Carrier.key, Unmanaged.passUnretained(self).toOpaque())
        let stack = StackOfSignals()
        defer { stack.end() }
      #endif
      while true {
        turn.wait()
        guard let next = work else { return }
        work = nil
        noteThread()
        next()
      }
    }
    if !started { return nil }
  }

  #if !GRANDCENTRAL_DROPIN
    private static let key: pthread_key_t = {
      var key: pthread_key_t = 0
      pthread_key_create(&key, nil)
      return key
    }()

    /// Of the calling thread.
    static var ofThread: Carrier? {
      // unsafe: the thread keeps its carrier until its end.
      pthread_getspecific(key).map { Unmanaged.fromOpaque($0).takeUnretainedValue() }
    }
  #endif

  /// For a thread that the program has.
  init(ofProgram: Void) { isGuest = true }

  /// What the thread does when it gets its turn. It waits for no turn meanwhile, but for those of what it does.
  func prepare(_ work: @escaping () -> Void) { self.work = work }

  /// Lets the thread go on.
  func pass() { turn.pass() }

  /// The calling thread, which is this one, waits until it may go on.
  func wait() { turn.wait() }

  /// The calling thread, which is this one, has its turn and is about to take part.
  func noteThread() { kernelID = SimulatedTurn.kernelID }

  /// Ends the thread, which has nothing to do.
  fileprivate func end() { turn.pass() }
}

/// Threads that are used again, in the hands of the thread that has the turn.
final class Carriers: @unchecked Sendable {  // see above
  private var free: [Carrier] = []

  func take() -> Carrier? { free.popLast() ?? Carrier() }
  func give(_ carrier: Carrier) {
    if !carrier.isGuest { free.append(carrier) }
  }

  func endAll() {
    for carrier in free { carrier.end() }
    free = []
  }
}
