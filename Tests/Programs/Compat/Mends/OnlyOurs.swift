// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Names: adopt; then adopt
// Says: cannot find 'DispatchSerialQueue' in scope

import Dispatch

#if MENDED
  import GrandCentral
#endif

func makeQueue() {
  _ = DispatchSerialQueue(label: "work")
}
