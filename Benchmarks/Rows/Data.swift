// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport

/// What data cost. Where a row is per byte its name says so.
func data() -> [Operation] {
  dataComposing() + dataReading()
}

private let kibibyte = 1024
private let regionSize = 64 * kibibyte
private let regionCount = 16
private let total = regionSize * regionCount

/// Bytes in one region.
private func piece(_ count: Int) -> DispatchData {
  let bytes = [UInt8](repeating: 7, count: count)
  return bytes.withUnsafeBytes { DispatchData(bytes: $0) }
}

/// 1 MiB in 16 regions.
private func regions() -> DispatchData {
  var data = DispatchData.empty
  for _ in 0..<regionCount { data.append(piece(regionSize)) }
  return data
}

/// Keeps a value from being optimised away.
@inline(never)
private func use(_ data: DispatchData) { bench_consume(UInt64(data.count)) }

private func dataComposing() -> [Operation] {
  [
    Operation("Q.data.create-1KiB") {
      let bytes = [UInt8](repeating: 7, count: kibibyte)
      return { n, _ in
        for _ in 0..<n { bytes.withUnsafeBytes { use(DispatchData(bytes: $0)) } }
      }
    },
    Operation("Q.data.concat-1-and-1") {
      let (first, second) = (piece(kibibyte), piece(kibibyte))
      return { n, _ in
        for _ in 0..<n {
          var both = first
          both.append(second)
          use(both)
        }
      }
    },
    Operation("Q.data.concat-16-and-16") {
      let (first, second) = (regions(), regions())
      return { n, _ in
        for _ in 0..<n {
          var both = first
          both.append(second)
          use(both)
        }
      }
    },
    Operation("Q.data.subdata-of-1") {
      let data = piece(kibibyte)
      return { n, _ in
        for index in 0..<n { use(data.subdata(in: index & 511..<600)) }
      }
    },
    Operation("Q.data.subdata-of-16") {
      let data = regions()
      return { n, _ in
        for index in 0..<n { use(data.subdata(in: 100_000 + index & 1023..<900_000)) }
      }
    },
    Operation("Q.data.region-of-16") {
      let data = regions()
      return { n, _ in
        for index in 0..<n { use(data.region(location: index &* 7919 & (total - 1)).data) }
      }
    },
    Operation("Q.data.append-byte", count: .calibrated(multipleOf: 1000)) {
      { n, _ in
        for _ in 0..<n / 1000 {
          var data = DispatchData.empty
          for index in 0..<1000 {
            withUnsafeBytes(of: UInt8(truncatingIfNeeded: index)) { data.append($0) }
          }
          use(data)
        }
      }
    },
    Operation("Q.data.flatten-16KiB") {
      let pieces = (0..<regionCount).map { _ in piece(kibibyte) }
      return { n, _ in
        for _ in 0..<n {
          var data = DispatchData.empty
          for piece in pieces { data.append(piece) }
          data.withUnsafeBytes { (bytes: UnsafePointer<UInt8>) in bench_consume(UInt64(bytes[5000])) }
        }
      }
    },
  ]
}

private func dataReading() -> [Operation] {
  [
    Operation("Q.data.iterate-per-byte", count: .calibrated(multipleOf: total, atMost: 64 * total)) {
      let data = regions()
      return { n, _ in
        for _ in 0..<n / total {
          var sum: UInt64 = 0
          for byte in data { sum &+= UInt64(byte) }
          bench_consume(sum)
        }
      }
    },
    Operation("Q.data.subscript") {
      let data = regions()
      return { n, _ in
        var sum: UInt64 = 0
        for index in 0..<n { sum &+= UInt64(data[index & (total - 1)]) }
        bench_consume(sum)
      }
    },
    Operation("Q.data.subscript-random") {
      let data = regions()
      return { n, _ in
        var sum: UInt64 = 0
        for index in 0..<n { sum &+= UInt64(data[index &* 7919 & (total - 1)]) }
        bench_consume(sum)
      }
    },
    Operation("Q.data.enumerate-per-byte", count: .calibrated(multipleOf: total, atMost: 256 * total)) {
      let data = regions()
      return { n, _ in
        for _ in 0..<n / total {
          var sum: UInt64 = 0
          data.enumerateBytes { bytes, _, _ in
            for byte in bytes { sum &+= UInt64(byte) }
          }
          bench_consume(sum)
        }
      }
    },
    Operation("Q.data.array-per-byte", count: .calibrated(multipleOf: total, atMost: 64 * total)) {
      let data = regions()
      return { n, _ in
        for _ in 0..<n / total { bench_consume(UInt64(Array(data)[77])) }
      }
    },
  ]
}
