// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

@Suite("Misuse of data traps")
struct DataFaultTests {
  @Test("F1, D1 GC0027: an index or a range outside the data")
  func outside() async {
    let index = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let data = [UInt8](repeating: 1, count: 3).withUnsafeBytes { DispatchData(bytes: $0) }
      _ = data[3]
    }
    expectFault(index, "GC0027", mentions: "3..<4", "3 bytes", "Stay within")
    let slice = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      _ = DispatchData.empty[0..<1]
    }
    expectFault(slice, "GC0027", mentions: "0..<1", "0 bytes")
  }

  @Test("F1, D1 GC0027: a buffer that is too small for the bytes to be copied")
  func noRoom() async {
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      let data = [UInt8](repeating: 1, count: 9).withUnsafeBytes { DispatchData(bytes: $0) }
      var room = [UInt8](repeating: 0, count: 4)
      room.withUnsafeMutableBytes { data.copyBytes(to: $0, count: 5) }
    }
    expectFault(result, "GC0027", mentions: "copyBytes of 5 bytes", "buffer of 4")
  }
}
