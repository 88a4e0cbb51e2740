// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral

let queue = DispatchQueue(label: "org.example.small")
let group = DispatchGroup()
for number in 1...3 {
  queue.async(group: group) { print("item \(number)") }
}
group.wait()
