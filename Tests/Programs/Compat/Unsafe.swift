// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch

// What the compiler refuses, or warns of, with Dispatch: with us no more than that.

final class Cart {
  var count = 0

  func share(_ queue: DispatchQueue, _ group: DispatchGroup) {
    var total = 0
    queue.async { self.count += 1 }
    queue.async { total += 1 }
    queue.async(group: group) { self.count += 1 }
    queue.async(flags: .barrier) { self.count += 1 }
    queue.asyncAfter(deadline: .now() + 1) { self.count += 1 }
    queue.asyncAfter(wallDeadline: .now() + 1) { total += self.count }
    DispatchQueue.concurrentPerform(iterations: 2) { _ in total += 1 }
    print(total)
  }

  func shareTools(_ queue: DispatchQueue, _ channel: DispatchIO, _ source: any DispatchSourceTimer) {
    let item = DispatchWorkItem {}
    let data = DispatchData.empty
    queue.async { item.perform() }
    queue.async { print(data.count) }
    queue.async { channel.close(flags: .stop) }
    queue.async { source.cancel() }
    queue.async { source.setEventHandler { item.cancel() } }
  }
}

@MainActor final class Window {
  var title = ""

  func work(_ queue: DispatchQueue) {
    queue.async { self.title = "background" }
    queue.asyncAfter(deadline: .now()) { self.title = "later" }
    queue.async { [weak self] in
      DispatchQueue.main.async { self?.title = "main" }
    }
    DispatchQueue.main.asyncAfter(deadline: .now() + 1) { self.title = "main, later" }
  }
}

struct Holder: Sendable {
  let queue: DispatchQueue
  let group: DispatchGroup
  let semaphore: DispatchSemaphore
  let qos: DispatchQoS
  let item: DispatchWorkItem
  let flags: DispatchWorkItemFlags
  let key: DispatchSpecificKey<Int>
  let data: DispatchData
  let channel: DispatchIO
  let timer: any DispatchSourceTimer
  let time: DispatchTime
}
