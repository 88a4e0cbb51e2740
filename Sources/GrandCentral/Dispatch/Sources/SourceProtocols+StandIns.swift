// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A program's tests may have sources of their own in place of ours. Dispatch's protocols ask such a type for nothing, so
// that it implements what it needs; here are the rest of the methods.

extension DispatchSourceProtocol {
  /// For a type of the program's own: does nothing.
  public func setEventHandler(handler: DispatchWorkItem) {}
  /// For a type of the program's own: does nothing.
  public func setCancelHandler(handler: DispatchWorkItem) {}
  /// For a type of the program's own: does nothing.
  public func setRegistrationHandler(handler: DispatchWorkItem) {}
  /// For a type of the program's own: does nothing.
  public func cancel() {}
  /// For a type of the program's own: does nothing.
  public func resume() {}
  /// For a type of the program's own: does nothing.
  public func suspend() {}
  /// For a type of the program's own: the same as `resume()`.
  public func activate() { resume() }
  /// For a type of the program's own: does nothing.
  public func setTarget(queue: DispatchQueue?) {}
  /// For a type of the program's own: 0.
  public var handle: UInt { 0 }
  /// For a type of the program's own: 0.
  public var mask: UInt { 0 }
  /// For a type of the program's own: 0.
  public var data: UInt { 0 }
  /// For a type of the program's own: false.
  public var isCancelled: Bool { false }
}
