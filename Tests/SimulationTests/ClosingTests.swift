// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import GrandCentralTesting
import Testing

@Suite("The process's queues as a simulation begins", .serialized, .timeLimit(.minutes(30)))
struct ClosingTests {
  @Test("E2: what waits behind an item that blocks unseen begins, also if a simulation is about to begin")
  func pending() async {
    await #expect(processExitsWith: .success) {
      GrandCentralRuntime.processorOverride = 1
      for _ in 0..<5 {
        let (isIn, group) = (Flag(), DispatchGroup())
        var ends: [Int32] = [0, 0]
        try require(pipe(&ends) == 0)
        let (input, output) = (ends[0], ends[1])
        DispatchQueue.global().async(group: group) {
          isIn.raise()
          var byte: UInt8 = 0
          _ = read(input, &byte, 1)
        }
        while !isIn.isUp { sleepInReality() }
        DispatchQueue.global().async(group: group) {
          var byte: UInt8 = 1
          _ = write(output, &byte, 1)
        }
        // Both have ended before it begins, or the process is busy for too long.
        let report = Simulation.explore(runs: 1) { sim in
          DispatchQueue(label: "inside").async {}
          sim.run()
        }
        switch report.failure?.reason {
        case nil, .busy: break
        default: throw report.failure ?? Unexpected() as any Error
        }
        try require(group.wait(timeout: .now() + .seconds(40)) == .success)
        close(input)
        close(output)
      }
    }
  }
}
