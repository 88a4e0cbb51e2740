// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The name of a Mach port; here the number of a descriptor.
///
/// ```swift
/// let port = mach_port_t(socket)
/// ```
public typealias mach_port_t = UInt32

/// A source that fires when a message waits in a POSIX message queue.
///
/// ```swift
/// let messages = DispatchSource.makeMachReceiveSource(port: mach_port_t(messageQueue), queue: queue)
/// messages.setEventHandler { receive(upTo: 1) }
/// messages.activate()
/// ```
public protocol DispatchSourceMachReceive: DispatchSourceProtocol {}

/// A source that fires when the peer of a pipe or socket is gone.
///
/// ```swift
/// let peer = DispatchSource.makeMachSendSource(port: mach_port_t(socket), eventMask: .dead, queue: queue)
/// peer.setEventHandler { forget(socket) }
/// peer.activate()
/// ```
public protocol DispatchSourceMachSend: DispatchSourceProtocol {}

extension DispatchSource {
  /// What a peer source watches for.
  @frozen
  public struct MachSendEvent: OptionSet, Sendable {
    /// The set as bits.
    public let rawValue: UInt

    /// A set of these bits.
    @_alwaysEmitIntoClient public init(rawValue: UInt) { self.rawValue = rawValue }

    /// The other end is gone.
    @_alwaysEmitIntoClient public static var dead: DispatchSource.MachSendEvent { MachSendEvent(rawValue: 1) }
  }

  /// A source that fires while a message waits in a POSIX message queue.
  ///
  /// ```swift
  /// let messages = mq_open("/jobs", O_RDONLY | O_NONBLOCK)
  /// let source = DispatchSource.makeMachReceiveSource(port: mach_port_t(messages), queue: queue)
  /// source.setEventHandler { receiveAll(messages) }
  /// source.setCancelHandler { mq_close(messages) }
  /// source.activate()
  /// ```
  ///
  /// Linux has no Mach ports; a message queue's descriptor comes nearest to a port's receive right. The source is
  /// cancelled, and says why on standard error, if `port` is not open, or is a regular file. The descriptor stays the
  /// program's: close it in the cancel handler.
  ///
  /// - Parameters:
  ///   - port: The descriptor that `mq_open` returned.
  ///   - queue: Where handlers run; nil stands for the default global queue.
  ///
  /// Complexity: O(1). Blocking: never.
  public class func makeMachReceiveSource(
    port: mach_port_t, queue: DispatchQueue? = nil
  ) -> any DispatchSourceMachReceive {
    PeerSource(.message, port: port, mask: 0, queue: queue)
  }

  /// A source that fires once, when the peer of a pipe or a socket is gone.
  ///
  /// ```swift
  /// let source = DispatchSource.makeMachSendSource(port: mach_port_t(socket), eventMask: .dead, queue: queue)
  /// source.setEventHandler { stopServing(socket) }
  /// source.setCancelHandler { close(socket) }
  /// source.activate()
  /// ```
  ///
  /// Gone is a peer that has closed its end, or, for a stream socket, has shut it down for writing; what it wrote before
  /// may still be there to read. The source is cancelled, and says why on standard error, if `port` is not open, or is a
  /// regular file. The descriptor stays the program's: close it in the cancel handler.
  ///
  /// - Parameters:
  ///   - port: A descriptor of either end of a pipe, or of a connected socket.
  ///   - eventMask: `.dead`; without it the source never fires.
  ///   - queue: Where handlers run; nil stands for the default global queue.
  ///
  /// Complexity: O(1). Blocking: never.
  public class func makeMachSendSource(
    port: mach_port_t, eventMask: MachSendEvent, queue: DispatchQueue? = nil
  ) -> any DispatchSourceMachSend {
    PeerSource(.peerGone, port: port, mask: eventMask.rawValue, queue: queue)
  }
}

extension DispatchSourceMachReceive {
  /// The message queue's descriptor.
  public var handle: mach_port_t {
    let source: any DispatchSourceProtocol = self
    return mach_port_t(truncatingIfNeeded: source.handle)
  }
}

extension DispatchSourceMachSend {
  /// The descriptor whose peer is watched.
  public var handle: mach_port_t {
    let source: any DispatchSourceProtocol = self
    return mach_port_t(truncatingIfNeeded: source.handle)
  }

  /// What the running event handler was called for.
  public var data: DispatchSource.MachSendEvent {
    let source: any DispatchSourceProtocol = self
    return DispatchSource.MachSendEvent(rawValue: source.data)
  }

  /// What is watched for.
  public var mask: DispatchSource.MachSendEvent {
    let source: any DispatchSourceProtocol = self
    return DispatchSource.MachSendEvent(rawValue: source.mask)
  }
}
