// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

// Run.R8: threads of the program that sleep outside of the simulation, where nothing in it wakes them: in a mutex of the system, say, which
// another thread of the run holds.
//
// 1  A thread goes from the run's code to the program's (`goOut`), and says so in `inProgram`, with a number that no other time has. As it
//    comes in again it takes that back (`comeIn`).
// 2  The thread that waits for the run sees that no step is taken, and that the thread which has the turn sleeps on a futex.
// 3  It lists that thread, looks again, and looks at `inProgram` again. If the thread still sleeps, and was in the program all the time, it
//    has lost the turn: when it wakes, it finds itself in the list as it comes in. If not, it is taken off the list, and goes on if it waits.
// 4  A deputy, which is no member of the run, has the turn then, and passes it on.
// 5  At each point, and at each wait, the thread that has the turn looks at those in the list. One that has been woken is let go on until it
//    comes in, or sleeps again. If it has come in it is one of those that are ready.
//
// So a mutex is waited for as a lock of the library is: others go on, and time passes. What follows is the same each time, but where two threads
// ask for a mutex with no point between, as one does that unlocks and locks it again: then the system decides.
//
// A thread that sleeps on what is no mutex of a member's may wait for a thread that takes no part. So others go on, but time stands still, and
// when none can go on the run waits in real time.
//
// What a simulated program sleeps in under `gcd sim` is simulated.
#if GRANDCENTRAL_DROPIN
  struct Outsiders {}

  extension Run {
    @discardableResult
    func comeIn() -> Bool {
      stayIfGivenUp()
      return false
    }
    func goOut() {}
    func settle() {}
    func holder(_ number: Int) -> Int? { nil }
    func awaitOutside() -> Bool { false }
    func passOver(after time: UInt64) -> Bool { false }
  }
