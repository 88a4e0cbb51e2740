// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// What all of a channel's operations are told: that they are not carried out, for it was stopped or its file cannot be used, and that
// it is suspended no more: this with the channel's lock held. And its suspensions.
extension IOChannel {
  /// All hear of the stop, the newest first, before the oldest is kicked: one that ends must not give its turn to one that would
  /// go on.
  @_optimize(size)
  func stopAll() {
    var next = newest
    while let operation = next {
      operation.hearOfStop()
      guard let older = operation.older else { break }
      next = older
    }
    startedOnes(from: next) { end($0) }
  }

  /// Visits those that have started, the oldest first: from `oldest` on.
  @inline(never)
  @_optimize(size)
  private func startedOnes(from oldest: IOOperation?, _ visit: (IOOperation) -> Void) {
    var next = oldest
    while let operation = next, operation.hasStarted {
      next = operation.newer?.object
      visit(operation)
    }
  }

  /// The operation has started, and knows that it is not carried out. It ends now, or behind an older one (IOChannel.B5).
  @inline(never)
  @_optimize(size)
  func end(_ operation: IOOperation) {
    if orders == nil { chainAll() }
    chain(operation)
    operation.kickSlow(operation.sooner == nil ? IOState.mayEnd : 0)
  }

  /// The operation's last handler has returned, and it is still listed and chained: the next one behind it may end.
  @inline(never)
  @_optimize(size)
  func letEnd(behind operation: IOOperation) {
    let (sooner, later) = (operation.sooner?.object, operation.later?.object)
    operation.isChained = false
    operation.sooner = nil
    operation.later = nil
    sooner?.later = later.map { Borrowed($0) }
    if let later {
      later.sooner = sooner.map { Borrowed($0) }
    } else if let sooner {
      orders?.note(sooner)
    } else {
      orders?.forget(operation.order)
    }
    if let later, sooner == nil, later.state.load().has(IOState.cancelled) { later.kickSlow(IOState.mayEnd) }
  }

  /// An operation is not carried out, for the first time: no later one is. Those that have started before may be, or may end in the same way.
  @inline(never)
  @_optimize(size)
  private func chainAll() {
    orders = IOOrders()
    startedOnes(from: oldest) { chain($0) }
  }

  /// The operation comes behind those of its order that have started before, and have not ended.
  @_optimize(size)
  private func chain(_ operation: IOOperation) {
    if operation.isChained || !operation.endsInOrder { return }
    operation.isChained = true
    if let sooner = orders?.newest(of: operation.order) {
      sooner.later = Borrowed(operation)
      operation.sooner = Borrowed(sooner)
    }
    orders?.note(operation)
  }

  private var oldest: IOOperation? {
    var next = newest
    while let older = next?.older { next = older }
    return next
  }

  /// The channel is suspended no more: the handlers of those that have come as far are called. What the gate holds goes on waiting there.
  @_optimize(size)
  func goOn() {
    startedOnes(from: oldest) { $0.kickSlow() }
  }
}

extension IOChannel {
  var isSuspended: Bool {
    // pairs with: resume – publishes what the program did before it resumed. An operation that reads the old count is kicked
    // later.
    suspensions.load(ordering: .acquiring) > 0
  }

  @_optimize(size)
  func suspend() {
    // relaxed: what is on its way already still comes.
    suspensions.wrappingAdd(1, ordering: .relaxed)
    if insight.isGiven { noteSuspensions() }
  }

  /// False if there was nothing to take back.
  @_optimize(size)
  func resume() -> Bool {
    // pairs with: isSuspended – publishes what the program did before it resumed
    let before = suspensions.wrappingSubtract(1, ordering: .releasing).oldValue
    if insight.isGiven { noteSuspensions() }
    if before != 1 { return before > 1 }
    lock.withLock { goOn() }
    lookAgain()
    return true
  }
}

extension IOOperation {
  /// Whether its calls, and its end if it is stopped, come behind those of others: see IOFile and IOChannel.B5.
  var endsInOrder: Bool { !isRandom && serialQueue != 0 }

  /// Equal for operations that come behind each other in that way; 0 for one that does not. The lowest bit is the direction: an address is
  /// even.
  @inline(__always)
  var order: UInt { endsInOrder ? serialQueue | (direction == .write ? 1 : 0) : 0 }
}
