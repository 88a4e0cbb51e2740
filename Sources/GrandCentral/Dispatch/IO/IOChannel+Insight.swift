// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// What other processes may know of a channel. All of it runs only where objects are listed, and for a channel whose barrier has to wait:
// such a channel has an entry from then on, as a queue has that a thread waits for.
extension IOChannel {
  @inline(never)
  @_optimize(size)
  func enterInsight() {
    var facts = InsightObjects.Facts(kind: .channel, address: Borrowed(self).word)
    facts.state.handle = UInt64(UInt32(bitPattern: shownDescriptor))
    facts.begin.isCancelled = failure != 0
    _ = insight.give(facts)
  }

  /// A path that has not been opened is -1.
  private var shownDescriptor: Int32 { file?.rawDescriptor ?? raw }

  /// With the lock held, as the next three: an operation was added, has ended; the channel was closed.
  @inline(never)
  @_optimize(size)
  func noteBegin(_ operation: IOOperation) {
    if !insight.isGiven { enterInsight() }
    operation.shownBytes = operation.direction == .write ? operation.remaining : 0
    InsightObjects.add(operation.shownBytes, to: .bytes, of: insight.known)
    noteOperations()
  }

  @inline(never)
  @_optimize(size)
  func noteEnd(_ operation: IOOperation) {
    InsightObjects.add(-operation.shownBytes, to: .bytes, of: insight.known)
    operation.shownBytes = 0
    noteOperations()
  }

  /// A barrier waits.
  @inline(never)
  @_optimize(size)
  func noteBarrier() {
    if World.isSimulated { return }
    // There may be no region yet: this makes it.
    if insight.known == 0 {
      enterInsight()
      noteWaits()
    }
    noteOperations()
  }

  /// The operations that wait for the descriptor already. Since when is not known: it is from now on that the entry says so.
  @_optimize(size)
  private func noteWaits() {
    guard let file else { return }
    var next = newest
    while let operation = next {
      next = operation.older
      let (wait, reads) = (file.wait(operation.direction), operation.direction == .read)
      guard wait.isWaiting(operation) else { continue }
      InsightObjects.setWait(insight.known, reads: reads, since: Cycles.now)
      // Its step may have gone on before it could see that the channel has an entry.
      if !wait.isWaiting(operation) { InsightObjects.setWait(insight.known, reads: reads, since: 0) }
    }
  }

  @inline(never)
  func noteClosed() { InsightObjects.cancel(insight.known) }

  /// The channel is suspended once more, or once less; without the lock.
  @inline(never)
  @_optimize(size)
  func noteSuspensions() {
    // relaxed: a figure.
    InsightObjects.suspend(insight.known, UInt32(clamping: suspensions.load(ordering: .relaxed)))
  }

  @_optimize(size)
  func noteOperations() {
    InsightObjects.setOperations(
      insight.known, descriptor: shownDescriptor, count: listed, barriers: gate.barriers)
  }
}

extension IOOperation {
  /// The step: the operation waits for its descriptor from now on, or does not any more.
  @inline(__always)
  func noteWait(_ waits: Bool) {
    if let channel, channel.insight.isGiven || waits && Recorder.numbersObjects { noteWaitSlow(waits, channel) }
  }

  @inline(never)
  @_optimize(size)
  private func noteWaitSlow(_ waits: Bool, _ channel: IOChannel) {
    if !channel.insight.isGiven { channel.enterInsight() }
    InsightObjects.setWait(channel.insight.known, reads: direction == .read, since: waits ? Cycles.now : 0)
  }

  /// Bytes have been written.
  @inline(never)
  @_optimize(size)
  func noteWritten(_ count: Int) {
    if Recorder.isOn { Recorder.note(.transfer, detail: 2, word: UInt64(count)) }
    guard let channel, channel.insight.isGiven else { return }
    // One that was begun before the channel was listed is not counted.
    let shown = min(count, shownBytes)
    InsightObjects.add(-shown, to: .bytes, of: channel.insight.known)
    shownBytes -= shown
  }
}
