// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GrandCentral

/// What records say of the code that an item calls.
@Suite("The code of an item")
struct ItemCodeTests {
  private final class Token: Sendable {}

  private func code(_ item: DispatchWorkItem) -> UInt { item.code(\.address) }
  private func item(_ token: Token) -> DispatchWorkItem { DispatchWorkItem { withExtendedLifetime(token) {} } }

  @Test("the code of a work item is its closure's, and nothing's when the closure is gone")
  func code() {
    let (first, second) = (item(Token()), item(Token()))
    #expect(code(first) != 0 && code(first) == code(second))
    #expect(code(DispatchWorkItem {}) != code(first))
    first.perform()
    #expect(code(first) == code(second))
    first.cancel()
    #expect(code(first) == 0)
  }

  @Test("a look at the code while the item is cancelled leaves the closure to be released once")
  func race() {
    for _ in 0..<2_000 {
      weak var token: Token?
      do {
        let kept = Token()
        token = kept
        let item = item(kept)
        DispatchQueue.concurrentPerform(iterations: 2) { index in
          if index == 0 { item.cancel() } else { _ = code(item) }
        }
        #expect(code(item) == 0)
      }
      #expect(token == nil)
    }
  }

  @Test("what is told of a source's handler leaves its flags and its quality of service alone")
  func handlers() {
    let item = DispatchWorkItem(qos: .utility, flags: [.barrier, .enforceQoS]) {}
    for code in [0, 0x1234, UInt.max >> 8] {
      let handler = SourceHandler(as: item, telling: code) {}
      #expect(handler.told == code && handler.isBarrier && handler.qos == QoSWord(.utility))
      let flags: [DispatchWorkItemFlags] = [
        .barrier, .detached, .assignCurrentContext, .noQoS, .inheritQoS, .enforceQoS,
      ]
      for flag in flags { #expect(handler.flags.contains(flag) == item.flags.contains(flag)) }
    }
  }
}
