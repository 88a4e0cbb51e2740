// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

/// Tells when its last reference has gone.
private final class MortalSource: DispatchSource, @unchecked Sendable {  // as DispatchSource
  let died: Latch

  init(_ died: Latch, queue: DispatchQueue) {
    self.died = died
    super.init(handle: 0, mask: 0, queue: queue)
  }

  deinit { died.open() }
}

@Suite("A source's own reference")
struct SourceReferenceTests {
  enum Order: CaseIterable, Sendable { case cancelFirst, suspendFirst, notSuspended }

  @Test(
    "S4, O3: is taken once and given up once, though the source was cancelled before it was activated",
    arguments: Order.allCases)
  func balanced(order: Order) {
    let (died, cancelled, queue) = (Latch(), Latch(), DispatchQueue(label: "source"))
    func run() -> Unmanaged<MortalSource> {
      let source = MortalSource(died, queue: queue)
      source.setCancelHandler { cancelled.open() }
      if order == .suspendFirst { source.suspend() }
      source.cancel()
      if order == .cancelFirst { source.suspend() }
      source.activate()
      source.activate()
      if order != .notSuspended { source.resume() }
      return Unmanaged.passRetained(source)
    }
    let mine = run()
    #expect(cancelled.wait())
    queue.sync {}
    if died.isOpen {
      Issue.record("the source gave up a reference that it never had")
      return
    }
    mine.release()
    #expect(died.wait())
  }
}
