// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentralOpenCombine
import OpenCombine
import Synchronization
import Testing

@testable import GrandCentral

private let all: [DispatchQoS] = [.background, .utility, .userInitiated, .userInteractive]

@Suite("The quality of service of a scheduler's options")
struct OptionTests {
  /// An action tells what it runs at, once.
  private final class Told: Sendable {
    private let seen = Mutex<DispatchQoS.QoSClass?>(nil)
    private let come = DispatchSemaphore(value: 0)

    func here() {
      seen.withLock { $0 = QoSWord.ofThread.qos.qosClass }
      come.signal()
    }

    var qosClass: DispatchQoS.QoSClass? { come.wait(timeout: .now() + 60) == .success ? seen.withLock { $0 } : nil }
  }

  // The default queue runs each item at the item's own, be it higher or lower.
  private let queue = DispatchQueue.global()

  @Test("an action at once runs at it", arguments: all)
  func atOnce(qos: DispatchQoS) {
    let told = Told()
    queue.schedule(options: DispatchQueue.SchedulerOptions(qos: qos)) { told.here() }
    #expect(told.qosClass == qos.qosClass)
  }

  @Test("an action after a date runs at it", arguments: all)
  func later(qos: DispatchQoS) {
    let told = Told()
    let date = queue.now.advanced(by: .milliseconds(1))
    queue.schedule(after: date, tolerance: 0, options: DispatchQueue.SchedulerOptions(qos: qos)) { told.here() }
    #expect(told.qosClass == qos.qosClass)
  }

  @Test("each run of an action that repeats is at it", arguments: all)
  func repeatedly(qos: DispatchQoS) {
    let told = Told()
    let options = DispatchQueue.SchedulerOptions(qos: qos)
    let timer = queue.schedule(after: queue.now, interval: .milliseconds(1), tolerance: 0, options: options) {
      told.here()
    }
    for _ in 1...3 { #expect(told.qosClass == qos.qosClass) }
    timer.cancel()
  }
}
