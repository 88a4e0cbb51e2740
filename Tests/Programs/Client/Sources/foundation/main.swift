// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Foundation
import GrandCentral

// Foundation has the names of Dispatch as well; a program that uses both says whose it means, or runs `gcd adopt`.
typealias DispatchQueue = GrandCentral.DispatchQueue

let queue = DispatchQueue(label: "org.example.foundation")
let text = try queue.sync { String(decoding: try JSONEncoder().encode(["sum": (1...100).reduce(0, +)]), as: UTF8.self) }
print(text)
