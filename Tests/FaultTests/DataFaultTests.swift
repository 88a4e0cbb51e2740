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
    let last = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      _ = DispatchData.empty[Int.max]
    }
    expectFault(last, "GC0027", mentions: "the index 9223372036854775807", "0 bytes", "Stay within")
  }

  @Test("F1, D1 GC0038: more bytes than an index can count")
  func tooLong() async {
    let doubled = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      var data = [UInt8](repeating: 1, count: 1).withUnsafeBytes { DispatchData(bytes: $0) }
      for _ in 0..<63 { data.append(data) }
    }
    expectFault(doubled, "GC0038", mentions: "DispatchData.append", "less often")
    let brimful = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      var part = [UInt8](repeating: 1, count: 1).withUnsafeBytes { DispatchData(bytes: $0) }
      var data = part
      for _ in 0..<62 {
        part.append(part)
        data.append(part)
      }
      #expect(data.count == .max)
      withUnsafeBytes(of: UInt8(1)) { data.append($0) }
    }
    expectFault(brimful, "GC0038", mentions: "DispatchData.append")
  }

  @Test("D1: data of more than half the bytes that an index can count are looked at and cut")
  func veryLong() async {
    await #expect(processExitsWith: .success) {
      var data = ([7, 8] as [UInt8]).withUnsafeBytes { DispatchData(bytes: $0) }
      while data.count < 1 << 62 { data.append(data) }
      let half = 1 << 61
      #expect(data.subdata(in: 0..<data.count).count == 2 * half)
      let part = data.subdata(in: 1..<data.count)
      #expect(part.count == 2 * half - 1 && part[0] == 8 && part.last == 8 && part[half] == 8)
      #expect(data.subdata(in: half - 1..<half + 1).count == 2 && data[half] == 7)
    }
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
