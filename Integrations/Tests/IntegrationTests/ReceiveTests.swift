// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import GrandCentralOpenCombine
import OpenCombine
import Testing

/// What a pipeline has received.
private final class Received: @unchecked Sendable {  // touched on its queue, and after the end
  var values: [Int] = []
  var places: Set<String> = []
}

private func here() -> String { DispatchQueue.current.label }

@Suite("Queues of ours carry OpenCombine's values between threads")
struct ReceiveTests {
  @Test("receive(on:): all values, in order, on the queue; then the end")
  func receive() {
    let queue = DispatchQueue(label: "receives")
    let received = Received()
    let ended = DispatchSemaphore(value: 0)
    let kept = (0..<10_000).publisher.receive(on: queue).sink { _ in
      ended.signal()
    } receiveValue: {
      received.values.append($0)
      received.places.insert(here())
    }
    ended.wait()
    #expect(received.values == Array(0..<10_000))
    #expect(received.places == ["receives"])
    withExtendedLifetime(kept) {}
  }

  @Test("subscribe(on:): the publisher begins on the queue, and values are made there")
  func subscribe() {
    let makes = DispatchQueue(label: "makes")
    let receives = DispatchQueue(label: "receives")
    let received = Received()
    let made = Received()
    let ended = DispatchSemaphore(value: 0)
    let kept = Deferred {
      made.places.insert(here())
      return (0..<100).publisher
    }.map {
      made.places.insert(here())
      return $0 * 2
    }.subscribe(on: makes).receive(on: receives).sink { _ in
      ended.signal()
    } receiveValue: {
      received.values.append($0)
      received.places.insert(here())
    }
    ended.wait()
    #expect(made.places == ["makes"])
    #expect(received.places == ["receives"])
    #expect(received.values == (0..<100).map { $0 * 2 })
    withExtendedLifetime(kept) {}
  }
}
