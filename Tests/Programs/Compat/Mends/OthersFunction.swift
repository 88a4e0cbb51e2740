// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Names: adopt; then adopt
// Says: cannot assign value of type '…DispatchQueue' (aka 'GrandCentral.DispatchQueue') to type 'Dispatch.DispatchQueue'

import Dispatch
import Foundation

func start(_ operations: OperationQueue) {
  #if MENDED
    let queue = Dispatch.DispatchQueue(label: "work")
  #else
    let queue = DispatchQueue(label: "work")
  #endif
  operations.underlyingQueue = queue
}
