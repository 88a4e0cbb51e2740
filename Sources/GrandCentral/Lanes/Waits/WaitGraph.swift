// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// Cycles of waits are found when they form: two threads that wait for each other's queues, a thread that waits for an item
// behind its own, and so on. Such threads would sleep for ever, and say nothing.
//
// Terms
//   wait      a thread sleeps without a deadline of its own: for its turn on a lane, for its item that another thread
//             runs, for a group, for a work item, for a once
//   holder    a thread that others may wait for: it is inside an item, or in the middle of a chain of targets, or it
//             is a worker, or the main thread, which alone runs the main queue's items
//   record    what others must know of a holder's wait; it lies on the holder's stack
//   blocker   a thread that must go on before a wait can end
//   token     what ends the sleep: the parker's; for a once, the change of its word
//
// A thread that holds nothing sleeps as if this file did not exist. A holder sleeps for 20 ms first; most waits end before
// that, and cost one reading of the clock. Then, in `watch`:
//
//   1  notes where the program has called, and with the lock puts its record into the list
//   2  still with the lock, walks: from its record to the blockers of its wait that have records, to theirs, and so on
//   3  without the lock, sleeps until its token has come, and leaves the token where it is
//   4  with the lock takes its record out; then takes the token, and goes on
//
// The last thread of a cycle to come to step 2 finds it. That is 20 ms after it fell asleep. A cycle may also form later, by a
// step of a thread that is no part of it: it resumes a queue, or a worker finds a barrier first that waits for readers. So a
// waiter repeats step 2 after 20, 40, 80, … ms, and stops after some seconds: a program that sleeps is left alone.
//
// WaitGraph.W1  While a record is in the list its thread sleeps, or is in `watch`: it changes nothing but its own record. So
//     with the lock held all that the thread holds stands still, and is alive: its contexts, the lanes that it owns or
//     reads, their lists but for their ends, and what it waits for.
// WaitGraph.W2  The token stays until the record is out of the list. If a record's token has come, the record blocks no thread
//     for long: it is passed over.
// WaitGraph.W3  The thread that lets a waiter go leaves the token before it gives up the lane, starts the next item, or
//     waits itself. So a walker that looks at the lane first and at the token afterwards, and finds none, knows that the
//     waiter had not been let go when it looked at the lane.
// WaitGraph.W4  Targets stand still during a walk: it holds the lock of the hierarchy (Targets.I1).
//
// Why a cycle that is found is a deadlock. The walk keeps a set of waits in which each wait has a blocker in the set. Where
// any of several threads could end a wait (a queue that is full of readers), all of them are in the set. Suppose that one of
// the waits ends; take the first one that does. Its blockers had to go on before. One of them is in the set, so its wait ended
// earlier, and the wait was not the first to end. So it is enough that each blocker is one, at one moment for all of them.
// Each is stable while its own thread sleeps:
//
//   wait for             blocker                                          why the wait cannot end before
//   a lane with an owner the owner                                        no other thread gives the lane up (Lane.L1)
//   the main queue       the main thread                                  no other thread runs its items
//   a lane on its way    the owner of the target, or of its target, …     the activation lies in that list
//   a lane with a        any reader                                       the barrier starts when all of them have left;
//   barrier that waits                                                    no new reader is admitted before (Lane.L5)
//   a full lane          all readers together                             each of them that leaves makes room (Lane.L7)
//   a group              a thread that runs an item of it; the owner      `async(group:)` has entered for the item, and
//                        of a lane that has an item of it in its list;    only the item's end leaves for it; and it begins only
//                        all readers together, if that lane is full       where there is room
//   a work item          the thread that runs it; the owner of a lane     it runs once; an item that lies elsewhere
//                        that has it in its list, or all readers          too, or has a timer, has no blocker
//   a once               the thread that runs its body                    no other thread ends it
//
// A waiter that was let go in the meantime does not break the argument. For lanes and items of other threads, WaitGraph.W3
// says so. An owner that waits for the lane itself has been handed it. Waiters of groups and items are listed, under their
// lock, until they are chosen, and that is looked at after the blocker was found. A thread in a semaphore, in a wait with a
// timeout, or anywhere in the program's own code has no record, so a walk ends there. Two things are asked of the program:
// that its own calls of `leave` never outnumber its own calls of `enter` (GC0004), and that it does not submit a second time
// an item that it waits for.
//
// Lock order: this lock, then the hierarchy's; then a group's or an item's. No holder of those takes this one.
//
// Rejected: a thread that looks at all waits now and then (an idle process would wake up); looking before the sleep (each
// contended sync would pay for it); a record for each item that runs (so would each item).
enum WaitGraph {
  private static let lock = ProcessLock()
  /// Guarded by `lock`.
  nonisolated(unsafe) static var first: WaitRecord.Pointer?
  /// Guarded by `lock`: the process that the records belong to; those of a forked process's parent are not its own.
  nonisolated(unsafe) private static var generation: UInt32 = 0

