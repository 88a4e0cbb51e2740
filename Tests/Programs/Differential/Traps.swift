// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch

// Each ends the process, or says that it does not.

let trapScenarios: [(String, () -> Void)] = [
  ("trap sync on the own queue", { DispatchQueue(label: "q").sync { DispatchQueue.main.sync {} } }),
  (
    "trap sync on itself",
    {
      let queue = DispatchQueue(label: "q")
      queue.sync { queue.sync {} }
    }
  ),
  ("trap resume", { DispatchQueue(label: "q").resume() }),
  ("trap leave", { DispatchGroup().leave() }),
  ("trap semaphore below zero", { _ = DispatchSemaphore(value: -1) }),
  (
    "trap semaphore gone while in use",
    {
      let semaphore = DispatchSemaphore(value: 1)
      semaphore.wait()
    }
  ),
  (
    "trap suspended queue gone",
    {
      let queue = DispatchQueue(label: "q")
      queue.suspend()
    }
  ),
  (
    "trap inactive queue gone",
    { _ = DispatchQueue(label: "q", attributes: .initiallyInactive) }
  ),
  ("trap not on the queue", { dispatchPrecondition(condition: .onQueue(DispatchQueue(label: "q"))) }),
  (
    "trap on the queue",
    {
      let queue = DispatchQueue(label: "q")
      queue.sync { dispatchPrecondition(condition: .notOnQueue(queue)) }
    }
  ),
  (
    "trap not as a barrier",
    {
      let queue = DispatchQueue(label: "q", attributes: .concurrent)
      queue.sync { dispatchPrecondition(condition: .onQueueAsBarrier(queue)) }
    }
  ),
  (
    "trap timer resumed twice",
    {
      let timer = DispatchSource.makeTimerSource()
      timer.resume()
      timer.resume()
      timer.cancel()
    }
  ),
  ("trap suspended source gone", { _ = DispatchSource.makeTimerSource() }),
  (
    "trap channel by a relative path",
    { _ = DispatchIO(type: .stream, path: "file", oflag: 0, mode: 0, queue: .global()) { _ in } }
  ),
  (
    "trap inactive queue resumed",
    {
      let queue = DispatchQueue(label: "q", attributes: .initiallyInactive)
      queue.resume()
      queue.sync {}
    }
  ),
  (
    "trap target changed of a queue made with one",
    {
      let queue = DispatchQueue(label: "q", target: DispatchQueue(label: "first"))
      queue.setTarget(queue: DispatchQueue(label: "second"))
      queue.sync {}
    }
  ),
  (
    "trap target changed of an active queue",
    {
      let queue = DispatchQueue(label: "q")
      queue.async {}
      queue.setTarget(queue: DispatchQueue(label: "second"))
      queue.sync {}
    }
  ),
  (
    "trap item waited for twice",
    {
      let item = DispatchWorkItem {}
      _ = item.wait(timeout: .now())
      item.perform()
      item.wait()
      item.wait()
    }
  ),
  (
    "trap item waited for and performed again",
    {
      let item = DispatchWorkItem {}
      item.perform()
      item.wait()
      item.perform()
      item.wait()
    }
  ),
  (
    "trap own group gone while entered",
    {
      var group: DispatchGroup? = DispatchGroup()
      group!.enter()
      group = nil
    }
  ),
]
