// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// What the library was released as.
enum Release {
  static var version: String { GC_VERSION }
}
