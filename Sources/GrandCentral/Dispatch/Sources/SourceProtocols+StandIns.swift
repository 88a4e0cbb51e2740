// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A program's tests may have their own sources in place of ours. Dispatch's protocols require no methods of such a type, so
// the type implements only what it needs. The other methods are here.

extension DispatchSourceProtocol {
  /// For a type of the program's own: does nothing.
  ///
  /// Complexity: O(1). Blocking: never.
  public func setEventHandler(handler: DispatchWorkItem) {}
  /// For a type of the program's own: does nothing.
  ///
  /// Complexity: O(1). Blocking: never.
  public func setCancelHandler(handler: DispatchWorkItem) {}
  /// For a type of the program's own: does nothing.
  ///
  /// Complexity: O(1). Blocking: never.
  public func setRegistrationHandler(handler: DispatchWorkItem) {}
  /// For a type of the program's own: does nothing.
  ///
  /// Complexity: O(1). Blocking: never.
  public func cancel() {}
  /// For a type of the program's own: does nothing.
  ///
  /// Complexity: O(1). Blocking: never.
  public func resume() {}
  /// For a type of the program's own: does nothing.
  ///
  /// Complexity: O(1). Blocking: never.
  public func suspend() {}
  /// For a type of the program's own: the same as `resume()`.
  ///
  /// Complexity: O(1). Blocking: never.
  public func activate() { resume() }
  /// For a type of the program's own: does nothing.
  ///
  /// Complexity: O(1). Blocking: never.
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
