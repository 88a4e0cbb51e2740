// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// Stands in for the sources of Mach ports: watches a message queue's descriptor for a message, or a pipe's or a socket's for
/// the end of its peer.
///
/// A waiting message is watched as a read source watches its data: level-triggered, silent while an event waits to be
/// delivered. A peer that is gone stays gone: that is reported once, and then the watch is left disarmed.
final class PeerSource: WatchedDescriptorSource, DispatchSourceMachReceive, DispatchSourceMachSend,
  @unchecked Sendable  // immutable
{
  enum Event {
    /// A message waits in the queue.
    case message
    /// The other end is gone.
    case peerGone

    var interest: Epoll.Interest { self == .message ? .readable : .peerClosed }
  }

  private let event: Event

  init(_ event: Event, port: mach_port_t, mask: UInt, queue: DispatchQueue?) {
    self.event = event
    super.init(descriptor: Int32(bitPattern: port), interest: event.interest, mask: mask, queue: queue)
  }

  override var kindName: String { event == .message ? "message queue source" : "peer source" }

  override func didReport() -> Bool {
    let goesOn = fire()
    return goesOn && event == .message
  }

  override func takeEvent() -> UInt? {
    switch event {
    case .message:
      return Descriptor.isReady(descriptor, event.interest) ? 1 : nil
    case .peerGone:
      let data = mask & MachSendEvent.dead.rawValue
      return data == 0 ? nil : data
    }
  }

  override func finishEvent(wasSilenced: Bool) {
    if wasSilenced, event == .message { Engine.current.poller.rearm(watch) }
  }
}
