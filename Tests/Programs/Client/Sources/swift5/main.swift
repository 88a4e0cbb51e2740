// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral

// As code of Swift 5 does: a variable that the items change, and a semaphore.
final class Box {
  var sum = 0
}

let box = Box()
let queue = DispatchQueue(label: "org.example.swift5", qos: .utility)
let done = DispatchSemaphore(value: 0)
for number in 1...100 {
  queue.async { box.sum += number }
}
queue.async { done.signal() }
done.wait()
print("sum \(box.sum)")
