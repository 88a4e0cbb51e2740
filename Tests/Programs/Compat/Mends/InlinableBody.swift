// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Names: adopt; then adopt --public
// Says: type alias 'DispatchQueue' is internal and cannot be referenced from an '@inlinable' function

import Dispatch

#if MENDED
  import GrandCentral
#endif

@inlinable
public func makeQueue() {
  _ = DispatchQueue(label: "work")
}
