// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

private func made(_ parts: [UInt8]...) -> DispatchData {
  var data = DispatchData.empty
  for part in parts { part.withUnsafeBytes { data.append($0) } }
  return data
}

let dataScenarios: [(String, () -> Void)] = [
  (
    "data joined and cut",
    {
      let data = made([1, 2, 3], [4, 5], [6, 7, 8, 9])
      say("count", data.count, "bytes", Array(data))
      for range in [0..<0, 0..<9, 2..<6, 3..<5, 8..<9] { say("part", range, Array(data.subdata(in: range))) }
      say("slice", Array(data[2..<4]), data[2..<4].startIndex, data[3], data.startIndex, data.endIndex)
      say("empty", DispatchData.empty.count, Array(DispatchData.empty), DispatchData.empty.isEmpty)
      say("reversed", Array(data.reversed()), data.first!, data.last!)
      var sum = data
      sum.append(data.subdata(in: 1..<3))
      sum.append(.empty)
      say("appended", Array(sum), data.count)
      [UInt16(0x0101), 0x0202].withUnsafeBufferPointer { sum.append($0) }
      [UInt8(9), 8].withUnsafeBufferPointer { sum.append($0.baseAddress!, count: 2) }
      say("appended", Array(sum))
    }
  ),
  (
    "data regions",
    {
      let data = made([1, 2, 3], [4, 5], [6, 7, 8, 9])
      data.enumerateBytes { part, index, stop in say("region", index, Array(part)) }
      data.enumerateBytes { part, index, stop in
        say("until", index)
        stop = index >= 3
      }
      for location in [0, 2, 3, 4, 5, 8] {
        let (region, offset) = data.region(location: location)
        say("at", location, Array(region), offset)
      }
      data.subdata(in: 2..<6).enumerateBytes { part, index, _ in say("cut", index, Array(part)) }
      data.withUnsafeBytes { (start: UnsafePointer<UInt8>) in say("one piece", start[0], start[8]) }
    }
  ),
  (
    "data regions, large",
    {
      var data = DispatchData.empty
      for part in 1...3 {
        [UInt8](repeating: UInt8(part), count: 100_000).withUnsafeBytes { data.append(DispatchData(bytes: $0)) }
      }
      data.enumerateBytes { part, index, _ in say("region", index, part.count, part[0]) }
      for location in [0, 99_999, 100_000, 299_999] {
        let (region, offset) = data.region(location: location)
        say("at", location, region.count, offset)
      }
      data.subdata(in: 50_000..<250_000).enumerateBytes { part, index, _ in say("cut", index, part.count, part[0]) }
    }
  ),
  (
    "data copied",
    {
      let data = made([1, 2, 3], [4, 5], [6, 7, 8, 9])
      var bytes = [UInt8](repeating: 0, count: 12)
      bytes.withUnsafeMutableBufferPointer { data.copyBytes(to: $0.baseAddress!, count: 5) }
      say("five", bytes)
      bytes.withUnsafeMutableBufferPointer { data.copyBytes(to: $0.baseAddress!, from: 2..<4) }
      say("two", bytes)
      say("buffer", bytes.withUnsafeMutableBufferPointer { data.copyBytes(to: $0) }, bytes)
      say("range", bytes.withUnsafeMutableBufferPointer { data.copyBytes(to: $0, from: 5..<9) }, bytes)
      var words = [UInt16](repeating: 0, count: 2)
      say("words", words.withUnsafeMutableBufferPointer { data.copyBytes(to: $0) }, words)
      var raw = [UInt8](repeating: 0, count: 4)
      raw.withUnsafeMutableBytes { data.copyBytes(to: $0, count: 4) }
      say("raw", raw)
      raw.withUnsafeMutableBytes { data.copyBytes(to: $0, from: 4..<6) }
      say("raw", raw)
      // What is not there takes no room.
      raw.withUnsafeMutableBytes { made([7, 7, 7]).copyBytes(to: $0, count: 5) }
      say("fewer", raw)
      raw.withUnsafeMutableBytes { data.copyBytes(to: $0, from: 6..<14) }
      say("fewer", raw)
      say("none", bytes.withUnsafeMutableBufferPointer { DispatchData.empty.copyBytes(to: $0, from: 0..<4) })
      say("none", bytes.withUnsafeMutableBufferPointer { data.copyBytes(to: $0, from: 20..<20) })
    }
  ),
  (
    "data that frees itself",
    {
      let (queue, log) = (DispatchQueue(label: "q"), Log())
      let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 4, alignment: 1)
      bytes.copyBytes(from: [1, 2, 3, 4])
      do {
        let data = DispatchData(
          bytesNoCopy: UnsafeRawBufferPointer(bytes),
          deallocator: .custom(queue) {
            dispatchPrecondition(condition: .onQueue(queue))
            log.add("freed")
            bytes.deallocate()
          })
        let part = data.subdata(in: 1..<3)
        say("part", Array(part))
        queue.sync {}
        log.show("while it is used:")
        withExtendedLifetime(data) {}
      }
      pause(10, on: queue)
      queue.sync {}
      log.show("after:")
    }
  ),
]

