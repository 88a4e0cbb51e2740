// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit

@testable import GrandCentral

func dispatchData() -> [Scenario] {
  [
    protocolScenario(
      "two threads ask for the bytes in one region: both get the one that is kept", of: "DataNode", unusual: 0
    ) {
      run in
      var data = DispatchData.empty
      for byte in [UInt8(1), 2] { [byte].withUnsafeBytes { data.append(DispatchData(bytes: $0)) } }
      let whole = data
      run.check(Array(whole.regions).count == 2, "the data are in one region already")
      var regions: [UnsafeRawPointer?] = []
      for _ in 0..<2 {
        run.thread {
          whole.contiguous().withUnsafeBytes { bytes in
            regions.append(bytes.baseAddress)
            run.check(bytes.count == 2 && bytes[0] == 1 && bytes[1] == 2, "the bytes are not the data's")
          }
        }
      }
      run.finally { run.check(regions[0] == regions[1], "each has a region of its own") }
    }
  ]
}
