// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// A value under a POSIX mutex.
public final class Guarded<Value>: @unchecked Sendable {  // why: `value` is only touched under `mutex`
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var value: Value

  public init(_ value: Value) {
    self.value = value
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  public func with<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}

/// What happened, in the order in which it was noted.
public final class Recorder<Value: Sendable>: Sendable {
  private let storage = Guarded<[Value]>([])

  public init() {}

  public func note(_ value: Value) { storage.with { $0.append(value) } }
  public var values: [Value] { storage.with { $0 } }
  public var count: Int { storage.with { $0.count } }
}

/// A number that any thread may raise.
public final class Counter: Sendable {
  private let storage: Atomic<Int>

  public init(_ value: Int = 0) { storage = Atomic(value) }

  /// The value after the step.
  @discardableResult
  public func add(_ step: Int = 1) -> Int {
    // pairs with: every other use of `storage` – publishes what the adding thread did before
    storage.add(step, ordering: .acquiringAndReleasing).newValue
  }

  public var value: Int {
    // pairs with: `add` – publishes what the adding threads did before
    storage.load(ordering: .acquiring)
  }
}

/// How many are inside at once, and the most that ever were.
public final class Occupancy: Sendable {
  private let state = Guarded<(inside: Int, peak: Int)>((0, 0))

  public init() {}

  @discardableResult
  public func enter() -> Int {
    state.with {
      $0.inside += 1
      $0.peak = max($0.peak, $0.inside)
      return $0.inside
    }
  }

  public func leave() { state.with { $0.inside -= 1 } }
  public var inside: Int { state.with { $0.inside } }
  public var peak: Int { state.with { $0.peak } }
}

/// A variable without any protection: the queue under test must give it.
public final class Unprotected<Value>: @unchecked Sendable {  // why: exclusivity is the promise that the test proves
  public var value: Value

  public init(_ value: Value) { self.value = value }
}

/// Tells, by opening a latch, that the last reference to it has gone.
public final class Tombstone: Sendable {
  public let buried: Latch
  private let epitaph: @Sendable () -> Void

  public init(_ buried: Latch = Latch(), epitaph: @escaping @Sendable () -> Void = {}) {
    self.buried = buried
    self.epitaph = epitaph
  }

  /// Keeps the reference alive up to here.
  public func visit() {}

  deinit {
    epitaph()
    buried.open()
  }
}

/// Checks starts against FIFO order without a lock around the start itself.
///
/// An item that has been dequeued but has not noted its start yet holds a thread. So when item `b` starts, at most
/// (threads - 1) of the items that had to start before it can be missing; more means that `b` overtook.
public final class StartOrder: Sendable {
  private struct State {
    var started: [Bool]
    var firstMissing = 0
    var worst = 0
    var threads: Set<pid_t> = []
    var count = 0
  }
  private let state: Guarded<State>

  public init(items: Int) { state = Guarded(State(started: Array(repeating: false, count: items))) }

  /// Called first thing by item `index`.
  public func started(_ index: Int) {
    let thread = Kernel.threadID
    state.with {
      $0.threads.insert(thread)
      $0.started[index] = true
      $0.count += 1
      while $0.firstMissing < $0.started.count, $0.started[$0.firstMissing] { $0.firstMissing += 1 }
      guard $0.firstMissing < index else { return }
      var missing = 0
      for earlier in $0.firstMissing..<index where !$0.started[earlier] { missing += 1 }
      $0.worst = max($0.worst, missing)
    }
  }

  public var count: Int { state.with { $0.count } }
  public var threads: Int { state.with { $0.threads.count } }
  /// The most earlier items that were missing when a later one started.
  public var worst: Int { state.with { $0.worst } }
  /// Whether every start can be explained by items that were already on their threads.
  public var isFIFO: Bool { state.with { $0.worst < max(1, $0.threads.count) } }
}
