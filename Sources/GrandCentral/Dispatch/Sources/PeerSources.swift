// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// What stands for the sources of Mach ports: a message queue's descriptor that has a message, and a pipe's or a socket's
/// whose peer is gone.
///
/// A waiting message is watched as a read source watches its data: level-triggered, silent while an event waits to be
/// delivered. A peer that is gone stays gone: that is reported once, and then the watch is left disarmed.
final class PeerSource: DispatchSource, DispatchSourceMachReceive, DispatchSourceMachSend,
  @unchecked Sendable  // the watch is the table's while it is listed, the rest immutable or atomic
{
  enum Event {
    /// A message waits in the queue.
    case message
    /// Nobody is at the other end any more.
    case peerGone

    var interest: Epoll.Interest { self == .message ? .readable : .peerClosed }
  }

  /// I
  private let event: Event
  /// I
  private let watch: DescriptorWatch.Pointer
  /// A: the table has let go of the watch by itself.
  private let isGone = Atomic<Bool>(false)

  init(_ event: Event, port: mach_port_t, mask: UInt, queue: DispatchQueue?) {
    self.event = event
    // unsafe: a watch is no larger than a node.
    watch = Magazine.take().bindMemory(to: DescriptorWatch.self, capacity: 1)
    super.init(handle: UInt(port), mask: mask, queue: queue)
    watch.initialize(
      to: DescriptorWatch(
        Int32(bitPattern: port), event.interest, context: Unmanaged.passUnretained(self).toOpaque(),
        report: PeerSource.report))
  }

  deinit {
    watch.deinitialize(count: 1)
    Magazine.give(UnsafeMutableRawPointer(watch))
  }

  private var descriptor: Int32 { watch.pointee.descriptor }

  override var kindName: String { event == .message ? "message queue source" : "peer source" }
  override var watched: String { "descriptor " + String(descriptor) }

  override func register() -> Errno? {
    if descriptor < 0 { return .badDescriptor }
    switch Engine.shared.pointee.poller.watch(watch, in: Engine.shared.pointee) {
    case .watched: return nil
    case .failed(let error): return error
    // A file has neither messages nor a peer.
    case .alwaysReady: return .notPermitted
    }
  }

  override func unregister() -> Bool {
    // relaxed: written before the cancellation that led here, or by a report that the table's lock has ordered.
    if isGone.load(ordering: .relaxed) { return true }
    if Engine.shared.pointee.poller.unwatch(watch) == .gone { reportGone() }
    return true
  }

  /// With the descriptor table's lock held: calls nothing but the state machine.
  private static let report: DescriptorWatch.Report = { context, happened in
    // unsafe: the active source keeps itself alive until the watch is off the table.
    Unmanaged<PeerSource>.fromOpaque(context)._withUnsafeGuaranteedRef { source in
      if happened != DescriptorWatch.gone {
        let goesOn = source.fire()
        return goesOn && source.event == .message
      }
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
    switch event {
    case .message:
      return isDoubtful && !Descriptor.isReady(descriptor, event.interest) ? nil : 1
    case .peerGone:
      let data = mask & MachSendEvent.dead.rawValue
      return data == 0 ? nil : data
    }
  }

  override func finishEvent(wasSilenced: Bool) {
    if wasSilenced, event == .message { Engine.shared.pointee.poller.rearm(watch) }
  }
}
