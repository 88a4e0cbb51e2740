// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch

// Stand-ins for sources, as tests of programs have them. Dispatch's protocols ask for little.

final class FakeSource: DispatchSourceProtocol {
  private var handler: DispatchSourceHandler?
  private(set) var isRunning = false

  func setEventHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?) {
    self.handler = handler
  }
  func resume() { isRunning = true }
  func suspend() { isRunning = false }
  func cancel() { handler = nil }
  func fire() { handler?() }
}

final class FakeTimer: DispatchSourceTimer {
  func resume() {}
  func cancel() {}
}

final class FakeCounter: DispatchSourceUserDataAdd {
  private(set) var sum: UInt = 0
  func add(data: UInt) { sum += data }
}

protocol Scheduling {
  func async(execute workItem: DispatchWorkItem)
  func sync<T>(execute work: () throws -> T) rethrows -> T
}
extension DispatchQueue: Scheduling {}

protocol Waiting {
  func wait()
  func wait(timeout: DispatchTime) -> DispatchTimeoutResult
}
extension DispatchGroup: Waiting {}
extension DispatchSemaphore: Waiting {}
extension DispatchWorkItem: Waiting {}

protocol Submitting {
  func async(
    group: DispatchGroup?, qos: DispatchQoS, flags: DispatchWorkItemFlags, execute work: @escaping @Sendable () -> Void)
  func asyncAfter(
    deadline: DispatchTime, qos: DispatchQoS, flags: DispatchWorkItemFlags, execute work: @escaping @Sendable () -> Void
  )
}
