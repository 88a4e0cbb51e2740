// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What all of a channel's operations are told: that they are not carried out, for it was stopped or its file cannot be used, and that
// it is suspended no more. All of it with the channel's lock held.
extension IOChannel {
  /// All hear of the stop, the newest first, before the oldest is kicked: one that ends must not give its turn to one that would
  /// go on.
  func stopAll() {
    var next = newest
    while let operation = next {
      operation.hearOfStop()
      guard let older = operation.older else { break }
      next = older
    }
    while let operation = next {
      next = operation.newer?.object
      end(operation)
    }
  }

  /// The operation knows that it is not carried out. It ends now, or behind the one before it (IOChannel.B5).
  func end(_ operation: IOOperation) {
    let bits = waits(operation) ? 0 : IOState.mayEnd
    if operation.hasStarted || bits == 0 { operation.kickSlow(bits) } else { operation.kickHere(bits) }
  }

  private func waits(_ operation: IOOperation) -> Bool {
    if operation.isRandom || operation.serialQueue == 0 { return false }
    var before = operation.older
    while let one = before, one.direction != operation.direction { before = one.older }
    return before?.serialQueue == operation.serialQueue
  }

  /// The operation's last handler has returned, and it is still listed: the one behind it may end.
  func letEnd(behind operation: IOOperation) {
    if operation.isRandom || operation.serialQueue == 0 { return }
    var behind = operation.newer?.object
    while let one = behind, one.direction != operation.direction { behind = one.newer?.object }
    if let behind, behind.state.load().has(IOState.cancelled) { behind.kickSlow(IOState.mayEnd) }
  }

  /// The channel is suspended no more: the handlers of those that have come as far are called. What the gate holds goes on waiting there.
  func goOn() {
    var next = newest
    while let older = next?.older { next = older }
    while let operation = next {
      next = operation.newer?.object
      let seen = operation.state.load()
      if operation.hasStarted {
        operation.kickSlow()
      } else if seen.has(IOState.cancelled), seen.has(IOState.mayEnd) {
        operation.kickHere()
      }
    }
  }
}
