// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The version of all that this repository makes: the one place for it. `Scripts/build-dropin` reads it here, too.
enum Version {
  static let text = "1.0"
}
