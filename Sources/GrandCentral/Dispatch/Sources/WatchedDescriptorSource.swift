// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// A source that watches one descriptor of the program's.
///
/// The watch is level-triggered. It is switched off while an event waits to be delivered, if the kernel reports it again
/// meanwhile; the delivery switches it on again.
class WatchedDescriptorSource: DispatchSource, @unchecked Sendable {  // the watch is the table's while it is listed
  final let watch: DescriptorWatch.Pointer

  init(descriptor: Int32, interest: Epoll.Interest, mask: UInt, queue: DispatchQueue?) {
    // unsafe: a watch is no larger than a node.
    watch = Magazine.takeRarely().bindMemory(to: DescriptorWatch.self, capacity: 1)
    super.init(handle: UInt(UInt32(bitPattern: descriptor)), mask: mask, queue: queue)
    watch.initialize(
      to: DescriptorWatch(
        descriptor, interest, context: Borrowed(self).word,
        report: WatchedDescriptorSource.report))
  }

  deinit {
    requireReleasable()
    watch.deinitialize(count: 1)
    Magazine.giveRarely(UnsafeMutableRawPointer(watch))
  }

  final var descriptor: Int32 { watch.pointee.descriptor }

  final override var watched: String { "descriptor " + String(descriptor) }

  /// The registration of a file that is always ready: most kinds have nothing to wait for there.
  func registerAlwaysReady() -> Errno? { .notPermitted }

  /// An event was reported; whether to go on reporting.
  func didReport() -> Bool { fire() }

  override func register() -> Errno? {
    if descriptor < 0 { return .badDescriptor }
    switch Engine.current.poller.watch(watch, in: Engine.current) {
    case .watched: return nil
    case .failed(let error): return error
    case .alwaysReady: return registerAlwaysReady()
    }
  }

  override func unregister() -> Bool {
    // The program may have closed the descriptor before it cancelled. That is not reported: it no longer needs the source. A report that
    // it is gone may be under way: this waits for its end, by the table's lock.
    _ = Engine.current.poller.unwatch(watch)
    return true
  }

  /// With the descriptor table's lock held: calls nothing but the state machine.
  private static let report: DescriptorWatch.Report = { context, happened in
    // unsafe: the active source keeps itself alive until it is unregistered: by this thread, or by one that waits for the table's lock.
    Borrowed<WatchedDescriptorSource>(word: context).use { source in
      if happened != DescriptorWatch.gone { return source.didReport() }
      source.cancelAsLost(isWatched: false)
      return false
    }
  }
}
