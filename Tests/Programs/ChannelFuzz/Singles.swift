// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

extension Life {
  /// Single reads of one descriptor at once. When the handlers of all have run the descriptor is the program's: it is closed, and
  /// another file gets its number and is read.
  func singles() -> () -> Void {
    tell("single reads")
    for _ in 0..<1 + random.below(6) {
      let ends = random.oneIn(2) ? Kernel.closeOnExecPipe()! : Kernel.closeOnExecSockets()!
      let count = 1 + random.below(3)
      let (left, ended) = (Counter(count), Latch())
      for _ in 0..<count {
        let token = Token(self)
        DispatchIO.read(fromFileDescriptor: ends.readEnd, maxLength: 1, runningHandlerOn: queue) { data, error in
          token.visit()
          if error != 0 || data.count != 1 { self.fail("a single read brings \(data.count) bytes and error \(error)") }
          if left.add(-1) == 0 { ended.open() }
        }
      }
      for _ in 0..<count {
        var byte: UInt8 = 7
        while Glibc.write(ends.writeEnd, &byte, 1) != 1 {}
      }
      if !ended.wait(seconds: 60) { fail("\(left.value) of \(count) single reads do not end") }
      Glibc.close(ends.readEnd)
      Glibc.close(ends.writeEnd)
    }
    return {}
  }
}
