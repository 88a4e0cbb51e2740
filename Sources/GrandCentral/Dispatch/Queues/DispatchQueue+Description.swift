// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

extension DispatchQueue: CustomStringConvertible, CustomDebugStringConvertible {
  /// What the queue is called, of which kind it is, and what its items are worth, for logs and debuggers.
  ///
  /// ```swift
  /// print(DispatchQueue(label: "store", qos: .utility))  // <DispatchQueue "store": serial, qos utility>
  /// ```
  ///
  /// The target is named unless it is a global queue. The form may change: do not parse it.
  ///
  /// Complexity: O(length of the labels). Blocking: never.
  @_optimize(size)
  public final var description: String {
    var text = "<DispatchQueue \"" + name + "\": " + kind.name.description
    if kind.hasReaders, let limit = maximumConcurrency { text += ", at most " + String(limit) + " at once" }
    if !ownQoS.isUnspecified { text += ", qos " + ownQoS.name }
    if !kind.isBuiltIn {
      withTarget { target in
        if !target.kind.isRunQueue { text += ", target \"" + target.name + "\"" }
      }
    }
    return text + ">"
  }

  /// The same as `description`.
  public final var debugDescription: String { description }
}

extension QoSWord {
  fileprivate var name: String {
    let qos = qos
    let relative = qos.relativePriority == 0 ? "" : " " + String(qos.relativePriority)
    switch qos.qosClass {
    case .userInteractive: return "userInteractive" + relative
    case .userInitiated: return "userInitiated" + relative
    case .default: return "default" + relative
    case .utility: return "utility" + relative
    case .background: return "background" + relative
    case .unspecified: return "unspecified"
    }
  }
}
