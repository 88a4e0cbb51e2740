// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// One direction of a file that may keep an operation waiting.
//
//   | word    | means                                                                         |
//   |---------|-------------------------------------------------------------------------------|
//   | listed  | the descriptor table has the watch                                            |
//   | silent  | the watch was reported to while no operation waited, and is disarmed          |
//   | the rest| the operation that waits, retained, or none                                   |
//
// IOFile.W1  Only the operation that has the turn waits; random ones do not.
// IOFile.W2  The report, under the table's lock, or the step itself takes the operation out of the word, and then kicks it.
// IOFile.W3  The watch is level-triggered: what came before the operation waits is reported after. A watch that is reported to
//     while no operation waits falls silent, and the next operation that waits arms it again. So a descriptor that is ready
//     and not wanted costs two calls, and one that is read as data come costs none.
final class IOWait: @unchecked Sendable {  // why: `word` is atomic, the watch is the table's while listed
  private enum Bit {
    static let listed: UInt = 1
    static let silent: UInt = 2
    static let operation = ~(listed | silent)
  }

  private let word = Atomic<UInt>(0)
  /// Guarded by the turn: made when first needed.
  @exclusivity(unchecked) private(set) var watch: DescriptorWatch.Pointer?

  deinit {
    watch?.deinitialize(count: 1)
    watch.map { Magazine.giveRarely(UnsafeMutableRawPointer($0)) }
  }

  enum Result {
    /// The operation is kicked when the descriptor is ready.
    case waits
    case alwaysReady
    case failed(Errno)
  }

  /// The step: has the operation kicked when `descriptor` is ready.
  func wait(_ operation: IOOperation, _ descriptor: Int32, _ direction: IOFile.Direction) -> Result {
    let watch = readyWatch(descriptor, direction)
    let bits = Owned(operation).give().bits
    // relaxed: verified by the exchange.
    var seen = word.load(ordering: .relaxed)
    while true {
      // pairs with: report – publishes the operation. What the report has noted of the watch is looked at under the
      // table's lock, which this thread takes later than the report did.
      let (exchanged, found) = word.weakCompareExchange(
        expected: seen, desired: bits | Bit.listed, ordering: .releasing)
      if exchanged { break }
      seen = found
    }
    let engine = Engine.shared
    if seen & Bit.listed != 0 {
      if seen & Bit.silent != 0 { engine.pointee.poller.rearm(watch) }
      return .waits
    }
    let result = engine.pointee.poller.watch(watch, in: engine.pointee)
    if result == .watched { return .waits }
    // relaxed: the watch is not listed, so no other thread looks.
    word.store(0, ordering: .relaxed)
    Borrowed(operation).giveBack()
    if case .failed(let error) = result { return .failed(error) }
    return .alwaysReady
  }

  /// In a run of which no thread goes on: the operation that waits.
  var operation: IOOperation? {
    // relaxed: one thread of a run goes on at a time.
    Borrowed<IOOperation>(bits: word.load(ordering: .relaxed) & Bit.operation)?.object
  }

  /// The step: whether the operation still waits.
  func isWaiting(_ operation: IOOperation) -> Bool {
    // relaxed: a step that finds the operation still there is kicked afterwards, and looks again.
    word.load(ordering: .relaxed) & Bit.operation == Borrowed(operation).bits
  }

  /// The step: the operation waits no more.
  func stopWaiting(_ operation: IOOperation) {
    let bits = Borrowed(operation).bits
    // relaxed: verified by the exchange, which decides which thread lets the operation go, and hands nothing over.
    var seen = word.load(ordering: .relaxed)
    while seen & Bit.operation == bits {
      let (exchanged, found) = word.weakCompareExchange(
        expected: seen, desired: seen & ~Bit.operation, ordering: .relaxed)
      if exchanged { return Borrowed(operation).giveBack() }
      seen = found
    }
  }

  /// The last user: nothing is reported any more, and no other thread touches the watch.
  func end() {
    // pairs with: report – publishes that the table has done with a watch that is gone: then the table's lock is not taken here
    if word.load(ordering: .acquiring) & Bit.listed != 0, let watch {
      _ = Engine.current.poller.unwatch(watch)
      // relaxed: no operation waits any more.
      word.store(0, ordering: .relaxed)
    }
  }

  private func readyWatch(_ descriptor: Int32, _ direction: IOFile.Direction) -> DescriptorWatch.Pointer {
    if let watch { return watch }
    // unsafe: a watch is no larger than a node.
    let made = Magazine.takeRarely().bindMemory(to: DescriptorWatch.self, capacity: 1)
    made.initialize(
      to: DescriptorWatch(
        descriptor, direction == .read ? [.readable, .peerClosed] : .writable,
        context: Borrowed(self).word, report: IOWait.report))
    watch = made
    return made
  }

  /// With the descriptor table's lock held.
  private static let report: DescriptorWatch.Report = { context, happened in
    // unsafe: the file ends the watch before it goes.
    Borrowed<IOWait>(word: context).use { wait in
      let gone = happened == DescriptorWatch.gone
      // relaxed: verified by the exchange.
      var seen = wait.word.load(ordering: .relaxed)
      while true {
        let next = gone ? 0 : seen & Bit.operation != 0 ? Bit.listed : Bit.listed | Bit.silent
        // pairs with: wait, end – publishes that the table has done with a watch that is gone; takes over the operation
        let (exchanged, found) = wait.word.weakCompareExchange(
          expected: seen, desired: next, successOrdering: .acquiringAndReleasing,
          // relaxed: followed by another attempt.
          failureOrdering: .relaxed)
        if exchanged { break }
        seen = found
      }
      // Retained by the thread that put it there.
      guard let operation = Borrowed<IOOperation>(bits: seen & Bit.operation) else { return false }
      IOOperation.kickRetained(operation)
      return true
    }
  }
}

extension IOFile {
  func wait(_ direction: Direction) -> IOWait { direction == .read ? waits.0 : waits.1 }
}