  /// A waiter looks again after so long, then after twice as long, …
  private static let firstPause: UInt64 = 20_000_000
  /// … and not any more after this.
  private static let lastPause = firstPause << 6

  /// The main queue's lane, as a number; 0 before it has been asked for.
  private static let mainWord = Atomic<UInt>(0)

  static var main: Borrowed<Lane>? {
    // pairs with: setMain – publishes the lane
    Borrowed(bits: mainWord.load(ordering: .acquiring))
  }

  static func setMain(_ lane: Lane) {
    // pairs with: main – publishes the lane, which lives for ever
    mainWord.store(lane.reference.bits, ordering: .releasing)
  }

  /// No thread may be changing the list while the process forks.
  static func holdLock(_ hold: Bool) { hold ? lock.lock() : lock.unlock() }

  /// Sleeps until the parker's token has come, and takes it.
  @inline(__always)
  static func park(_ parker: borrowing Parker, in wait: Wait) {
    if !concerns(wait) {
      _ = Blocking.sleep { parker.park(until: $0) }
    } else if !parker.park(until: .after(Settings.cyclePatience, on: .uptime)) {
      watch(parker, wait)
    }
  }

  /// As `park` where the deadline never comes; else as the parker does.
  @inline(__always)
  static func park(_ parker: borrowing Parker, until deadline: Deadline, in wait: Wait) -> Bool {
    if !deadline.isNever { return Blocking.sleep(until: deadline) { parker.park(until: $0) } }
    park(parker, in: wait)
    return true
  }

  /// Sleeps while the word of a once is `seen`, or for less.
  @_optimize(size)
  static func waitForOnce(_ once: Awaited, while seen: UInt32) {
    let (wait, word) = (Wait.object(once), once.address)
    if !concerns(wait) {
      _ = Blocking.sleep { Futex.wait(word, while: seen, until: $0) }
    } else if !Futex.wait(word, while: seen, until: .after(Settings.cyclePatience, on: .uptime)) {
      watch(nil, wait) { Futex.wait(word, while: seen, until: $0) }
    }
  }

  /// Whether the calling thread may be a part of a cycle.
  private static func concerns(_ wait: Wait) -> Bool {
    let thread = gc_thread_self()
    let holds =
      thread.pointee.queue_context != nil || thread.pointee.worker != nil || wait.holdsLanes || Thread.runsMainQueue
      || Thread.isInBody
    return holds && Settings.cycles != .off
  }

  @inline(never)
  @_optimize(size)
  private static func watch(_ parker: borrowing Parker, _ wait: Wait) {
    watch(parker.sight, wait) { parker.awaitToken(until: $0) }
    _ = parker.tryConsume()
  }

  /// - Parameter sleep: Returns false if the deadline has passed, true when the wait is over, or may be.
  @_optimize(size)
  private static func watch(_ token: Parker.Sight?, _ wait: Wait, sleep: (Deadline) -> Bool) {
    var record = WaitRecord(wait, token)
    _withUnprotectedUnsafeMutablePointer(to: &record) { record in
      enter(record)
      var pause = firstPause
      while !Blocking.sleep(until: pause > lastPause ? .never : .after(pause, on: .uptime), sleep) {
        pause *= 2
        // Names are looked up in files: only a thread that waits for long pays for it.
        if pause == firstPause << 3 { WaitNote.noteCaller(record.pointee.trace) }
        tell(lock.withLock { search(from: record) })
      }
      leave(record)
    }
  }

  /// Steps 1 and 2. The calling thread is the record's.
  static func enter(_ record: WaitRecord.Pointer) {
    lock.lock()
    forgetParent()
    record.pointee.next = first
    first?.pointee.previous = record
    first = record
    let found = search(from: record)
    lock.unlock()
    tell(found)
  }

  /// Step 4.
  static func leave(_ record: WaitRecord.Pointer) {
    lock.lock()
    let (next, previous) = (record.pointee.next, record.pointee.previous)
    if let previous { previous.pointee.next = next } else { first = next }
    next?.pointee.previous = previous
    lock.unlock()
  }

  private static func forgetParent() {
    if generation == Thread.forkGeneration { return }
    generation = Thread.forkGeneration
    first = nil
  }

  // MARK: Looking at the list, with the lock held

  static func forEachRecord(_ body: (WaitRecord.Pointer) -> Void) {
    var next = first
    while let record = next {
      body(record)
      next = record.pointee.next
    }
  }

  static func record(where matches: (WaitRecord.Pointer) -> Bool) -> WaitRecord.Pointer? {
    var next = first
    while let record = next {
      if matches(record) { return record }
      next = record.pointee.next
    }
    return nil
  }

  static func record(ofThread id: UInt32) -> WaitRecord.Pointer? { record { $0.pointee.thread == id } }
}
