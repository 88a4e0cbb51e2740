// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// The process's environment.
enum Environment {
  /// The value of a variable; nil when it is not set.
  static func value(of name: StaticString) -> [UInt8]? {
    // unsafe: a literal ends with a zero, and so does what the environment holds.
    let value = name.utf8Start.withMemoryRebound(to: CChar.self, capacity: name.utf8CodeUnitCount + 1) { gc_getenv($0) }
    guard let value else { return nil }
    var bytes = [UInt8]()
    var next = value
    while next.pointee != 0 {
      bytes.append(UInt8(bitPattern: next.pointee))
      next += 1
    }
    return bytes
  }

  static func number(of name: StaticString) -> Int? { value(of: name).flatMap { Text.number($0[...]) } }
}
