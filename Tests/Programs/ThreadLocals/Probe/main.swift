// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import ThreadLocals

// Items that block where the engine cannot see it, one behind the other: only the monitor can add a worker for the last one.
let (gate, done) = (Latch(), Latch(4))
for place in 0..<3 {
  DispatchQueue.global().async {
    gc_test_thread_local(UInt32(place) * 40_000)!.pointee = 1
    gate.wait()
    done.open()
  }
}
DispatchQueue.global().async {
  gate.open()
  done.open()
}
guard done.wait() else { exit(1) }
print("ran=1")
