// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What a source calls.
public typealias DispatchSourceHandler = () -> Void

/// What all sources have in common; see `DispatchSource`.
public protocol DispatchSourceProtocol: AnyObject, Sendable {
  /// Sets what to run when something has happened; nil removes it. A change takes effect with the next event.
  func setEventHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?)
  /// As above, with a work item, which is performed each time.
  func setEventHandler(handler: DispatchWorkItem)
  /// Sets what to run once the source has been cancelled and its last event handler has returned.
  func setCancelHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?)
  /// As above, with a work item.
  func setCancelHandler(handler: DispatchWorkItem)
  /// Sets what to run once the kernel has been told what to watch.
  func setRegistrationHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?)
  /// As above, with a work item.
  func setRegistrationHandler(handler: DispatchWorkItem)

  /// Ends the source, for good.
  func cancel()
  /// Takes back one `suspend()`, or activates the source.
  func resume()
  /// Holds back handlers; events are kept, and delivered as one.
  func suspend()
  /// Begins to deliver events.
  func activate()
  /// Runs handlers on `queue` from now on; nil stands for the default global queue.
  func setTarget(queue: DispatchQueue?)

  /// What is watched: a descriptor, a signal, a process id; 0 for the other kinds.
  var handle: UInt { get }
  /// Which events are watched for, as the kind's option set says.
  var mask: UInt { get }
  /// What the running event handler was called for.
  var data: UInt { get }
  /// Whether the source has been cancelled.
  var isCancelled: Bool { get }
}

extension DispatchSourceProtocol {
  /// Sets what to run when something has happened.
  public func setEventHandler(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
  ) {
    let handlers: any DispatchSourceProtocol = self
    handlers.setEventHandler(qos: qos, flags: flags, handler: handler)
  }

  /// Sets what to run once the source has been cancelled.
  public func setCancelHandler(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
  ) {
    let handlers: any DispatchSourceProtocol = self
    handlers.setCancelHandler(qos: qos, flags: flags, handler: handler)
  }

  /// Sets what to run once the kernel has been told what to watch.
  public func setRegistrationHandler(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
  ) {
    let handlers: any DispatchSourceProtocol = self
    handlers.setRegistrationHandler(qos: qos, flags: flags, handler: handler)
  }
}

/// A source whose events are additions by the program, summed up.
public protocol DispatchSourceUserDataAdd: DispatchSourceProtocol {
  /// Adds to the pending data; adding 0 does nothing. Any thread.
  func add(data: UInt)
}

/// A source whose events are bits set by the program.
public protocol DispatchSourceUserDataOr: DispatchSourceProtocol {
  /// Sets bits of the pending data; 0 does nothing. Any thread.
  func or(data: UInt)
}

/// A source whose events are values from the program; the newest one counts.
public protocol DispatchSourceUserDataReplace: DispatchSourceProtocol {
  /// Replaces the pending data; 0 does nothing. Any thread.
  func replace(data: UInt)
}

/// A source that fires when a descriptor has something to read.
public protocol DispatchSourceRead: DispatchSourceProtocol {}

/// A source that fires when a descriptor has room to write.
public protocol DispatchSourceWrite: DispatchSourceProtocol {}

/// A source that fires when the process gets a signal.
public protocol DispatchSourceSignal: DispatchSourceProtocol {}

/// A source that fires at given times.
public protocol DispatchSourceTimer: DispatchSourceProtocol {
  /// Fires at `deadline`, and then every `interval`; each time up to `leeway` late, to share a wake-up with others.
  func schedule(deadline: DispatchTime, repeating interval: DispatchTimeInterval, leeway: DispatchTimeInterval)
  /// As above, with the interval in seconds.
  func schedule(deadline: DispatchTime, repeating interval: Double, leeway: DispatchTimeInterval)
  /// As above, on the wall clock, whose steps it follows.
  func schedule(wallDeadline: DispatchWallTime, repeating interval: DispatchTimeInterval, leeway: DispatchTimeInterval)
  /// As above, with the interval in seconds.
  func schedule(wallDeadline: DispatchWallTime, repeating interval: Double, leeway: DispatchTimeInterval)
}
