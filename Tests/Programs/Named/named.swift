// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// A program that knows nothing of GrandCentral. A trace of it names the closures that it hands over.

import Dispatch

let done = DispatchSemaphore(value: 0)
let queue = DispatchQueue(label: "named")

func plain() {
  queue.async { done.signal() }
  done.wait()
}

func capturing() {
  let other = DispatchSemaphore(value: 0)
  queue.async { other.signal() }
  other.wait()
}

@Sendable func function() { done.signal() }

func grouped() {
  let group = DispatchGroup()
  queue.async(group: group) {}
  group.wait()
}

func item() {
  let item = DispatchWorkItem {}
  queue.async(execute: item)
  item.wait()
}

func timer() {
  let timer = DispatchSource.makeTimerSource(queue: queue)
  timer.setEventHandler { done.signal() }
  timer.setCancelHandler { done.signal() }
  timer.schedule(deadline: .now())
  timer.resume()
  done.wait()
  timer.cancel()
  done.wait()
}

plain()
capturing()
queue.async(execute: function)
done.wait()
grouped()
item()
timer()
queue.sync {}
print("done")
