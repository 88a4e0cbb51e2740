// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// What a thread says of itself, in its entry of the insight region, before it waits in one of the library's calls.
///
/// It is written whether a tool looks or not: a tool looks when the program hangs, and then it is too late to ask for it.
/// Only threads that are about to sleep in the kernel come here.
struct WaitNote {
  /// The counter when the wait began; 0: nothing was noted; `unlisted`: no entry was free for the thread.
  private let begun: UInt64
  private static let unlisted: UInt64 = 1
  private let kind: Kind
  private let object: UInt
  /// The number of the queue that is waited for, while recording is on.
  private let number: UInt32
  private let loan: Loan

  enum Kind: UInt32 {
    case queue = 1
    case itemElsewhere
    case group
    case semaphore
    case workItem
    case apply
    case once
    case other
  }

  /// The calling thread is about to wait.
  ///
  /// - Parameters:
  ///   - object: What it waits for.
  ///   - queue: The queue that it waits for: for its turn there, or for its item.
  ///   - isTimed: Whether the wait has a deadline.
  ///   - count: Of a group, its members under way.
  ///   - owner: The thread that ends the wait, if it is known and no queue's.
  ///   - loan: What the caller lends for as long as it waits; to a queue it lends by itself (Contract.W4).
  @inline(never)
  static func begin(
    _ kind: Kind, _ object: UInt, queue: Lane? = nil, isTimed: Bool = false,
    count: UInt32 = 0, owner: UInt32 = 0, loan: Loan = .none
  ) -> WaitNote {
    let loan = queue?.lend() ?? loan
    // Also without an engine: threads that wait only for each other may do so for ever.
    InsightRegion.makeAndAwait()
    let me = InsightThread.ready
    // A simulation has a point at the end, also where no entry is left for the thread.
    guard me != nil || World.isSimulated else {
      let isLeftOut = InsightRegion.memory != nil
      if isLeftOut { InsightRegion.head.show(moreUnlisted: 1) }
      return WaitNote(begun: isLeftOut ? Self.unlisted : 0, kind: kind, object: object, number: 0, loan: loan)
    }
    let now = Cycles.now
    let number = queue?.insightNumber ?? 0
    let inside = QueueContext.ofInnermost
    me?.wait(
      InsightThread.Wait(
        kind: kind.rawValue, object: object, number: number,
        owner: owner != 0 ? owner : queue.map { Self.owner(of: $0) } ?? 0,
        isTimed: isTimed, count: queue?.placeOfState ?? count, label: queue?.name ?? "",
        inside: inside?.bits ?? 0, insideLabel: inside?.use { $0.name } ?? ""),
      since: now)
    return WaitNote(begun: now, kind: kind, object: object, number: number, loan: loan)
  }

  private static func owner(of queue: Lane) -> UInt32 {
    if queue.kind.isMain { return World.isSimulated ? World.firstID : Thread.mainID }
    // relaxed: the thread that holds it at this moment.
    return queue.state.load(ordering: .relaxed).owner
  }

  /// The calling thread, which has noted its wait, was called from there.
  static func noteCaller(_ trace: [UInt]) {
    guard let me = InsightThread.current, let site = CallSite.outside(trace) else { return }
    me.noteCaller(UInt64(site.address))
  }

  /// The calling thread is back.
  @inline(never)
  func end() {
    loan.end()
    if begun <= Self.unlisted {
      if begun != 0 { InsightRegion.head.show(moreUnlisted: .max) }
      return
    }
    let now = Cycles.now
    InsightThread.current?.become(InsightLayout.State.active, at: now)
    if Recorder.isOn {
      Recorder.note(
        .wait, from: begun, to: now, detail: UInt16(kind.rawValue), queue: number, argument: 0,
        word: UInt64(object))
    }
  }
}

extension Loan {
  /// A thread or a task whose band is `lender` is about to wait for work in `borrower`; nil stands for any that is less urgent.
  static func make(from lender: Band, to borrower: Band?) -> Loan {
    // Where no work was ever submitted, threads wait for each other's turns only.
    if lender >= borrower ?? .maintenance || Engine.existing == nil { return none }
    let loan = Loan(from: lender, to: borrower)
    Engine.current.loans.change(1, loan)
    return loan
  }

  /// The wait is over.
  func end() {
    if code != 0 { Engine.current.loans.change(-1, self) }
  }
}
