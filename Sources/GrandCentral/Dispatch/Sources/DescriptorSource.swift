// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// A source that watches a descriptor for something to read, or for room to write.
///
/// A file that is always ready fires again after each handler.
final class DescriptorSource: WatchedDescriptorSource, DispatchSourceRead, DispatchSourceWrite,
  @unchecked Sendable  // as said below
{
  enum Direction {
    case read, write

    var interest: Epoll.Interest { self == .read ? [.readable, .peerClosed] : .writable }
  }

  /// I
  private let direction: Direction
  /// A, written by the activator: the file is always ready.
  private let isAlwaysReady = Atomic<Bool>(false)

  /// The delivery has begun and nobody has asked for `data`.
  private static let unasked = UInt.max

  init(_ direction: Direction, descriptor: Int32, queue: DispatchQueue?) {
    self.direction = direction
    super.init(descriptor: descriptor, interest: direction.interest, mask: 0, queue: queue)
  }

  override var kindName: String { direction == .read ? "read source" : "write source" }

  override func registerAlwaysReady() -> Errno? {
    // relaxed: published by the registration that follows.
    isAlwaysReady.store(true, ordering: .relaxed)
    fire()
    return nil
  }

  override func unregister() -> Bool {
    // relaxed: written before the registration.
    isAlwaysReady.load(ordering: .relaxed) || super.unregister()
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
