// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// A source that watches a descriptor for something to read, or for room to write.
///
/// `data` is an estimate of the bytes there are to read, or room for, when the handler is called; at least 1. It is asked
/// for each time, because the answer also tells whether the event is still true (SourceState.V6). A file that is always
/// ready fires again after each handler; the kernel does not watch it, so each delivery looks if it is still the same file.
final class DescriptorSource: WatchedDescriptorSource, DispatchSourceRead, DispatchSourceWrite,
  @unchecked Sendable  // as said below
{
  enum Direction {
    case read, write

    var interest: Epoll.Interest { self == .read ? [.readable, .peerClosed] : .writable }
  }

  private let direction: Direction
  /// Written by the activator: the file is always ready.
  private let isAlwaysReady = Atomic<Bool>(false)
  /// Written by the activator, before `isAlwaysReady`.
  @exclusivity(unchecked) private var file: FileIdentity?

  init(_ direction: Direction, descriptor: Int32, queue: DispatchQueue?) {
    self.direction = direction
    super.init(descriptor: descriptor, interest: direction.interest, mask: 0, queue: queue)
  }

  override var kindName: String { direction == .read ? "read source" : "write source" }

  override func registerAlwaysReady() -> Errno? {
    file = Descriptor.identity(descriptor)
    // relaxed: published by the registration that follows.
    isAlwaysReady.store(true, ordering: .relaxed)
    fire()
    return nil
  }

  override func unregister() -> Bool {
    // relaxed: written before the registration.
    isAlwaysReady.load(ordering: .relaxed) || super.unregister()
  }

  override func takeEvent() -> UInt? {
    // relaxed: written before the registration.
    if isAlwaysReady.load(ordering: .relaxed) {
      guard let file, Descriptor.identity(descriptor) == file else {
        cancelAsLost()
        return nil
      }
      return atLeastOne(direction == .read ? Descriptor.bytesLeft(descriptor) : 0)
    }
    switch direction {
    case .read:
      let bytes = Descriptor.bytesToRead(descriptor)
      if bytes != 0 { return atLeastOne(bytes) }
      // None: the end, a connection to accept, a kind that does not tell; or another reader has them already. Some may have
      // come since the first look.
      return isReady ? atLeastOne(Descriptor.bytesToRead(descriptor)) : nil
    case .write:
      return isReady ? atLeastOne(Descriptor.roomToWrite(descriptor)) : nil
    }
  }

  private var isReady: Bool {
    let isReady = Descriptor.isReadyIfOpen(descriptor, direction.interest)
    // Closed, while an event was on its way.
    if isReady == nil { cancelAsLost() }
    return isReady ?? false
  }

  private func atLeastOne(_ bytes: Int) -> UInt { UInt(max(1, bytes)) }

  override func finishEvent(wasSilenced: Bool) {
    // relaxed: written before the registration.
    if isAlwaysReady.load(ordering: .relaxed) {
      fire()
    } else if wasSilenced {
      Engine.current.poller.rearm(watch)
    }
  }
}
