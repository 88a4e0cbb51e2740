// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Counter
import CxxStdlib
import GrandCentral

let queue = DispatchQueue(label: "org.example.cxx")
let text = queue.sync {
  var counter = Counter()
  for number: Int32 in 1...100 { counter.add(number) }
  return String(counter.text())
}
print(text)
