// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The names that this library and the toolchain's Dispatch both have.
enum SharedNames {
  /// Every type at the top level. A name that only one of the two has needs no decision.
  static let types = [
    "DispatchData",
    "DispatchDataIterator",
    "DispatchGroup",
    "DispatchIO",
    "DispatchObject",
    "DispatchPredicate",
    "DispatchQoS",
    "DispatchQueue",
    "DispatchSemaphore",
    "DispatchSource",
    "DispatchSourceHandler",
    "DispatchSourceProtocol",
    "DispatchSourceRead",
    "DispatchSourceSignal",
    "DispatchSourceTimer",
    "DispatchSourceUserDataAdd",
    "DispatchSourceUserDataOr",
    "DispatchSourceUserDataReplace",
    "DispatchSourceWrite",
    "DispatchSpecificKey",
    "DispatchTime",
    "DispatchTimeInterval",
    "DispatchTimeoutResult",
    "DispatchWallTime",
    "DispatchWorkItem",
    "DispatchWorkItemFlags",
  ]

  /// The operators on instants.
  static let operators: [(symbol: String, instant: String, second: String, type: String)] =
    ["DispatchTime", "DispatchWallTime"].flatMap { instant in
      ["+", "-"].flatMap { symbol in
        [(symbol, instant, "interval", "DispatchTimeInterval"), (symbol, instant, "seconds", "Double")]
      }
    }
}