let valueScenarios: [(String, () -> Void)] = [
  (
    "instants",
    {
      let far = DispatchTime.distantFuture
      say("far", far.uptimeNanoseconds, far + 1 == far, far - 1 == far, far + .never == far, far > .now())
      let five = DispatchTime(uptimeNanoseconds: 5_000)
      say("sum", (five + .nanoseconds(7)).uptimeNanoseconds, (five - .nanoseconds(7)).uptimeNanoseconds)
      say("under", (five - .seconds(10)).uptimeNanoseconds, (five + .seconds(-10)).uptimeNanoseconds)
      say("over", (five + .seconds(.max)).uptimeNanoseconds, (five + 1e300).uptimeNanoseconds)
      say("seconds", (five + 1.5).uptimeNanoseconds, (five - 0.000001).uptimeNanoseconds, (five + .never) == far)
      say("infinite", (five + .infinity) == far, (five + .milliseconds(.max)) == far)
      say("order", five < far, five == DispatchTime(uptimeNanoseconds: 5_000), five <= five)
      say("zero", DispatchTime(uptimeNanoseconds: 0).uptimeNanoseconds, DispatchTime(uptimeNanoseconds: .max) == far)
    }
  ),
  (
    "wall instants",
    {
      let far = DispatchWallTime.distantFuture
      say("far", far.rawValue, far + 1 == far, far - 1 == far, far + .never == far)
      let at = DispatchWallTime(timespec: timespec(tv_sec: 100, tv_nsec: 5))
      say("at", at.rawValue, (at + 1).rawValue, (at - .nanoseconds(5)).rawValue, (at + .milliseconds(3)).rawValue)
      say("under", (at - 1000).rawValue, "over", (at + .seconds(.max)).rawValue, (at + .infinity) == far)
      say("order", at < at + 1, at < far, DispatchWallTime.now() > at, at == at + 0.0)
    }
  ),
  (
    "intervals",
    {
      let pairs: [(DispatchTimeInterval, DispatchTimeInterval)] = [
        (.seconds(1), .milliseconds(1000)), (.microseconds(1), .nanoseconds(1000)), (.never, .never),
        (.never, .seconds(.max)), (.seconds(0), .nanoseconds(0)), (.seconds(.max), .milliseconds(.max)),
        (.milliseconds(1), .microseconds(999)), (.seconds(-1), .milliseconds(-1000)),
      ]
      for (first, second) in pairs { say("\(first) and \(second)", first == second) }
    }
  ),
  (
    "raw values",
    {
      let flags: [DispatchWorkItemFlags] = [
        .barrier, .detached, .assignCurrentContext, .noQoS, .inheritQoS, .enforceQoS,
      ]
      say("item", flags.map(\.rawValue))
      say("queue", DispatchQueue.Attributes.concurrent.rawValue, DispatchQueue.Attributes.initiallyInactive.rawValue)
      say("timer", DispatchSource.TimerFlags.strict.rawValue)
      say("channel", DispatchIO.CloseFlags.stop.rawValue, DispatchIO.IntervalFlags.strictInterval.rawValue)
      say("types", DispatchIO.StreamType.stream.rawValue, DispatchIO.StreamType.random.rawValue)
      let events: [DispatchSource.FileSystemEvent] = [
        .delete, .write, .extend, .attrib, .link, .rename, .revoke, .funlock, .all,
      ]
      say("files", events.map(\.rawValue))
      let low = DispatchQoS(qosClass: .utility, relativePriority: -3)
      say("qos", low.qosClass, low.relativePriority, low == .utility, DispatchQoS.default == .unspecified)
      say("results", DispatchTimeoutResult.success, DispatchTimeoutResult.timedOut)
    }
  ),
]
