// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// How a wait with a timeout ended.
///
/// ```swift
/// switch group.wait(timeout: .now() + .seconds(5)) {
/// case .success: publish(results)
/// case .timedOut: showProgress()
/// }
/// ```
@frozen
public enum DispatchTimeoutResult: Equatable, Hashable, Sendable {
  /// What was waited for has happened.
  case success

  /// The deadline came first.
  case timedOut
}
