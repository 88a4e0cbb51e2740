// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

// What differs by kind of queue, in one place: how an item is taken in, and what the rest of the code may ask.
// A new kind is one case here, and one line in each of these lists.
extension DispatchObject.Lane {
  enum Kind: UInt8 {
    /// Serial, and counts its items: see `enqueueCounted`.
    case counted
    case serial
    /// Serial, and takes the most urgent item first: a workloop.
    case sorted
    /// Serial, run by the main thread: the main queue.
    case main
    case concurrent
    /// A global queue. It is not a lane: it has no list, no state and no target; its items go to the engine's run queue.
    case runQueue
  }
}

extension Lane.Kind {
  /// Whether it is a lane without roles of its own: its first item is the oldest one.
  @inline(__always) var isPlainSerial: Bool { rawValue <= Lane.Kind.serial.rawValue }

  /// Whether an item is in when it is in the list. One comparison, in place of a jump by a table: nearly all queues are such.
  @inline(__always) var onlyLists: Bool {
    rawValue &- Lane.Kind.serial.rawValue <= Lane.Kind.main.rawValue - Lane.Kind.serial.rawValue
  }

  /// Whether items run beside each other: those that are no barriers are readers.
  @inline(__always) var hasReaders: Bool { self == .concurrent }

  /// Whether an item, a barrier or not, runs as a reader.
  @inline(__always) func reads(barrier: Bool) -> Bool { self == .concurrent && !barrier }

  /// Whether the owner sorts its items by urgency.
  @inline(__always) var sortsItems: Bool { self == .sorted }

  /// Whether a subclass counts the items.
  @inline(__always) var countsItems: Bool { self == .counted }

  /// Whether the main thread drains the lane, called by a signal.
  @inline(__always) var isMain: Bool { self == .main }

  /// Whether it is no lane, and hands its items to the engine.
  @inline(__always) var isRunQueue: Bool { self == .runQueue }

  /// Whether one queue of the kind exists, from the start and for ever: it has no target, and takes no notice of `suspend`.
  @inline(__always) var isBuiltIn: Bool { self == .main || self == .runQueue }

  /// Whether a caller inside an item can have other threads help with it, as items of the same queue.
  @inline(__always) var runsSeveral: Bool { self == .concurrent || self == .runQueue }

  /// Whether an item with a QoS of its own keeps it, whatever the target has.
  @inline(__always) var keepsItemQoS: Bool { self == .sorted }

  /// The roles in the lane's state.
  @inline(__always) var roles: UInt64 {
    switch self {
    case .serial, .counted, .sorted, .runQueue: 0
    case .concurrent: LaneState.concurrent
    case .main: LaneState.threadBound
    }
  }

  /// How many items may run at once, unless a limit is set.
  @inline(__always) var width: UInt16 { runsSeveral ? .max : 1 }

  /// For descriptions.
  var name: StaticString {
    switch self {
    case .serial, .counted: "serial"
    case .concurrent: "concurrent"
    case .sorted: "workloop"
    case .main: "main"
    case .runQueue: "global"
    }
  }
}

extension Lane {
  /// Of `Kind.counted`: the address of the function that counts a job, and runs its `inner` one. The subclass that does it sets it; 0 before.
  static let countingRunner = Atomic<UInt>(0)

  /// Takes `job` in behind everything that was taken in before. How that is done differs by kind.
  ///
  /// - Parameter isKept: Whether the caller has a reference until this returns (Lane.L10).
  @inline(__always)
  final func enqueue(_ job: Job, isKept: Bool = false) {
    if Recorder.isOn { recordSubmission(of: job) }
    if kind.onlyLists { return push(job, isKept: isKept) }
    switch kind {
    case .serial, .main, .sorted: push(job, isKept: isKept)
    case .runQueue:
      if job.qos != ownQoS.rawValue { nameQueue(of: job) }
      Engine.current.submit(job)
    case .concurrent: enqueueConcurrent(job)
    case .counted: enqueueCounted(job)
    }
  }

  /// As `enqueue`, which is long, and is copied to where it is called: for places where one call more is nothing.
  @inline(never)
  final func enqueueSlow(_ job: Job) { enqueue(job) }

  /// Likewise.
  @inline(never)
  final func submitSlow(_ work: consuming @escaping @Sendable () -> Void) { submit(work) }
}
