// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// Which threads must go on before a wait can end. WaitGraph.swift says why each of them blocks it.
extension WaitGraph {
  /// A thread with a record that must go on before a wait can end.
  struct Blocker {
    /// What makes it one.
    enum Reason {
      /// It owns the lane.
      case owns(Lane)
      /// It reads the lane.
      case reads(Lane)
      /// It is the main thread.
      case isMain
      /// It runs what is waited for.
      case runs
      /// What is waited for lies in a lane's list. The thread holds `outer`, which is that lane or up its chain of targets; or it has a
      /// place there, and there is no other.
      case keeps(Lane, outer: Lane)
    }

    let record: WaitRecord.Pointer
    let reason: Reason
  }

  struct Blockers {
    var all: [Blocker] = []
    /// Whether each of them could end the wait: it lasts for ever only if all of them sleep for ever.
    var anyEndsIt = false

    @_optimize(size)
    mutating func add(_ record: WaitRecord.Pointer, _ reason: Blocker.Reason) {
      all.append(Blocker(record: record, reason: reason))
    }
  }

  /// The blockers of a wait that are known. The lock and the hierarchy's are held.
  @_optimize(size)
  static func blockers(of record: WaitRecord.Pointer) -> Blockers {
    switch record.pointee.wait {
    case .turn(let lane, let reads, _):
      return lane.use { blockers(record, waitsOn: $0, as: .turn(reads: reads)) }
    case .call(let lane, let reads, let call):
      return lane.use { blockers(record, waitsOn: $0, as: .job(reads: reads, extra: call)) }
    case .object(let awaited): return blockers(of: awaited)
    }
  }

  // MARK: Lanes

  /// How something waits on a lane.
  private enum Manner {
    /// A thread in the lane's list.
    case turn(reads: Bool)
    /// A job that has this `extra`; or `owner`, where it is an activation.
    case job(reads: Bool, extra: Job.Word)
    case activation(of: Job.Word)

    var reads: Bool {
      switch self {
      case .turn(let reads), .job(let reads, _): reads
      case .activation: true
      }
    }
  }

  @_optimize(size)
  private static func blockers(
    _ record: WaitRecord.Pointer, waitsOn lane: Lane, as manner: Manner
  ) -> Blockers {
    var (lane, manner) = (lane.reference, manner)
    while true {
      let step = lane.use { look(at: $0, record, manner) }
      switch step {
      case .found(let blockers): return blockers
      case .onItsWay(let target):
        manner = .activation(of: lane.word)
        lane = target
      }
    }
  }

  private enum Step {
    case found(Blockers)
    /// The lane's activation waits on its target.
    case onItsWay(Borrowed<Lane>)
  }

  @_optimize(size)
  private static func look(at lane: Lane, _ record: WaitRecord.Pointer, _ manner: Manner) -> Step {
    var blockers = Blockers()
    if lane.kind.isRunQueue { return .found(blockers) }
    // pairs with: the transitions of LaneState – publishes the list, and the tokens of waiters that were let go before
    let seen = lane.state.load(ordering: .acquiring)
    // WaitGraph.W3
    if record.pointee.hasToken { return .found(blockers) }
    // A reader's job may have left the list, and run elsewhere.
    let mayHaveLeft = if case .turn = manner { false } else { manner.reads && seen.readers > 0 }
    if seen.isOwned {
      // An owner that sleeps beside readers has not begun; an owner that waits for this lane has been handed it.
      if seen.readers > 0 { return .found(blockers) }
      if case .turn = manner, seen.owner == record.pointee.thread { return .found(blockers) }
      if let owner = self.record(ofThread: seen.owner) { blockers.add(owner, .owns(lane)) }
    } else if lane.kind.isMain {
      if let main = self.record(where: { $0.pointee.isMain }) { blockers.add(main, .isMain) }
    } else if seen.has(LaneState.enqueued) {
      if !mayHaveLeft, !seen.isHalted, let target = lane.targetWord.lane { return .onItsWay(target) }
    } else if seen.readers > 0, seen.has(LaneState.readersPending), !seen.isHalted {
      addReaders(of: lane, seen, manner, mayHaveLeft: mayHaveLeft, to: &blockers)
    }
    return .found(blockers)
  }

