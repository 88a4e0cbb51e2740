// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Names: adopt; then adopt --public
// Says: property cannot be declared public because its type uses an internal type

import Dispatch

public struct Options {
  public var queue: DispatchQueue?
}
