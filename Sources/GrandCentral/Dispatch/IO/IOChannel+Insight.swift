// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// What other processes may know of a channel. All of it runs only where objects are listed.
extension IOChannel {
  @inline(never)
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
  func noteBegin(_ operation: IOOperation) {
    operation.shownBytes = operation.direction == .write ? operation.remaining : 0
    InsightObjects.add(operation.shownBytes, to: .bytes, of: insight.known)
    noteOperations()
  }

  @inline(never)
  func noteEnd(_ operation: IOOperation) {
    InsightObjects.add(-operation.shownBytes, to: .bytes, of: insight.known)
    operation.shownBytes = 0
    noteOperations()
  }

  @inline(never)
  func noteClosed() { InsightObjects.cancel(insight.known) }

  /// The channel is suspended once more, or once less; without the lock.
  @inline(never)
  func noteSuspensions() {
    // relaxed: a figure.
    InsightObjects.suspend(insight.known, UInt32(clamping: suspensions.load(ordering: .relaxed)))
  }

  private func noteOperations() {
    InsightObjects.setOperations(insight.known, descriptor: shownDescriptor, count: listed)
  }
}

extension IOOperation {
  /// Bytes have been written.
  @inline(never)
  func noteWritten(_ count: Int) {
    if Recorder.isOn { Recorder.note(.transfer, detail: 2, word: UInt64(count)) }
    guard let channel, channel.insight.isGiven else { return }
    InsightObjects.add(-count, to: .bytes, of: channel.insight.known)
    shownBytes -= count
  }
}
