// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Names: adopt --public; then adopt --public
// Says: … cannot be used in an '@inlinable' function because 'GrandCentral' was not imported by this file

import Dispatch

#if MENDED
  import GrandCentral
#endif

@inlinable
public func makeQueue() {
  _ = DispatchQueue(label: "work")
}
