// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Synchronization
import Testing

@testable import GrandCentral

@Suite("Memory that data own")
struct DeallocatorTests {
  @Test("D2: the last value that shows a byte runs the deallocator, once, on its queue")
  func lastValue() {
    let queue = DispatchQueue(label: "data.release")
    let key = DispatchSpecificKey<Int>()
    queue.setSpecific(key: key, value: 7)
    let runs = Recorder<Int?>()
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 1)
    bytes.copyBytes(from: 0..<100)
    var part: DispatchData? = DispatchData(
      bytesNoCopy: UnsafeRawBufferPointer(bytes),
      deallocator: .custom(queue) { runs.note(DispatchQueue.getSpecific(key: key)) }
    ).subdata(in: 40..<50)
    queue.sync {}
    #expect(runs.count == 0 && part?.array == Array(40..<50))
    part = nil
    #expect(eventually { runs.count == 1 })
    queue.sync {}
    #expect(runs.values == [7])
    bytes.deallocate()
  }

  @Test("D2: no queue stands for a global one, no bytes for at once")
  func noBytes() {
    let releases = Counter()
    _ = DispatchData(
      bytesNoCopy: UnsafeRawBufferPointer(start: nil, count: 0), deallocator: .custom(nil) { releases.add() })
    _ = DispatchData(bytesNoCopy: UnsafeBufferPointer<UInt8>(start: nil, count: 0), deallocator: .free)
    _ = DispatchData(bytesNoCopy: UnsafeBufferPointer<UInt8>(start: nil, count: 0), deallocator: .unmap)
    #expect(eventually { releases.value == 1 })
  }

  @Test("D2: a part of several regions lets go of those that it does not show")
  func partOfSeveral() {
    let releases = (0..<4).map { _ in Counter() }
    var data: DispatchData? = releases.reduce(into: .empty) { $0?.append(DispatchData(Array(0..<100), countedBy: $1)) }
    let queue = DispatchQueue.global()
    let part = data!.subdata(in: 50..<250)
    data = nil
    #expect(eventually { releases[3].value == 1 })
    queue.sync {}
    #expect(releases.map(\.value) == [0, 0, 0, 1] && part.count == 200)
    // A part that lies within one region.
    let single = part.subdata(in: 60..<70)
    #expect(single.array == Array(10..<20))
    withExtendedLifetime(part) {}
  }

  @Test("D2: memory of malloc is freed, mapped pages are unmapped")
  func freeAndUnmap() {
    let size = 3 * Int(getpagesize())
    let pages = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
    #expect(pages != MAP_FAILED)
    // The memory does not begin where a page begins; the deallocator unmaps the whole page all the same.
    var data: DispatchData? = DispatchData(
      bytesNoCopy: UnsafeRawBufferPointer(start: pages + 10, count: size - 20), deallocator: .unmap)
    var resident = [UInt8](repeating: 0, count: 3)
    #expect(data?.first == 0 && mincore(pages, size, &resident) == 0)
    data = nil
    #expect(mincore(pages, size, &resident) == -1 && errno == ENOMEM)
    let memory = malloc(100)!
    memset(memory, 5, 100)
    data = DispatchData(bytesNoCopy: UnsafeRawBufferPointer(start: memory, count: 100))
    #expect(data?.last == 5)
    data = nil
  }

  @Test("D1, D2: values that threads share, take apart, map and append to")
  func threads() {
    let releases = Counter()
    let rounds = 200
    let faults = Recorder<String>()
    for round in 0..<rounds {
      var shared = DispatchData(Array(0..<200), countedBy: releases)
      shared.append(DispatchData(Array(0..<100)))
      shared.append([UInt8](repeating: 1, count: 10))
      let value = shared
      shared = .empty
      DispatchQueue.concurrentPerform(iterations: 4) { index in
        var mine = value
        for step in 0..<20 { mine.append([UInt8(truncatingIfNeeded: index &+ step)]) }
        let expected = (0..<20).map { UInt8(truncatingIfNeeded: index &+ $0) }
        if !mine.subdata(in: 310..<330).elementsEqual(expected) { faults.note("round \(round): appended") }
        value.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in
          if bytes[250] != 50 || bytes.count != 310 { faults.note("round \(round): mapped") }
        }
        if mine[199] != 199 || mine.region(location: 10).data.count != 200 { faults.note("round \(round): read") }
      }
    }
    #expect(faults.values == [])
    #expect(eventually { releases.value == rounds })
  }
}
