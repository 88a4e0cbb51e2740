// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// The kernel refuses the monitor a thread, while there are workers: all threads that can be had are workers. Then one of them stands in for
// the monitor.
//
// | which worker             | when                                                | for how long                                        |
// |--------------------------|-----------------------------------------------------|-----------------------------------------------------|
// | one between two jobs     | a tick after the last look at the earliest          | one look                                            |
// | one that is one too many | it would sleep, and something is pending, or a slot | until it is woken, nothing is pending any more, or  |
// |                          | needs a watcher                                     | the kernel may be asked for a monitor again         |
// | one of the reserve       | it would sleep, and ordered work is pending         | the same                                            |
//
// The first one sees to timers, events, slots and lone calls while all workers run jobs without end. The second one finds out that the others'
// jobs block or run long, and gets one of their places. The third one finds a standstill, and lends itself (`Reserve`). So what is left to the
// monitor waits only while each worker is in a job.
//
// A worker between two jobs remembers nothing from look to look, and need not: what the monitor remembers is for how long nothing has been
// started, and this worker comes by because it starts jobs.
//
// Rejected: one worker turns into the monitor. Where two threads can be had, the work would lose one of them.
//
// Vacancy.V1  While there is a vacancy, a worker comes by at each of its searches, otherwise at every 64th. When it has come by once, it notes
//     that the next search is to come by as well (`Place.searches`). A thread that wants the monitor, and cannot have it, notes so at all
//     places. A worker that overwrites this note comes by at its 64th search, unless it was counted as searching: it wants the monitor itself
//     then, when it has found a job and more is pending. A note that is there already stays, and so do the worker's turns.
// Vacancy.V2  A thread that leaves something to the monitor, and is refused it, looks for a sleeper afterwards, and wakes it. So does a monitor
//     that lends its role. A worker that may not begin what is pending, because it is one too many or of the reserve, joins the idle list first,
//     looks at what is pending, and then at the monitor's state. So it finds what is pending, or is woken. If it finds the state in another
//     thread's hands, that thread has its look still before it, behind the step with which it puts the state back: a starter that was refused
//     looks for a sleeper, and one that stood in looks at everything (Vacancy.V3). All of these steps are in the single order.
// Vacancy.V3  A worker that stands in takes the state away as a starter does, so that there is one monitor, or one that stands in (Monitor.M2).
//     A thread that finds the state `filled` has published before. The worker looks at everything once more when it has put the state back, as the
//     monitor does before it sleeps (Monitor.M1), and wakes another one if there is anything to watch: a monitor, if the kernel grants it
//     now, or a sleeper, which tries to stand in.
// Vacancy.V4  A worker that comes by moves no job from its own slot to a backlog, where it would wait for another turn: it is about to look at
//     the slot itself. So a job in the slot of a worker that comes by at each search begins after one other start.
extension Monitor {
  /// Whether there is no monitor that could look, because the kernel refuses it a thread.
  var isVacant: Bool {
    // seq-cst: Vacancy.V2.
    let state = state.load(ordering: .sequentiallyConsistent)
    return state != State.asleep && state != State.awake && Shortages.threads.isShort
  }
}

extension Engine {
  /// Does the monitor's part.
  ///
  /// - Parameter sleeper: The calling worker, if it is in the idle list. It is a searcher afterwards. Nil for a worker that is about to
  ///   look for its next job.
  /// - Returns: false if another thread sees to it, or has just done so.
  @inline(never)
  @_optimize(size)
  func standIn(_ sleeper: Worker.Pointer?) -> Bool {
    // relaxed: compared below; a number for pacing.
    let (former, last) = (monitor.state.load(ordering: .relaxed), monitor.lookedAt.load(ordering: .relaxed))
    let isDue = sleeper != nil || Clock.uptime.now() &- last >= Monitor.tick
    guard isDue, former == Monitor.State.none || former == Monitor.State.lent else { return false }
    // relaxed: on failure, another thread has been faster.
    // pairs with: fallAsleep, start, lend, standIn – publishes the notes of the monitor that was there before (Monitor.M2)
    let (chosen, _) = monitor.state.compareExchange(
      expected: former, desired: Monitor.State.filled, successOrdering: .acquiring, failureOrdering: .relaxed)
    guard chosen else { return false }
    // It naps for longer than a watcher of slots.
    if let sleeper { giveUpWatch(sleeper) }
    var notes = Monitor.Notes()
    var isWoken = false
    repeat {
      if let sleeper { isWoken = nap(sleeper, Monitor.tick) }
      if isWoken { break }
      let now = Clock.uptime.now()
      // relaxed: a number for pacing.
      let last = monitor.lookedAt.exchange(now, ordering: .relaxed)
      _ = monitor.look(Engine.shared, now, elapsed: min(now &- last, Slices.slice), &notes)
      // SlotWatch.S5: what the look has brought is not the sleeper's next job, because it naps on.
      if let sleeper { sleeper.pointee.giveUpSlot(in: self, alsoOfLost: true) }
      // A role that is lent is not kept: its owner waits for it (`takeBack`).
      // relaxed: the last look below has the proper order.
    } while sleeper != nil && former == Monitor.State.none && pending.load(ordering: .relaxed) != 0
      && !Shortages.threads.mayAsk
    // seq-cst: Monitor.M1, Vacancy.V3; the state is back before the last look. It also publishes the notes (Monitor.M2).
    monitor.state.store(former, ordering: .sequentiallyConsistent)
    if let sleeper, !isWoken { leaveIdle(sleeper) }
    // Nobody else may ask for long: a shortage that is over would go on as a vacancy.
    if needsMonitor || Shortages.threads.timeToLook == nil { monitor.wake(self) }
    return true
  }

  /// No monitor can be had that would look.
  @inline(__always)
  func wakeStandIn() {
    // seq-cst: Vacancy.V2.
    if pool.load(ordering: .sequentiallyConsistent).sleeping > 0 { reinforce(parallelism: .max, budget: 0) }
  }
}
