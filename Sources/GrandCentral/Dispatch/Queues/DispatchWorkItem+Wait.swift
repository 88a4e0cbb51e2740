// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// How the program waits for an item.
extension DispatchWorkItem {
  /// Waits until the item has run once, or was dequeued cancelled. Traps (GC0017) inside the item itself.
  ///
  /// The queue that holds the item is boosted to the waiter's quality of service. Complexity: O(1). Blocking: yes.
  public func wait() { _ = wait(until: .never) }

  /// Waits as `wait()`, until `timeout` at most.
  ///
  /// Complexity: O(1). Blocking: until the item has run or the time has come.
  public func wait(timeout: DispatchTime) -> DispatchTimeoutResult {
    wait(until: timeout.deadline) ? .success : .timedOut
  }

  /// Waits as `wait()`, until `wallTimeout` at most, which follows steps of the clock.
  ///
  /// Complexity: O(1). Blocking: until the item has run or the time has come.
  public func wait(wallTimeout: DispatchWallTime) -> DispatchTimeoutResult {
    wait(until: wallTimeout.deadline) ? .success : .timedOut
  }
}
