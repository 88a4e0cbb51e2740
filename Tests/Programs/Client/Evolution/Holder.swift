// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral

/// A library whose interface may change later, and which shows a queue in it.
public struct Holder {
  public var queue: DispatchQueue
  public var deadline: DispatchTime

  public init(queue: DispatchQueue) {
    self.queue = queue
    deadline = .now() + .seconds(1)
  }

  public func total(of numbers: [Int]) -> Int { queue.sync { numbers.reduce(0, +) } }
}
