// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Names: none; then adopt
// Says: ambiguous use of 'init(label:qos:attributes:autoreleaseFrequency:target:)'

import Dispatch
import GrandCentral

func makeQueue() {
  _ = DispatchQueue(label: "work")
}
