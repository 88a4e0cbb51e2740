// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Testing

@testable import GrandCentral

/// Values, what they should be, and random steps that make more of them.
struct DataWorld {
  var random: SeededRandom
  let releases = Counter()
  private(set) var adopted = 0
  private var values: [(data: DispatchData, model: [UInt8])] = [(.empty, [])]

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  /// Takes one step. Returns what is wrong after it.
  mutating func step() -> [String] {
    let index = random.below(values.count)
    let other = values[random.below(values.count)]
    var (data, model) = values[index]
    let name: String
    switch random.below(12) {
    case 0:
      name = "new"
      (data, model) = fresh()
    case 1, 2:
      name = "append bytes"
      let bytes = someBytes()
      // The value leaves the list first. So there is no second reference to it, and it changes in place.
      values[index] = (.empty, [])
      data.append(bytes)
      model += bytes
    case 3, 4, 5:
      name = "append data"
      if random.oneIn(2) { values[index] = (.empty, []) }
      data.append(other.data)
      model += other.model
    case 6:
      name = "append a slice"
      let (slice, bytes) = fresh()
      data.append(slice)
      model += bytes
    case 7, 8:
      name = "subdata"
      let range = someRange(model.count)
      data = data.subdata(in: range)
      model = Array(model[range])
    case 9:
      name = "region"
      if model.isEmpty { return [] }
      let location = random.below(model.count)
      let region = data.region(location: location)
      let range = region.offset..<region.offset + region.data.count
      if !range.contains(location) { return ["region \(range) without \(location)"] }
      (data, model) = (region.data, Array(model[range]))
    case 10:
      name = "contiguous"
      if random.oneIn(4) { data = data.contiguous() } else { data.withUnsafeBytes { (_: UnsafePointer<UInt8>) in } }
    default:
      name = "exact object"
      if let object = data.exactObject { data = DispatchData(object) }
    }
    var wrong = faults(of: data) + differences(data, model)
    if model.count > 20_000 { (data, model) = (data.subdata(in: 100..<10_000), Array(model[100..<10_000])) }
    if values.count < 24 && random.oneIn(3) { values.append((data, model)) } else { values[index] = (data, model) }
    if random.oneIn(10) {
      let value = values[random.below(values.count)]
      wrong += differences(value.data, value.model)
    }
    return wrong.map { "\(name): \($0)" }
  }

  /// Lets go of all values. Returns what is wrong then.
  mutating func end() -> [String] {
    values = []
    let adopted = adopted
    let releases = releases
    return eventually { releases.value == adopted } ? [] : ["\(adopted) buffers, \(releases.value) releases"]
  }

  private mutating func someBytes() -> [UInt8] {
    let count = random.oneIn(8) ? random.below(2000) : random.below(40)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  private mutating func fresh() -> (DispatchData, [UInt8]) {
    let bytes = someBytes()
    if random.oneIn(2) { return (DispatchData(bytes), bytes) }
    adopted += 1
    return (DispatchData(bytes, countedBy: releases), bytes)
  }

  private mutating func someRange(_ count: Int) -> Range<Int> {
    let first = random.below(count + 1)
    let second = random.below(count + 1)
    if random.oneIn(2) { return min(first, count / 16)..<max(count - count / 16, first) }
    return min(first, second)..<max(first, second)
  }

  private mutating func differences(_ data: DispatchData, _ model: [UInt8]) -> [String] {
    var wrong: [String] = []
    func check(_ what: String, _ isRight: Bool) { if !isRight { wrong.append(what) } }
    check("count", data.count == model.count)
    check("enumerateBytes", data.array == model)
    check("iteration", data.elementsEqual(model))
    check("regions", data.regions.flatMap { Array($0) } == model)
    check("Array", Array(data) == model)
    check("reversed", data.reversed().elementsEqual(model.reversed()))
    guard !model.isEmpty, data.count == model.count else { return wrong }
    let index = random.below(model.count)
    check("subscript", data[index] == model[index])
    let range = someRange(model.count)
    check("slice", Array(data[range]) == Array(model[range]))
    var copy = [UInt8](repeating: 0, count: model.count)
    let copied = copy.withUnsafeMutableBufferPointer { data.copyBytes(to: $0, from: range) }
    check("copyBytes", copied == range.count && copy[..<copied] == model[range])
    let region = data.region(location: index)
    check("region", region.data.elementsEqual(model[region.offset...].prefix(region.data.count)))
    return wrong
  }
}

@Suite("Data against an array of bytes")
struct DataPropertyTests {
  @Test("D1, D2, D3: random operations, each checked in every way of looking")
  func randomOperations() {
    let seed = Stress.seed("data operations")
    let deadline = Stress.deadline()
    var round: UInt64 = 0
    repeat {
      var world = DataWorld(seed: seed &+ round)
      for step in 0..<400 {
        let wrong = world.step()
        #expect(wrong.isEmpty, "seed \(seed), round \(round), step \(step)")
        if !wrong.isEmpty { return }
      }
      let wrong = world.end()
      #expect(wrong.isEmpty, "seed \(seed), round \(round)")
      round += 1
    } while Stress.runs(until: deadline) && round < 100_000
    #expect(round > 0)
  }
}
