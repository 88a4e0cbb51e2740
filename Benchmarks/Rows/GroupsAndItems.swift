// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport

/// H: groups and work items.
func groupsAndItems() -> [Operation] {
  [
    Operation("H.group-enter-leave-empty") {
      let group = DispatchGroup()
      return { n, _ in
        for _ in 0..<n {
          group.enter()
          group.leave()
        }
      }
    },
    Operation("H.group-enter-leave-nonzero") {
      let group = DispatchGroup()
      return { n, _ in
        group.enter()
        for _ in 0..<n {
          group.enter()
          group.leave()
        }
        group.leave()
      }
    },
    Operation("H.async-group") {
      let queue = DispatchQueue(label: "bench.h")
      let group = DispatchGroup()
      return { n, _ in
        for _ in 0..<n { queue.async(group: group) {} }
        group.wait()
      }
    },
    notifications("H.notify-empty-group") { group, queue, done in
      group.notify(queue: queue) { done.arrive() }
    } group: {
      let group = DispatchGroup()
      return { group }
    },
    notifications("H.notify-new-group") { group, queue, done in
      group.enter()
      group.notify(queue: queue) { done.arrive() }
      group.leave()
    } group: {
      { DispatchGroup() }
    },
    Operation("H.work-item-create-perform") {
      { n, _ in for _ in 0..<n { DispatchWorkItem {}.perform() } }
    },
    Operation("H.work-item-create-cancel") {
      { n, _ in for _ in 0..<n { DispatchWorkItem {}.cancel() } }
    },
    Operation("H.work-item-async-cancelled") {
      let queue = DispatchQueue(label: "bench.h")
      return { n, _ in
        queue.suspend()
        for _ in 0..<n {
          let item = DispatchWorkItem {}
          queue.async(execute: item)
          item.cancel()
        }
        queue.resume()
        queue.sync {}
      }
    },
    Operation("H.work-item-async-notify") {
      let queue = DispatchQueue(label: "bench.h")
      return { n, _ in
        let done = Countdown(n)
        for _ in 0..<n {
          let item = DispatchWorkItem {}
          item.notify(queue: queue) { done.arrive() }
          queue.async(execute: item)
        }
        done.wait()
      }
    },
  ]
}

private func notifications(
  _ name: String,
  submit: @escaping (DispatchGroup, DispatchQueue, Countdown) -> Void,
  group makeGroups: @escaping () -> () -> DispatchGroup
) -> Operation {
  Operation(name) {
    let queue = DispatchQueue(label: "bench.h")
    let nextGroup = makeGroups()
    return { n, _ in
      let done = Countdown(n)
      for _ in 0..<n { submit(nextGroup(), queue, done) }
      done.wait()
    }
  }
}

/// H: calls so small that a program makes them without a thought.
func smallCalls() -> [Operation] {
  [
    Operation("H.get-specific") {
      let queue = DispatchQueue(label: "bench.h")
      let key = DispatchSpecificKey<Int>()
      queue.setSpecific(key: key, value: 7)
      return { n, _ in
        queue.sync {
          for _ in 0..<n { bench_consume(UInt64(DispatchQueue.getSpecific(key: key) ?? 0)) }
        }
      }
    },
    Operation("H.global-qos") {
      { n, _ in for _ in 0..<n { letEscape(DispatchQueue.global(qos: .utility)) } }
    },
    Operation("H.time-now") {
      { n, _ in for _ in 0..<n { bench_consume(DispatchTime.now().uptimeNanoseconds) } }
    },
    Operation("H.create-semaphore") {
      { n, _ in for _ in 0..<n { letEscape(DispatchSemaphore(value: 1)) } }
    },
    Operation("H.create-group") {
      { n, _ in for _ in 0..<n { letEscape(DispatchGroup()) } }
    },
  ]
}
