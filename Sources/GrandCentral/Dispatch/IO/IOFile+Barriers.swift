// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The barriers of all channels of a file, which hold up the operations of all of them. The file's lock guards it.
///
///     submitted:   a1   b1   | barrier 1 |   a2   | barrier 2 |   b2        a, b: operations of two channels
///     ticket:       0    0         1          1         2          2        of those that wait in their channel's gate
///
/// IOBarriers.F1  Barriers are numbered in the order in which they are submitted, and run in that order, one at a time.
/// IOBarriers.F2  An operation that has to wait gets the number of the newest barrier as its ticket. It starts when that barrier
///     has ended.
/// IOBarriers.F3  A barrier runs when the ones before it have ended, and so has every operation that was submitted before it, or
///     has started: those that wait with a lower ticket are counted.
/// IOBarriers.F4  A channel that cannot go on is noted under the lock under which it has found that out, with the barrier which has to end
///     first. When it has ended, the channel looks again, and is noted anew if operations hold it up: they were submitted, or have
///     started, before. Those that wait for later barriers do not look, however many there are.
///
/// Within a channel its gate has the order as well. Single reads and writes, which belong to no channel, take no part. An operation
/// that is not carried out waits for no barrier.
struct IOBarriers {
  private var newest = 0
  private var ended = 0
  /// Operations that wait in a gate, and whose barrier has ended.
  private var free: Int32 = 0
  /// Operations that wait, by ticket: the last count is of the newest barrier's, the one at `head` of the oldest that has not ended. (Not
  /// of `Int`: the checker's scenarios have arrays of those, and would be linked to this module's code for them, which it watches.)
  private var gated: [Int32] = []
  private var head = 0
  private static let leastToMove = 32
  /// Operations that have started, and whose last handler has not returned.
  private var started = 0
  /// The channels that operations hold up; and from `firstNoted` on those that barriers do, in the order of these.
  private var ready: [IOChannel] = []
  private var noted: [IOChannel] = []
  private var firstNoted = 0
  static let notHeldUp = -1

  @_optimize(size)
  mutating func submit() -> Int {
    newest += 1
    gated.append(0)
    return newest
  }

  /// The operation waits in its channel's gate.
  @_optimize(size)
  mutating func gate(_ operation: IOOperation) {
    operation.ticket = newest
    count(newest, 1)
  }

  @_optimize(size)
  private mutating func count(_ ticket: Int, _ change: Int32) {
    if ticket > ended { gated[head + ticket - ended - 1] += change } else { free += change }
  }

  /// Whether the operation has started; else its channel is noted. One that is not carried out always does.
  @_optimize(size)
  mutating func start(_ operation: IOOperation, of channel: IOChannel, isCarriedOut: Bool) -> Bool {
    let barrier = operation.ticket ?? newest
    if isCarriedOut, barrier > ended {
      note(channel, until: barrier)
      return false
    }
    if let ticket = operation.ticket { count(ticket, -1) }
    operation.ticket = nil
    started += 1
    return true
  }

  /// Whether the barrier runs now; else its channel is noted.
  @_optimize(size)
  mutating func begin(_ barrier: Int, of channel: IOChannel) -> Bool {
    if ended == barrier - 1, free == 0, started == 0 { return true }
    note(channel, until: barrier - 1)
    return false
  }

  /// Returns the channels that look again; so for the next one.
  @_optimize(size)
  mutating func operationHasEnded() -> [IOChannel] {
    started -= 1
    return started == 0 && ended < newest ? takeNoted() : []
  }

  @_optimize(size)
  mutating func barrierHasEnded() -> [IOChannel] {
    ended += 1
    // None waits for an older one: IOBarriers.F3.
    free = gated[head]
    head += 1
    if Self.isWorthMoving(head, of: gated.count) {
      gated.removeFirst(head)
      head = 0
    }
    return takeNoted()
  }

  @_optimize(size)
  private mutating func note(_ channel: IOChannel, until barrier: Int) {
    // What comes later in a gate waits for no earlier barrier: tickets and numbers grow along it.
    if channel.heldUp != Self.notHeldUp { return }
    channel.heldUp = barrier
    if barrier <= ended { return ready.append(channel) }
    // Most come in the barriers' order.
    var place = noted.count
    while place > firstNoted, noted[place - 1].heldUp > barrier { place -= 1 }
    noted.insert(channel, at: place)
  }

  @_optimize(size)
  private mutating func takeNoted() -> [IOChannel] {
    var channels = ready
    ready = []
    while firstNoted < noted.count, noted[firstNoted].heldUp <= ended {
      channels.append(noted[firstNoted])
      firstNoted += 1
    }
    if Self.isWorthMoving(firstNoted, of: noted.count) {
      noted.removeFirst(firstNoted)
      firstNoted = 0
    }
    for channel in channels { channel.heldUp = Self.notHeldUp }
    return channels
  }

  /// What stays moves up when at least as much has gone, so that each entry is moved once on average.
  private static func isWorthMoving(_ gone: Int, of count: Int) -> Bool {
    gone == count || gone >= leastToMove && gone * 2 >= count
  }
}

extension IOFile {
  /// The operation joins, if no barrier holds it up. One that is not carried out is counted.
  @_optimize(size)
  func start(_ operation: IOOperation, of channel: IOChannel, isCarriedOut: Bool) -> Bool {
    let (isStarted, hasTurn) = lock.withLock { () -> (Bool, Bool) in
      if !barriers.start(operation, of: channel, isCarriedOut: isCarriedOut) { return (false, false) }
      return (true, isCarriedOut && isTurn(of: operation))
    }
    if hasTurn { operation.kick(IOState.turn) }
    return isStarted
  }

  func gate(_ operation: IOOperation) { lock.withLock { barriers.gate(operation) } }

  func submitBarrier() -> Int { lock.withLock { barriers.submit() } }

  @_optimize(size)
  func begin(_ barrier: Int, of channel: IOChannel) -> Bool {
    lock.withLock { barriers.begin(barrier, of: channel) }
  }

  func operationHasEnded() -> [IOChannel] { lock.withLock { barriers.operationHasEnded() } }
  func barrierHasEnded() -> [IOChannel] { lock.withLock { barriers.barrierHasEnded() } }
}