  /// The first item of a lane waits for readers to leave.
  @_optimize(size)
  private static func addReaders(
    of lane: Lane, _ seen: LaneState, _ manner: Manner, mayHaveLeft: Bool, to blockers: inout Blockers
  ) {
    let places = addReaders(of: lane, .reads(lane), to: &blockers)
    let isFull = seen.has(LaneState.roomPending)
    // A reader that sleeps keeps the list as it is, so it may be walked; but not where each reader that leaves makes room.
    if mayHaveLeft, isFull || blockers.all.isEmpty || !isListed(manner, in: lane) {
      blockers.all = []
    } else if isFull, manner.reads {
      // Any of them makes room.
      blockers.anyEndsIt = true
      if places < seen.readers { blockers.all = [] }
    }
  }

  /// - Returns: how many places of the lane they have.
  @inline(never)
  @_optimize(size)
  fileprivate static func addReaders(of lane: Lane, _ reason: Blocker.Reason, to blockers: inout Blockers) -> Int {
    var places = 0
    forEachRecord { reader in
      let held = reader.pointee.places(in: lane)
      if held > 0 { blockers.add(reader, reason) }
      places += held
    }
    return places
  }

  @_optimize(size)
  private static func isListed(_ manner: Manner, in lane: Lane) -> Bool {
    switch manner {
    case .turn: true
    case .job(_, let extra): JobSearch.finds(extra, in: lane)
    case .activation(let inner): JobSearch.finds(inner, in: lane)
    }
  }

  // MARK: Groups, work items, once

  @_optimize(size)
  private static func blockers(of awaited: Awaited) -> Blockers {
    var blockers = Blockers()
    let whereabouts = awaited.whereabouts
    switch whereabouts {
    case .unknown: break
    case .runs(let thread):
      if let runner = record(ofThread: thread) { blockers.add(runner, .runs) }
    case .waits:
      var search = JobSearch(awaited.address)
      forEachRecord { record in
        if record.pointee.group == UInt(bitPattern: awaited.address) { blockers.add(record, .runs) }
        search.addKeeper(record, to: &blockers)
      }
      if blockers.all.isEmpty { forEachRecord { search.addReaders(ofFullLaneReadBy: $0, to: &blockers) } }
    }
    // Checked again behind the search: nothing has changed, and the waiter has not been let go.
    return blockers.all.isEmpty || awaited.whereabouts == whereabouts ? blockers : Blockers()
  }

  /// Whether there is no room in the lane for what is in its list, and all its readers have records: then none of them leaves, and nothing
  /// is taken off the list.
  @inline(never)
  @_optimize(size)
  static func isFullOfSleepers(_ lane: Lane) -> Bool {
    // pairs with: the transitions of LaneState – publishes the list
    let seen = lane.state.load(ordering: .acquiring)
    if !seen.has(LaneState.roomPending) || seen.isOwned || seen.has(LaneState.enqueued) || seen.isHalted {
      return false
    }
    var readers = Blockers()
    return addReaders(of: lane, .reads(lane), to: &readers) == seen.readers
  }
}

extension JobSearch {
  /// Adds the record if its thread holds a lane that has such a job in its list.
  @_optimize(size)
  fileprivate mutating func addKeeper(_ record: WaitRecord.Pointer, to blockers: inout WaitGraph.Blockers) {
    if let outer = lane(heldBy: record), let place { blockers.add(record, .keeps(place, outer: outer)) }
  }

  /// Adds all readers of a full lane that the record's thread reads, and that has such a job in its list: it begins when any of them makes
  /// room.
  @inline(never)
  @_optimize(size)
  fileprivate mutating func addReaders(
    ofFullLaneReadBy record: WaitRecord.Pointer, to blockers: inout WaitGraph.Blockers
  ) {
    guard blockers.all.isEmpty, let outer = lane(heldBy: record, isFull: true), let place else { return }
    _ = WaitGraph.addReaders(of: outer, .keeps(place, outer: outer), to: &blockers)
    blockers.anyEndsIt = true
  }
}
