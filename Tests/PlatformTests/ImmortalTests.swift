// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@testable import GrandCentral

@Suite("An immortal object")
struct ImmortalTests {
  private final class Thing {
    let value = 42
    let onEnd: () -> Void
    init(onEnd: @escaping () -> Void) { self.onEnd = onEnd }
    deinit { onEnd() }
  }

  @Test("outlives every reference to it")
  func survives() {
    var ended = false
    let thing = Thing { ended = true }
    Immortal.grant(thing)
    let reference = Unmanaged.passUnretained(thing)
    for _ in 0..<10 { reference.release() }
    #expect(!ended)
    #expect(thing.value == 42)
  }

  @Test("is not written to by retain and release")
  func isNotCounted() {
    let thing = Thing {}
    Immortal.grant(thing)
    let reference = Unmanaged.passUnretained(thing)
    let word = (reference.toOpaque() + 8).assumingMemoryBound(to: UInt.self)
    let before = word.pointee
    for _ in 0..<3 { _ = reference.retain() }
    #expect(word.pointee == before)
    reference.release()
    #expect(word.pointee == before)
  }

  @Test("Q2: the global queues and the main queue are")
  func queues() {
    for queue in [DispatchQueue.main, .global(), .global(qos: .background), .global(qos: .userInteractive)] {
      let word = (Unmanaged.passUnretained(queue).toOpaque() + 8).assumingMemoryBound(to: UInt.self)
      let before = word.pointee
      let copies = [queue, queue]
      #expect(word.pointee == before)
      withExtendedLifetime(copies) {}
    }
  }
}
