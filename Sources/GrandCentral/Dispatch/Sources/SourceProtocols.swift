// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What a source calls.
///
/// ```swift
/// let tick: DispatchSourceHandler = { refresh() }
/// timer.setEventHandler(handler: tick)
/// ```
public typealias DispatchSourceHandler = () -> Void

/// What all sources have in common; see `DispatchSource`.
///
/// ```swift
/// func stop(_ sources: [any DispatchSourceProtocol]) {
///   for source in sources { source.cancel() }
/// }
/// ```
public protocol DispatchSourceProtocol: AnyObject, Sendable {
  /// Sets what to run when something has happened; nil removes it. A change takes effect with the next event.
  ///
  /// Complexity: O(1). Blocking: never.
  func setEventHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?)
  /// As above, with a work item, which is performed each time.
  ///
  /// Complexity: O(1). Blocking: never.
  func setEventHandler(handler: DispatchWorkItem)
  /// Sets what to run once the source has been cancelled and its last event handler has returned.
  ///
  /// Complexity: O(1). Blocking: never.
  func setCancelHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?)
  /// As above, with a work item.
  ///
  /// Complexity: O(1). Blocking: never.
  func setCancelHandler(handler: DispatchWorkItem)
  /// Sets what to run once the kernel has been told what to watch.
  ///
  /// Complexity: O(1). Blocking: never.
  func setRegistrationHandler(qos: DispatchQoS, flags: DispatchWorkItemFlags, handler: DispatchSourceHandler?)
  /// As above, with a work item.
  ///
  /// Complexity: O(1). Blocking: never.
  func setRegistrationHandler(handler: DispatchWorkItem)

  /// Ends the source, for good.
  ///
  /// Complexity: O(1). Blocking: never.
  func cancel()
  /// Takes back one `suspend()`, or activates the source.
  ///
  /// Complexity: O(1). Blocking: never.
  func resume()
  /// Holds back handlers; events are kept, and delivered as one.
  ///
  /// Complexity: O(1). Blocking: never.
  func suspend()
  /// Begins to deliver events.
  ///
  /// Complexity: O(1). Blocking: never.
  func activate()
  /// Runs handlers on `queue` from now on; nil stands for the default global queue.
  ///
  /// Complexity: O(1). Blocking: never.
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
  ///
  /// Complexity: O(1). Blocking: never.
  public func setEventHandler(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
  ) {
    let handlers: any DispatchSourceProtocol = self
    handlers.setEventHandler(qos: qos, flags: flags, handler: handler)
  }

  /// Sets what to run once the source has been cancelled.
  ///
  /// Complexity: O(1). Blocking: never.
  public func setCancelHandler(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
  ) {
    let handlers: any DispatchSourceProtocol = self
    handlers.setCancelHandler(qos: qos, flags: flags, handler: handler)
  }

  /// Sets what to run once the kernel has been told what to watch.
  ///
  /// Complexity: O(1). Blocking: never.
  public func setRegistrationHandler(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: DispatchSourceHandler?
  ) {
    let handlers: any DispatchSourceProtocol = self
    handlers.setRegistrationHandler(qos: qos, flags: flags, handler: handler)
  }
}

/// A source whose events are additions by the program, summed up.
///
/// ```swift
/// let loaded = DispatchSource.makeUserDataAddSource(queue: .main)
/// loaded.setEventHandler { progress.add(Int(loaded.data)) }
/// loaded.activate()
/// loaded.add(data: 1)
/// ```
public protocol DispatchSourceUserDataAdd: DispatchSourceProtocol {
  /// Adds to the pending data; adding 0 does nothing. Any thread, but no handler of signals.
  ///
  /// Complexity: O(1). Blocking: never.
  func add(data: UInt)
}

/// A source whose events are bits set by the program.
///
/// ```swift
/// let changes = DispatchSource.makeUserDataOrSource(queue: .main)
/// changes.setEventHandler { redraw(parts: changes.data) }
/// changes.activate()
/// changes.or(data: 0b100)
/// ```
public protocol DispatchSourceUserDataOr: DispatchSourceProtocol {
  /// Sets bits of the pending data; 0 does nothing. Any thread, but no handler of signals.
  ///
  /// Complexity: O(1). Blocking: never.
  func or(data: UInt)
}

/// A source whose events are values from the program; the newest one counts.
///
/// ```swift
/// let position = DispatchSource.makeUserDataReplaceSource(queue: .main)
/// position.setEventHandler { show(position: position.data) }
/// position.activate()
/// position.replace(data: 42)
/// ```
public protocol DispatchSourceUserDataReplace: DispatchSourceProtocol {
  /// Replaces the pending data; by 0, so that no handler is called for them. Any thread, but no handler of signals.
  ///
  /// Complexity: O(1). Blocking: never.
  func replace(data: UInt)
}

/// A source that fires when a descriptor has something to read.
///
/// ```swift
/// let input: any DispatchSourceRead = DispatchSource.makeReadSource(fileDescriptor: socket, queue: queue)
/// input.setEventHandler { receive(upTo: input.data) }
/// input.setCancelHandler { close(socket) }
/// input.activate()
/// ```
public protocol DispatchSourceRead: DispatchSourceProtocol {}

/// A source that fires when a descriptor has room to write.
///
/// ```swift
/// let output: any DispatchSourceWrite = DispatchSource.makeWriteSource(fileDescriptor: socket, queue: queue)
/// output.setEventHandler { send(upTo: output.data) }
/// output.activate()
/// ```
public protocol DispatchSourceWrite: DispatchSourceProtocol {}

/// A source that fires when the process gets a signal.
///
/// ```swift
/// let reload: any DispatchSourceSignal = DispatchSource.makeSignalSource(signal: SIGHUP, queue: .main)
/// reload.setEventHandler { readSettings() }
/// reload.activate()
/// ```
public protocol DispatchSourceSignal: DispatchSourceProtocol {}

/// A source that fires at given times.
///
/// ```swift
/// let timer: any DispatchSourceTimer = DispatchSource.makeTimerSource(queue: queue)
/// timer.schedule(deadline: .now() + .seconds(1), repeating: .seconds(60), leeway: .seconds(5))
/// timer.setEventHandler { refresh() }
/// timer.activate()
/// ```
public protocol DispatchSourceTimer: DispatchSourceProtocol {
  /// Fires at `deadline`, and then every `interval`; each time up to `leeway` late, to share a wake-up with others.
  /// A repeating timer is half an interval late at most; for one that fires once, a leeway of `.never` is none.
  ///
  /// Complexity: O(1). Blocking: never.
  func schedule(deadline: DispatchTime, repeating interval: DispatchTimeInterval, leeway: DispatchTimeInterval)
  /// As above, with the interval in seconds.
  ///
  /// Complexity: O(1). Blocking: never.
  func schedule(deadline: DispatchTime, repeating interval: Double, leeway: DispatchTimeInterval)
  /// As above, on the wall clock, whose steps it follows.
  ///
  /// Complexity: O(1). Blocking: never.
  func schedule(wallDeadline: DispatchWallTime, repeating interval: DispatchTimeInterval, leeway: DispatchTimeInterval)
  /// As above, with the interval in seconds.
  ///
  /// Complexity: O(1). Blocking: never.
  func schedule(wallDeadline: DispatchWallTime, repeating interval: Double, leeway: DispatchTimeInterval)
}
