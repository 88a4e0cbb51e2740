// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

extension DispatchSource {
  /// What a process can do.
  @frozen
  public struct ProcessEvent: OptionSet, Sendable {
    /// The set as bits.
    public let rawValue: UInt

    /// A set of these bits.
    @_alwaysEmitIntoClient public init(rawValue: UInt) { self.rawValue = rawValue }

    /// The process has ended.
    @_alwaysEmitIntoClient public static var exit: DispatchSource.ProcessEvent { ProcessEvent(rawValue: 0x8000_0000) }
    /// The process has made a child. Only with a privilege, see `supportedProcessEvents`.
    @_alwaysEmitIntoClient public static var fork: DispatchSource.ProcessEvent { ProcessEvent(rawValue: 0x4000_0000) }
    /// The process runs another program. Only with a privilege, see `supportedProcessEvents`.
    @_alwaysEmitIntoClient public static var exec: DispatchSource.ProcessEvent { ProcessEvent(rawValue: 0x2000_0000) }
    /// The process was sent a signal. Linux does not tell: it never happens.
    @_alwaysEmitIntoClient public static var signal: DispatchSource.ProcessEvent { ProcessEvent(rawValue: 0x0800_0000) }

    /// All events.
    @_alwaysEmitIntoClient public static var all: ProcessEvent { [.exit, .fork, .exec, .signal] }
  }

  /// How a process has ended.
  public enum ProcessExitStatus: Equatable, Sendable {
    /// It has called `exit`, or returned from `main`.
    case exited(code: Int32)
    /// A signal has killed it.
    case killed(signal: Int32, dumpedCore: Bool)
  }

  /// The process events that the system offers: `exit` always (before Linux 5.3, and where process descriptors are refused, up
  /// to a second late); `fork` and `exec` with CAP_NET_ADMIN in the initial network and process namespaces; never `signal`.
  ///
  /// Complexity: some system calls the first time.
  public static var supportedProcessEvents: ProcessEvent { ProcessSource.supported() }

  /// A source that fires when the process `identifier`, a child or any other one, does something of `eventMask`.
  ///
  /// ```swift
  /// let source = DispatchSource.makeProcessSource(identifier: child, eventMask: .exit, queue: queue)
  /// source.setEventHandler {
  ///   print("ended:", source.exitStatus as Any)
  ///   source.cancel()
  /// }
  /// source.activate()
  /// ```
  ///
  /// A process that has ended already fires at once. A child is not reaped: its parent still calls `waitpid`. The
  /// process is identified when the source is activated; another one that gets its number later is not mistaken for it.
  ///
  /// Events that the system does not offer are reported once on standard error; the others are delivered.
  ///
  /// Differences from libdispatch: on Linux it has no such source.
  ///
  /// Complexity: O(1). Blocking: never.
  @_optimize(size)
  public class func makeProcessSource(
    identifier: Int32, eventMask: DispatchSource.ProcessEvent, queue: DispatchQueue? = nil
  ) -> any DispatchSourceProcess {
    ProcessSource(identifier: identifier, mask: eventMask, queue: queue)
  }
}

/// A source that fires when a process does something.
///
/// ```swift
/// let child = DispatchSource.makeProcessSource(identifier: process, eventMask: .exit, queue: .main)
/// child.setEventHandler { report(process) }
/// child.activate()
/// ```
public protocol DispatchSourceProcess: DispatchSourceProtocol {
  /// How the process has ended; nil before, and when it cannot be known: the process is not a child, or had been reaped
  /// before the event was seen. From Linux 6.15 on it is known for every process once it has been reaped.
  var exitStatus: DispatchSource.ProcessExitStatus? { get }
}

extension DispatchSourceProcess {
  /// The process's number.
  public var handle: Int32 {
    let source: any DispatchSourceProtocol = self
    return Int32(truncatingIfNeeded: source.handle)
  }

  /// What has happened since the last call of the event handler.
  public var data: DispatchSource.ProcessEvent {
    let source: any DispatchSourceProtocol = self
    return DispatchSource.ProcessEvent(rawValue: source.data)
  }

  /// What is watched for.
  public var mask: DispatchSource.ProcessEvent {
    let source: any DispatchSourceProtocol = self
    return DispatchSource.ProcessEvent(rawValue: source.mask)
  }
}
