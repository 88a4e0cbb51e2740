// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// A source that counts a signal's deliveries.
///
/// The count is merged first, and the event is made known afterwards, as a user data source does it.
final class SignalSource: DispatchSource, DispatchSourceSignal, @unchecked Sendable {  // the watch is the table's
  private let merged = Atomic<UInt>(0)
  private let watch: SignalWatch.Pointer

  @_optimize(size)
  init(signal: Int32, queue: DispatchQueue?) {
    guard Signals.canBeWatched(signal) else { Self.refuse(signal) }
    // unsafe: a watch is no larger than a node.
    watch = Magazine.takeRarely().bindMemory(to: SignalWatch.self, capacity: 1)
    super.init(handle: UInt(signal), mask: 0, queue: queue)
    watch.initialize(
      to: SignalWatch(signal, context: Borrowed(self).word, report: SignalSource.report))
  }

  @_optimize(size)
  deinit {
    requireReleasable()
    watch.deinitialize(count: 1)
    Magazine.giveRarely(UnsafeMutableRawPointer(watch))
  }

  @inline(never)
  @_optimize(size)
  private static func refuse(_ signal: Int32) -> Never {
    Fault.misuse(
      .signalCannotBeWatched,
      "makeSignalSource(signal: " + String(signal) + "): this signal cannot be watched. It is SIGKILL or SIGSTOP, one "
        + "that a thread causes by a fault of its own (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS), or none at all. "
        + "Watch another one, or handle faults with sigaction.")
  }

  override var kindName: String { "signal source" }
  override var watched: String { "signal " + String(watch.pointee.signal) }

  override func register() -> Errno? { Engine.current.signals.add(watch, in: Engine.current) }

  @_optimize(size)
  override func unregister() -> Bool {
    Engine.current.signals.remove(watch, in: Engine.current)
    return true
  }

  private static let report: SignalWatch.Report = { context, deliveries in
    // unsafe: the active source keeps itself alive until the watch is off the table.
    Borrowed<SignalSource>(word: context).use { source in
      // pairs with: takeEvent – publishes what the sender did before
      source.merged.wrappingAdd(deliveries, ordering: .releasing)
      source.fire()
    }
  }

  @_optimize(size)
  override func takeEvent() -> UInt? {
    // pairs with: report – publishes what the sender did before
    let deliveries = merged.exchange(0, ordering: .acquiring)
    return deliveries == 0 ? nil : deliveries
  }
}
