// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// A netlink socket on which the kernel tells of every fork and exec in the system. Needs CAP_NET_ADMIN, outside of
/// containers.
///
/// Known by its number here; `close` ends it.
enum ProcessConnector {
  enum Message {
    case forked(Int32, child: Int32)
    case executed(Int32)
    /// Messages were dropped.
    case lost
    case other
  }

  /// `.notPermitted` where the process may not listen.
  @_optimize(size)
  static func open() -> Result<Int32, Errno> {
    let result = gc_connector_open()
    if let error = Errno(result: Int(result)) { return .failure(error) }
    return .success(result)
  }

  /// Whether this process may listen.
  static var isAvailable: Bool {
    guard case .success(let descriptor) = open() else { return false }
    close(descriptor)
    return true
  }

  static func close(_ descriptor: Int32) { gc_connector_close(descriptor) }

  /// Closes the socket, and leaves its engine's part alone.
  static func abandon(_ descriptor: Int32) { _ = gc_close(descriptor) }

  /// The next message; nil when none waits.
  @_optimize(size)
  static func next(_ descriptor: Int32) -> Message? {
    var (process, child): (Int32, Int32) = (0, 0)
    switch gc_connector_next(descriptor, &process, &child) {
    case Int32(GC_CONNECTOR_FORK): return .forked(process, child: child)
    case Int32(GC_CONNECTOR_EXEC): return .executed(process)
    case Int32(GC_CONNECTOR_LOST): return .lost
    case let result: return result < 0 ? nil : .other
    }
  }
}
