// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A run of which a whole process is the body: its first thread is the program's main thread, and threads that the program starts
// itself take part.

/// A thread that the program has started. Touched by the thread that has the turn.
final class ProgramThread {
  let carrier = Carrier(ofProgram: ())
  fileprivate(set) var number = 0
}

extension Run {
  /// The calling thread is the run's first one from now on.
  func adoptMain() {
    let main = Carrier(ofProgram: ())
    main.noteThread()
    members.append(Member(name: "main", carrier: main))
    members[0].unknownWait = "waits for items, in dispatch_main"
    ready.append(0)
    kernel.unsafelyUnwrapped.enter(number: 0)
    SimulationSupport.beginRun()
    record(Events.Kind.begins, 0)
  }

  /// The thread waits for its first turn, which it may have before this returns.
  func adopt(_ thread: ProgramThread) {
    guard members.count < SimulatedKernel.mostThreads else { fail(.noThread) }
    thread.number = members.count
    members.append(Member(name: "thread \(thread.number)", carrier: thread.carrier))
    ready.append(thread.number)
    note(Events.Kind.starts, 0)
  }

  /// The calling thread has its first turn.
  func enter(_ thread: ProgramThread) {
    thread.carrier.noteThread()
    kernel.unsafelyUnwrapped.enter(number: thread.number)
    record(Events.Kind.begins, 0)
  }

  /// Waits for something of the program's.
  ///
  /// - Parameter holder: The number of the thread that has it, where that is known.
  /// - Returns: false if the deadline has passed.
  func wait(
    for address: UnsafeRawPointer, _ words: String, heldBy holder: Int? = nil, until deadline: UInt64
  ) -> Bool {
    if deadline <= now { return false }
    let me = current
    members[me].foreignWait = ForeignWait(words: words, holder: holder)
    sleepers.append(me)
    let wasWoken = block(.word(address), until: deadline)
    members[me].foreignWait = nil
    return wasWoken
  }

  /// The first thread waits until workers that are idle have ended.
  func outliveWorkers() {
    repeat {
      record(Events.Kind.sleeps, 0)
      sleep(60_000_000_000)
    } while mayEndWaits
    if members.contains(where: { isStuck($0) }) { fail(.deadlock(describeWaits())) }
  }

  /// The thread's wait ends, as if it had what it waits for.
  func interrupt(_ thread: ProgramThread) {
    switch members[thread.number].wait {
    case .word, .sleep, .poll: release(thread.number, wasWoken: true)
    case .nothing, .rest, .outside, .ended: break
    }
  }
}
