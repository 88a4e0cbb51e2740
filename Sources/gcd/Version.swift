// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// The version of the release that the tool belongs to.
enum Version {
  static let text = GC_VERSION
}
