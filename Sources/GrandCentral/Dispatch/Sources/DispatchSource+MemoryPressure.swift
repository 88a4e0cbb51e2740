// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// A source that fires when memory becomes short, and when it is no longer so.
///
/// ```swift
/// let pressure = DispatchSource.makeMemoryPressureSource(eventMask: [.warning, .critical], queue: .main)
/// pressure.setEventHandler { emptyCaches() }
/// pressure.activate()
/// ```
public protocol DispatchSourceMemoryPressure: DispatchSourceProtocol {}

extension DispatchSource {
  /// How short memory is: the levels that a source is to report, and the level that it reports.
  @frozen
  public struct MemoryPressureEvent: OptionSet, Sendable {
    /// The set as bits.
    public let rawValue: UInt

    /// A set of these bits.
    @_alwaysEmitIntoClient public init(rawValue: UInt) { self.rawValue = rawValue }

    /// There is enough of it again.
    @_alwaysEmitIntoClient public static var normal: DispatchSource.MemoryPressureEvent {
      MemoryPressureEvent(rawValue: 1)
    }
    /// It runs short: give up what can be made again.
    @_alwaysEmitIntoClient public static var warning: DispatchSource.MemoryPressureEvent {
      MemoryPressureEvent(rawValue: 2)
    }
    /// It has almost run out: give up everything that the program can do without, or the kernel may end the process.
    @_alwaysEmitIntoClient public static var critical: DispatchSource.MemoryPressureEvent {
      MemoryPressureEvent(rawValue: 4)
    }
    /// Each of them.
    @_alwaysEmitIntoClient public static var all: MemoryPressureEvent { [.normal, .warning, .critical] }
  }

  /// A source that fires when the level of memory pressure changes to one of `eventMask`.
  ///
  /// ```swift
  /// let source = DispatchSource.makeMemoryPressureSource(eventMask: [.warning, .critical], queue: queue)
  /// source.setEventHandler { source.data == .critical ? cache.removeAll() : cache.trim() }
  /// source.activate()
  /// ```
  ///
  /// `data` is the level at the time of the call; levels that came and went before it are not reported. A source that is
  /// activated while memory is short fires at once.
  ///
  /// The level follows from what the kernel says of the machine and of the process's control groups of version 2: how much
  /// memory is left below the limits, and whether tasks are delayed by the lack of it. Where the kernel does not report that
  /// by itself, a source looks every five seconds. If `/proc` says nothing of memory at all, the source is cancelled and says
  /// why on standard error.
  ///
  /// - Parameters:
  ///   - eventMask: The levels to fire for.
  ///   - queue: Where handlers run; nil stands for the default global queue.
  ///
  /// Complexity: O(1). Blocking: never.
  @_optimize(size)
  public class func makeMemoryPressureSource(
    eventMask: MemoryPressureEvent, queue: DispatchQueue? = nil
  ) -> any DispatchSourceMemoryPressure {
    MemoryPressureSource(MemoryPressureSource.Setup(), mask: eventMask.rawValue, queue: queue)
  }
}

extension DispatchSource.MemoryPressureEvent {
  @_optimize(size)
  init(_ level: PressureLevel) {
    switch level {
    case .normal: self = .normal
    case .warning: self = .warning
    case .critical: self = .critical
    }
  }
}

extension DispatchSourceMemoryPressure {
  /// The level that the running event handler was called for.
  public var data: DispatchSource.MemoryPressureEvent {
    let source: any DispatchSourceProtocol = self
    return DispatchSource.MemoryPressureEvent(rawValue: source.data)
  }

  /// The levels that the source fires for.
  public var mask: DispatchSource.MemoryPressureEvent {
    let source: any DispatchSourceProtocol = self
    return DispatchSource.MemoryPressureEvent(rawValue: source.mask)
  }
}
