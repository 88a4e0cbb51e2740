// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// The process's environment.
enum Environment {
  static func value(of name: String) -> String? {
    name.withCString { name in gc_getenv(name).map { String(cString: $0) } }
  }
}
