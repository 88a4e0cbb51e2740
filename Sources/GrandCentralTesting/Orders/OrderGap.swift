// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Why a search may have missed orders: what a program has done, or the search could not do. See Operation.swift.
package enum OrderGap: Int, CaseIterable {
  // What the program has done.
  case loop
  case sortedQueue
  case suspendedQueue
  case changedTarget
  case activation
  case asyncAndWait
  case queuePool
  case tasks
  case taskOutside
  case lastReference
  case kernel
  case tooFewProcessors
  case tooFewNumbers
  case systemLock
  // What is not to be: there is a point within an operation; a worker was not eager; Order.R4.
  case libraryLock
  case untakenItem
  case lostWay

  /// Those that say that the search does not do what Operation.swift says.
  package static let ofSearch = [libraryLock, untakenItem, lostWay].map(\.sentence)

  package var sentence: String {
    switch self {
    case .loop: "the library works outside of an item, as concurrentPerform does"
    case .sortedQueue: "a workloop chooses by priority"
    case .suspendedQueue: "a queue is suspended"
    case .changedTarget: "a queue gets another target"
    case .activation: "a queue upon a queue is activated"
    case .asyncAndWait: "asyncAndWait is called on a queue upon a queue"
    case .queuePool: "a DispatchQueuePool chooses a queue by the thread or by the load, or tells its statistics"
    case .tasks: "tasks of Swift run"
    case .taskOutside: "a task is on Swift's own executor, where it takes no part"
    case .lastReference: "the last reference to an object, which any thread may let go of, submits something"
    case .libraryLock: "threads have met at a lock inside of the library"
    case .kernel: "the kernel's events are waited for: of a descriptor, a signal, a process"
    case .tooFewProcessors: "more items may run at once than there are processors"
    case .tooFewNumbers: "there are too many objects in the process: a queue has no number"
    case .systemLock: "a thread waits for a mutex of the system"
    case .untakenItem: "no worker has taken an item that might have begun"
    case .lostWay: "the program does not do the same each time"
    }
  }
}

/// Why a search may have missed orders: a set.
struct OrderGaps: OptionSet {
  let rawValue: UInt32

  init(rawValue: UInt32) { self.rawValue = rawValue }
  init(_ gap: OrderGap) { rawValue = 1 << UInt32(gap.rawValue) }

  var sentences: [String] { OrderGap.allCases.filter { contains(OrderGaps($0)) }.map(\.sentence) }
}
