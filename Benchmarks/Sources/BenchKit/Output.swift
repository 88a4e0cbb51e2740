// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// Where lines go, unbuffered: the reader follows a run of minutes.
public enum Output: Int32, Sendable {
  case standard = 1
  case error = 2

  public func line(_ text: String) {
    var rest = Array((text + "\n").utf8)[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { write(rawValue, $0.baseAddress, $0.count) }
      if written <= 0 { return }
      rest = rest.dropFirst(written)
    }
  }
}
