// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

@testable import GrandCentral

@Suite("Data")
struct DataTests {
  @Test("D1: concatenations and parts share the bytes")
  func sharing() {
    let first = DispatchData(Array(0..<100))
    let second = DispatchData(Array(100..<200))
    var both = first
    both.append(second)
    #expect(both.pieces == [Array(0..<100), Array(100..<200)])
    #expect(Array(both.regions).map(\.position) == [first.position, second.position])
    #expect(both.subdata(in: 10..<90).position == first.position + 10)
    #expect(both.subdata(in: 110..<190).position == second.position + 10)
    let middle = both.subdata(in: 90..<110)
    #expect(middle.pieces == [Array(90..<100), Array(100..<110)])
    #expect(Array(middle.regions).map(\.position) == [first.position + 90, second.position])
  }

  @Test("D1: nothing is one thing, however it comes about")
  func nothing() {
    let data = DispatchData(Array(0..<10))
    var doubled = DispatchData.empty
    doubled.append(.empty)
    doubled.append([])
    let all = [
      DispatchData([]), data.subdata(in: 3..<3), data.subdata(in: 10..<20), doubled, data.region(location: 10).data,
    ]
    for nothing in all {
      #expect(nothing.object == nil && nothing.isEmpty && nothing.array.isEmpty && Array(nothing).isEmpty)
      #expect(nothing.region(location: 0).offset == 0)
      nothing.withUnsafeBytes { (bytes: UnsafePointer<UInt64>) in #expect(UInt(bitPattern: bytes) % 8 == 0) }
      #expect(nothing.withSpan { $0.count } == 0)
      #expect(nothing.contiguous().isEmpty)
    }
  }

  @Test("D1: what lies outside is left out")
  func outside() {
    let data = DispatchData(Array(0..<10))
    #expect(data.subdata(in: 8..<100).array == [8, 9])
    #expect(data.region(location: 10).offset == 10)
    #expect(data.region(location: -1).data.isEmpty)
    var bytes = [UInt8](repeating: 77, count: 20)
    data.copyBytes(to: &bytes, count: 20)
    #expect(bytes == Array(0..<10) + Array(repeating: 77, count: 10))
    data.copyBytes(to: &bytes, from: 8..<12)
    #expect(bytes.prefix(4) == [8, 9, 2, 3])
  }

  @Test("D1: copyBytes over regions, into a buffer that is shorter, of larger elements")
  func copying() {
    let data = DispatchData(Array(0..<100)).inRegions(of: [7])
    var words = [UInt32](repeating: 0, count: 3)
    let count = words.withUnsafeMutableBufferPointer { data.copyBytes(to: $0, from: 5..<90) }
    #expect(count == 12)
    #expect(words.withUnsafeBytes { Array($0) } == Array(5..<17))
    var bytes = [UInt8](repeating: 0, count: 100)
    #expect(bytes.withUnsafeMutableBufferPointer { data.copyBytes(to: $0) } == 100)
    #expect(bytes == Array(0..<100))
    bytes.withUnsafeMutableBytes { data.copyBytes(to: $0, from: 50..<60) }
    #expect(Array(bytes[..<10]) == Array(50..<60))
  }

  @Test("D1: copyBytes wants room for what there is, and nothing of what is empty")
  func copyingLess() {
    let data = DispatchData([1, 2, 3])
    var room = [UInt8](repeating: 0, count: 4)
    room.withUnsafeMutableBytes { data.copyBytes(to: $0, count: 5) }
    #expect(room == [1, 2, 3, 0])
    room.withUnsafeMutableBytes { data.copyBytes(to: $0, from: 2..<10) }
    #expect(room == [3, 2, 3, 0])
    #expect(room.withUnsafeMutableBufferPointer { DispatchData.empty.copyBytes(to: $0, from: 0..<4) } == 0)
    #expect(room.withUnsafeMutableBufferPointer { data.copyBytes(to: $0, from: 20..<20) } == 0)
    #expect(room == [3, 2, 3, 0])
  }

  @Test("D1: the enumeration ends when it is told to")
  func stopping() {
    let data = DispatchData(Array(0..<100)).inRegions(of: [10])
    var offsets: [Int] = []
    data.enumerateBytes { bytes, offset, stop in
      offsets.append(offset)
      stop = offset + bytes.count >= 30
    }
    #expect(offsets == [0, 10, 20])
    data.enumerateBytes(block: { _, _, stop in stop = true })
  }

  @Test("D1: several regions are mapped to one once, one region not at all")
  func mapping() {
    let one = DispatchData(Array(0..<100))
    one.withUnsafeBytes { (bytes: UnsafePointer<UInt8>) in #expect(Int(bitPattern: bytes) == one.position) }
    let several = one.inRegions(of: [30])
    let copy = several
    let address = several.withUnsafeBytes { (bytes: UnsafePointer<UInt8>) in Int(bitPattern: bytes) }
    copy.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in
      #expect(Int(bitPattern: bytes.baseAddress) == address && Array(bytes) == Array(0..<100))
    }
    several.subdata(in: 10..<95).withSpan { span in
      let (count, last) = (span.count, span[84])
      #expect(count == 85 && last == 94)
    }
    #expect(several.withRawSpan { $0.byteCount } == 100)
    #expect(several.contiguous().pieces.count == 1)
    #expect(several.withContiguousStorageIfAvailable { $0.count } == nil)
    #expect(one.withContiguousStorageIfAvailable { $0.count } == 100)
  }

  @Test("D1: a value that was mapped and then appended to maps anew")
  func mappingAgain() {
    var data = DispatchData(Array(0..<50))
    data.append(DispatchData(Array(50..<100)))
    data.withUnsafeBytes { (_: UnsafePointer<UInt8>) in }
    data.append([100, 101])
    data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in #expect(Array(bytes) == Array(0..<102)) }
  }

  @Test("D1: a collection whose indices can be moved about")
  func collection() {
    let data = DispatchData(Array(0..<100)).inRegions(of: [9])
    #expect(data.first == 0 && data.last == 99 && data.count == 100)
    #expect(data.index(10, offsetBy: 20) == 30 && data.distance(from: 3, to: 50) == 47)
    #expect(data.index(90, offsetBy: 11, limitedBy: 100) == nil && data.index(90, offsetBy: 10, limitedBy: 100) == 100)
    #expect(data.index(10, offsetBy: -11, limitedBy: 0) == nil && data.index(10, offsetBy: -10, limitedBy: 0) == 0)
    #expect(data.index(10, offsetBy: 5, limitedBy: 3) == 15 && data.index(10, offsetBy: 0, limitedBy: 10) == 10)
    #expect(data[20..<30].elementsEqual(20..<30) && data[20..<30].startIndex == 20)
    #expect(data.indices.elementsEqual(0..<100))
    #expect(data.reduce(0) { $0 + Int($1) } == 4950)
    var iterator = data.makeIterator()
    for expected in UInt8(0)..<100 { #expect(iterator.next() == expected) }
    #expect(iterator.next() == nil && iterator.next() == nil)
    #expect(data.prefix(12).map { $0 } == Array(0..<12))
    var start = [UInt8](repeating: 0, count: 10)
    var rest = start.withUnsafeMutableBufferPointer { data._copyContents(initializing: $0).0 }
    #expect(start == Array(0..<10) && rest.next() == 10)
  }

  @Test("D1: values that share a beginning may all be appended to")
  func forks() {
    var first = DispatchData.empty
    first.append([1])
    var second = first
    first.append([2])
    second.append([3])
    first.append([4])
    #expect(first.array == [1, 2, 4] && second.array == [1, 3])
    #expect(first.pieces.count == 1)
    var third = first.subdata(in: 0..<2)
    third.append([9])
    #expect(third.array == [1, 2, 9] && first.array == [1, 2, 4])
  }

  @Test(
    "D1: a byte is found in regions of one length, of almost one length, and after more has come",
    arguments: [
      [1], [2], [3], [7], [64], [100], [1000], [7, 7, 8], [8, 7],
    ])
  func evenRegions(lengths: [Int]) {
    var bytes = (0..<20 * lengths[0] + 1).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
    var data = DispatchData(bytes).inRegions(of: lengths)
    #expect((0..<data.count).map { data[$0] } == bytes)
    let tail = data.subdata(in: 2..<data.count)
    // Appends in place, after the lookups above: bytes that make the last region longer, then a region of another length.
    for more in [[1, 2, 3], Array(repeating: 9, count: 3 * lengths[0])] as [[UInt8]] {
      data.append(more)
      data.append(DispatchData(more))
      bytes += more + more
      #expect((0..<data.count).map { data[$0] } == bytes)
    }
    #expect((0..<tail.count).map { tail[$0] } == Array(bytes[2..<tail.count + 2]))
  }

  @Test("D1: data appended to themselves")
  func doubling() {
    var data = DispatchData([1, 2, 3])
    var model: [UInt8] = [1, 2, 3]
    for _ in 0..<10 {
      data.append(data)
      model += model
    }
    #expect(data.array == model && faults(of: data).isEmpty)
  }
}

@Suite("Long ropes")
struct DataRopeTests {
  /// The number of levels of nodes.
  private func levels(_ data: DispatchData) -> Int { data.height + 1 }

  @Test("D3: a million appended bytes share regions that double")
  func appendedBytes() {
    var data = DispatchData.empty
    for index in 0..<1_000_000 { withUnsafeBytes(of: UInt8(truncatingIfNeeded: index)) { data.append($0) } }
    #expect(data.count == 1_000_000 && data.pieces.count <= 20 && levels(data) == 1)
    #expect(data.enumerated().allSatisfy { $0.element == UInt8(truncatingIfNeeded: $0.offset) })
  }

  @Test("D3: a million appended values stay shallow and balanced")
  func appendedData() {
    let byte = DispatchData([7])
    let other = DispatchData([8])
    var data = DispatchData.empty
    for index in 0..<1_000_000 { data.append(index & 1 == 0 ? byte : other) }
    #expect(data.count == 1_000_000 && levels(data) <= 5, "\(levels(data))")
    #expect(faults(of: data).isEmpty)
    #expect(data[500_000] == 7 && data[999_999] == 8)
    let part = data.subdata(in: 250_001..<750_000)
    #expect(levels(part) <= 6 && part.count == 499_999 && part[0] == 8)
    let small = data.subdata(in: 400_000..<400_100)
    #expect(levels(small) <= 2 && small.array == (0..<100).map { $0 & 1 == 0 ? 7 : 8 })
  }

  @Test("D3: values put in front, and halves joined, stay balanced")
  func otherOrders() {
    let byte = DispatchData([7])
    let other = DispatchData([8])
    var data = byte
    for index in 0..<20_000 {
      var longer = index & 1 == 0 ? other : byte
      longer.append(data)
      data = longer
    }
    #expect(data.count == 20_001 && levels(data) <= 5 && faults(of: data).isEmpty)
    var all = data
    for _ in 0..<6 { all.append(all) }
    #expect(all.count == 64 * 20_001 && levels(all) <= 7 && faults(of: all).isEmpty)
    for length in stride(from: all.count, to: 1, by: -30_011) {
      let part = all.subdata(in: (all.count - length)..<all.count)
      #expect(faults(of: part).isEmpty && part.count == length)
    }
  }

  @Test("D3: a window that moves over endless data keeps no more than twice its size")
  func window() {
    var data = DispatchData.empty
    for step in 0..<5_000 {
      data.append(DispatchData([UInt8](repeating: UInt8(truncatingIfNeeded: step), count: 10)))
      if data.count > 1_000 { data = data.subdata(in: 10..<data.count) }
      if let object = data.object, data.position < 0 { #expect(object.withNode { $0.count } <= 2 * data.count) }
    }
    #expect(data.count == 1_000 && data.last == UInt8(truncatingIfNeeded: 4_999))
  }

  @Test("D3: bytes appended behind a window that moves over them share regions")
  func receiveBuffer() {
    let backlog = 1 << 20
    var buffer = DispatchData([UInt8](repeating: 1, count: backlog))
    for step in 0..<10_000 {
      buffer.append([UInt8](repeating: UInt8(truncatingIfNeeded: step), count: 64))
      buffer = buffer.subdata(in: 64..<buffer.count)
    }
    #expect(buffer.count == backlog && buffer.last == UInt8(truncatingIfNeeded: 9_999) && faults(of: buffer).isEmpty)
    #expect(buffer[backlog - 64 * 10_000] == 0 && buffer[backlog - 64 * 9_999] == 1)
    // What is there, what has been appended, and at most as much spare.
    let capacities = buffer.regions.compactMap { $0.object?.head.pointee.capacity }
    #expect(capacities.count <= 20 && capacities.reduce(0, +) <= 3 * backlog, "\(capacities)")
  }

  @Test("D3: a short tail takes little memory, whatever it is appended to")
  func shortTails() {
    func tail(of data: DispatchData) -> Int? { data.regions.suffix(1).first?.object?.head.pointee.capacity }
    let bytes = [UInt8](repeating: 1, count: 1 << 20)
    var several = DispatchData(bytes)
    several.append(DispatchData(bytes))
    var appended = DispatchData.empty
    for _ in 0..<20_000 { appended.append(Array(0..<64)) }
    for data in [DispatchData(bytes), DispatchData(bytes, countedBy: Counter()), several] {
      var longer = data
      longer.append([1, 2, 3])
      #expect(tail(of: longer) == DataRope.smallestChunk)
    }
    // The first takes the spare memory of the last region; the others have none, and have appended nothing before.
    var copies = Array(repeating: appended, count: 10)
    for index in copies.indices { copies[index].append([UInt8(index)]) }
    #expect(copies.dropFirst().allSatisfy { tail(of: $0) == DataRope.smallestChunk && $0.pieces.count > 1 })
    #expect(copies.indices.allSatisfy { copies[$0].last == UInt8($0) && copies[$0].count == appended.count + 1 })
  }

  @Test("D3: runs of any length share regions that double", arguments: [1, 7, 8, 56, 60, 64, 100, 4096, 70_000])
  func appendedRuns(length: Int) {
    let run = [UInt8](repeating: 5, count: length)
    var data = DispatchData.empty
    let runs = min(1_000, 8 * DataRope.largestChunk / length)
    for _ in 0..<runs { data.append(run) }
    #expect(data.count == runs * length && data.last == 5)
    let capacities = data.regions.compactMap { $0.object?.head.pointee.capacity }
    // Up to 1 MiB they double; from then on each holds as many runs as fit.
    let most = 16 + 2 * data.count / DataRope.largestChunk
    #expect(capacities.count <= most, "\(capacities)")
    #expect(capacities.reduce(0, +) <= 5 * data.count / 2 + 2 * DataRope.smallestChunk, "\(capacities)")
  }

  @Test("D1: a view that is appended to leaves alone the value that it is a view of, and other views")
  func appendedViews() {
    var whole = DispatchData([UInt8](repeating: 1, count: 100))
    whole.append(Array(0..<10))
    var (view, other) = (whole.subdata(in: 40..<110), whole.subdata(in: 30..<110))
    view.append([20])
    other.append([30])
    whole.append([40])
    let bytes = whole.array
    #expect(bytes.count == 111 && bytes[109] == 9 && bytes[110] == 40)
    #expect(view.array == bytes[40..<110] + [20] && view.pieces.count == 2)
    #expect(other.array == bytes[30..<110] + [30])
    for data in [whole, view, other] { #expect(faults(of: data).isEmpty) }
  }
}
