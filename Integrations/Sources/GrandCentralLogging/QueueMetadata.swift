// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import Logging

extension Logger.MetadataProvider {
  /// Adds to each logged line the label of the queue that it was logged on, under the key `queue`.
  ///
  /// ```swift
  /// LoggingSystem.bootstrap(StreamLogHandler.standardError, metadataProvider: .dispatchQueue)
  /// ```
  ///
  /// A queue without a label adds nothing. On a thread that runs no item of a queue the label is that of the main queue, or of the
  /// default global queue, as `DispatchQueue.current` has it. Blocking: never. Complexity: O(length of the label).
  public static let dispatchQueue = Logger.MetadataProvider {
    let label = DispatchQueue.current.label
    return label.isEmpty ? [:] : ["queue": .string(label)]
  }
}