#else
  /// The threads that have lost the turn. What is in here is also known to the thread that waits for the run.
  struct Outsiders: ~Copyable {
    struct Outsider {
      let number: Int
      let kernelID: UInt32
      /// It waits for its turn.
      var hasCome = false

      var isAsleep: Bool { FutexWait(ofThread: kernelID) != nil }
    }

    let list = Mutex<[Outsider]>([])
    /// How many there are.
    let count = Atomic<Int>(0)
    /// Passed as one of them comes in.
    let arrivals = SimulatedTurn()
    /// The thread that has the turn, if it is in the program: what the kernel calls it, its number, and how often threads have gone out.
    let inProgram = Atomic<UInt64>(0)

    static func word(_ kernelID: UInt32, _ number: Int, _ time: UInt64) -> UInt64 {
      time << 34 | UInt64(number) << 22 | UInt64(kernelID)
    }
    static func outsider(_ word: UInt64) -> Outsider {
      Outsider(number: Int(word >> 22 & (1 << 12 - 1)), kernelID: UInt32(word & (1 << 22 - 1)))
    }

    func add(_ outsider: Outsider) {
      list.withLock { list in
        list.append(outsider)
        // relaxed: a thread sees it that wakes after it was seen asleep, for the kernel was between. See 3.
        count.store(list.count, ordering: .relaxed)
      }
    }

    /// Takes those off the list that satisfy the condition.
    func remove(where isGone: (Outsider) -> Bool) -> [Outsider] {
      list.withLock { list in
        let gone = list.filter(isGone)
        list.removeAll(where: isGone)
        // relaxed: one that sees it late does not find itself in the list.
        count.store(list.count, ordering: .relaxed)
        return gone
      }
    }

    /// Whether all of them sleep in the program.
    var sleep: Bool {
      // Not with the list locked, for which one sleeps that comes in; so that is looked for afterwards.
      let seen = list.withLock { $0 }
      return seen.allSatisfy { !$0.hasCome && $0.isAsleep } && list.withLock { !$0.contains { $0.hasCome } }
    }

    /// Whether the calling thread, of that number, has lost the turn. It is known to wait from now on.
    func comes(_ number: Int) -> Bool {
      list.withLock { list in
        guard let index = list.firstIndex(where: { $0.number == number }) else { return false }
        list[index].hasCome = true
        return true
      }
    }
  }

  extension Run {
    // MARK: By threads of the run

    /// The calling thread has the turn then.
    ///
    /// - Returns: Whether it comes from the program. The run's code calls the library too, which comes in.
    @discardableResult
    func comeIn() -> Bool {
      stayIfGivenUp()
      // relaxed: see `add`.
      if outsiders.count.load(ordering: .relaxed) != 0, comeBack() { return true }
      // relaxed: the calling thread's own word.
      if outsiders.inProgram.load(ordering: .relaxed) == 0 { return false }
      stayInside()
      return true
    }

    /// The calling thread has the turn, and does not go on in the program.
    func stayInside() {
      // relaxed: what the kernel says of the thread decides. See 3.
      outsiders.inProgram.store(0, ordering: .relaxed)
    }

    /// The calling thread, which has the turn, goes on in the program.
    func goOut() {
      timesOut += 1
      // relaxed: as above.
      outsiders.inProgram.store(Outsiders.word(kernelID, current, timesOut), ordering: .relaxed)
    }

    /// Has the calling thread wait for its turn if it has lost it. Whether it had.
    private func comeBack() -> Bool {
      guard let number = SimulationSupport.currentNumber, let carrier = Carrier.ofThread else { return false }
      if !outsiders.comes(number) { return false }
      outsiders.arrivals.pass()
      SimulatedKernel.setAside { carrier.wait() }
      stayInside()
      kernelID = carrier.kernelID
      SimulatedOrder.comesAfter(members[0].carrier)
      stayIfGivenUp()
      return true
    }

    /// Has those that were woken come in, or sleep again.
    func settle() {
      // relaxed: while a thread of the run has the turn no other one loses it.
      while outsiders.count.load(ordering: .relaxed) != 0 {
        for outsider in outsiders.remove(where: { $0.hasCome }) { release(outsider.number, wasWoken: true) }
        if outsiders.sleep { return }
        awaitArrival()
      }
    }

    private static let glance: UInt64 = 100_000

    private func awaitArrival() {
      _ = outsiders.arrivals.wait(nanoseconds: Self.glance)
      stayIfGivenUp()
    }

    /// No thread can go on. Waits a moment if one sleeps that a thread outside may wake.
    ///
    /// - Returns: Whether it has waited. If not, all that sleep wait for threads of the run.
    func awaitOutside() -> Bool {
      // relaxed: as in `settle`.
      if outsiders.count.load(ordering: .relaxed) == 0 { return false }
      // One may have been woken since.
      settle()
      if !ready.isEmpty { return true }
      // With work that no thread has taken yet, the engine's monitor is to see that a worker does not get on.
      let waitInside = members.indices.allSatisfy { members[$0].wait != .outside || holder($0) != nil }
      if waitInside || SimulationSupport.isOwed { return false }
      awaitArrival()
      settle()
      return true
    }

    /// The number of the thread of the run that has the mutex which the thread of that number sleeps in.
    func holder(_ number: Int) -> Int? {
      FutexWait(ofThread: members[number].carrier.kernelID).flatMap { self.number(ofKernels: $0.owner) }
    }

    // MARK: By the thread that waits for the run

    /// What may be waited for outside is: longer than threads wait there that take no part in a program's own locks.
    private static let patienceOutside: UInt64 = 4_000_000

    /// Has others go on if the thread that has the turn sleeps outside.
    ///
    /// - Parameter time: For so long, in nanoseconds, no step has been taken.
    /// - Returns: Whether others go on.
    func passOver(after time: UInt64) -> Bool {
      // relaxed: see 3.
      let word = outsiders.inProgram.load(ordering: .relaxed)
      let outsider = Outsiders.outsider(word)
      guard word != 0, outsider.isAsleep else { return false }
      outsiders.add(outsider)
      // relaxed: see 3.
      let hasTurn = outsider.isAsleep && outsiders.inProgram.load(ordering: .relaxed) == word
      // The run is the calling thread's, if that is so.
      if hasTurn, holder(outsider.number) != nil || time >= Self.patienceOutside, let deputy = carriers.take() {
        stayInside()
        pass(outsider.number, to: deputy)
        return true
      }
      for back in outsiders.remove(where: { $0.number == outsider.number }) where back.hasCome {
        members[back.number].carrier.pass()
      }
      return false
    }

    private func pass(_ number: Int, to deputy: Carrier) {
      deputy.prepare { [unowned self] in
        kernel.unsafelyUnwrapped.enter(number: SimulatedKernel.mostThreads)
        record(Events.Kind.waitsOutside, 0)
        orders?.lacks(.systemLock)
        members[number].wait = .outside
        ready.removeAll { $0 == number }
        let heir = next(after: nil)
        SimulatedKernel.leave()
        carriers.give(deputy)
        hand(heir)
      }
      deputy.pass()
    }
  }
#endif
