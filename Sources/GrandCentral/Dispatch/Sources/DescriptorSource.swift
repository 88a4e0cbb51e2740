// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// A source that watches a descriptor for something to read, or for room to write.
///
/// The watch is level-triggered. It is switched off while an event waits to be delivered, if the kernel reports it again
/// meanwhile; the delivery switches it on again. A file that is always ready fires again after each handler.
final class DescriptorSource: DispatchSource, DispatchSourceRead, DispatchSourceWrite,
  @unchecked Sendable  // as said below
{
  // The watch is the table's while it is listed; the rest is the activator's and, later, the delivery's.

  enum Direction {
    case read, write

    var interest: Epoll.Interest { self == .read ? [.readable, .peerClosed] : .writable }
  }

  private let direction: Direction
  private let watch: DescriptorWatch.Pointer
  /// A, written by the activator: the file is always ready.
  private let isAlwaysReady = Atomic<Bool>(false)

  /// A: the table has let go of the watch by itself.
  private let isGone = Atomic<Bool>(false)

  /// The delivery has begun and nobody has asked for `data`.
  private static let unasked = UInt.max

  init(_ direction: Direction, descriptor: Int32, queue: DispatchQueue?) {
    self.direction = direction
    // unsafe: a watch is no larger than a node.
    watch = Magazine.take().bindMemory(to: DescriptorWatch.self, capacity: 1)
    super.init(handle: UInt(UInt32(bitPattern: descriptor)), mask: 0, queue: queue)
    watch.initialize(
      to: DescriptorWatch(
        descriptor, direction.interest, context: Unmanaged.passUnretained(self).toOpaque(),
        report: DescriptorSource.report))
  }

  deinit {
    watch.deinitialize(count: 1)
    Magazine.give(UnsafeMutableRawPointer(watch))
  }

  private var descriptor: Int32 { watch.pointee.descriptor }

  override var kindName: String { direction == .read ? "read source" : "write source" }
  override var watched: String { "descriptor " + String(descriptor) }

  override func register() -> Errno? {
    if descriptor < 0 { return .badDescriptor }
    switch Engine.shared.pointee.poller.watch(watch, in: Engine.shared.pointee) {
    case .watched: return nil
    case .failed(let error): return error
    case .alwaysReady:
      // relaxed: published by the registration that follows.
      isAlwaysReady.store(true, ordering: .relaxed)
      fire()
      return nil
    }
  }

  override func unregister() -> Bool {
    // relaxed: written before the registration.
    if isAlwaysReady.load(ordering: .relaxed) || isGone.load(ordering: .relaxed) { return true }
    if Engine.shared.pointee.poller.unwatch(watch) == .gone { reportGone() }
    return true
  }

  /// With the descriptor table's lock held: calls nothing but the state machine.
  private static let report: DescriptorWatch.Report = { context, happened in
    // unsafe: the active source keeps itself alive until the watch is off the table.
    Unmanaged<DescriptorSource>.fromOpaque(context)._withUnsafeGuaranteedRef { source in
      if happened != DescriptorWatch.gone { return source.fire() }
      source.reportGone()
      // relaxed: this thread, or one that finds the watch off the table, looks at it.
      source.isGone.store(true, ordering: .relaxed)
      source.cancel()
      return false
    }
  }

  private func reportGone() {
    Fault.report(
      "descriptor " + String(descriptor) + " was closed while a " + kindName + " watched it; the source is cancelled. "
        + "Close a descriptor in the source's cancel handler.")
  }

  override func takeEvent(isDoubtful: Bool) -> UInt? {
    if isDoubtful, !isReady { return nil }
    return Self.unasked
  }

  private var isReady: Bool {
    Descriptor.isReady(descriptor, direction.interest)
  }

  override func finishEvent(wasSilenced: Bool) {
    // relaxed: written before the registration.
    if isAlwaysReady.load(ordering: .relaxed) {
      fire()
    } else if wasSilenced {
      Engine.shared.pointee.poller.rearm(watch)
    }
  }

  /// An estimate of the bytes there are to read, or room for; at least 1. Looked up when the handler first asks.
  override var data: UInt {
    let known = super.data
    if known != Self.unasked { return known }
    let bytes = direction == .read ? Descriptor.bytesToRead(descriptor) : Descriptor.roomToWrite(descriptor)
    let found = UInt(max(1, bytes))
    // relaxed: the delivery's own thread asks; others get an estimate.
    snapshot.store(found, ordering: .relaxed)
    return found
  }
}
