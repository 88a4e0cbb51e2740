// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport
import Glibc

/// Submits in batches as long as a program's backlog, and waits for each.
private func inBatches(_ count: Int, on queue: DispatchQueue, submit: (Int) -> Void) {
  let batch = 100
  for i in 0..<count {
    submit(i)
    if i % batch == batch - 1 { queue.sync(flags: .barrier) {} }
  }
  queue.sync(flags: .barrier) {}
}

private enum Refusal: Error { case once }

/// What allocates, and how often. Thresholds/allocations.json says how often it may.
public func allocationProbes() -> [Probe] {
  asyncProbes() + syncProbes() + objectProbes() + dataProbes()
}

private func asyncProbes() -> [Probe] {
  let serial = DispatchQueue(label: "probe.serial")
  let concurrent = DispatchQueue(label: "probe.concurrent", attributes: .concurrent)
  let global = DispatchQueue.global()
  let group = DispatchGroup()
  return [
    Probe("async") { n in
      inBatches(n, on: serial) { _ in serial.async {} }
    },
    Probe("async.capturing") { n in
      inBatches(n, on: serial) { i in serial.async { bench_consume(UInt64(i)) } }
    },
    Probe("async.capturing-3-words") { n in
      inBatches(n, on: serial) { i in
        let next = i &+ 1
        serial.async { bench_consume(UInt64(i &+ next &+ n)) }
      }
    },
    Probe("async.qos") { n in
      inBatches(n, on: serial) { i in serial.async(qos: .userInitiated) { bench_consume(UInt64(i)) } }
    },
    Probe("async.group") { n in
      inBatches(n, on: serial) { i in serial.async(group: group) { bench_consume(UInt64(i)) } }
    },
    Probe("async.barrier") { n in
      inBatches(n, on: concurrent) { i in concurrent.async(flags: .barrier) { bench_consume(UInt64(i)) } }
    },
    Probe("async.concurrent") { n in
      inBatches(n, on: concurrent) { i in concurrent.async { bench_consume(UInt64(i)) } }
    },
    Probe("async.global") { n in
      for i in 0..<n {
        global.async(group: group) { bench_consume(UInt64(i)) }
        if i % 100 == 99 { group.wait() }
      }
      group.wait()
    },
    Probe("async-after") { n in
      for i in 0..<n {
        group.enter()
        serial.asyncAfter(deadline: .now() + .microseconds(100)) {
          bench_consume(UInt64(i))
          group.leave()
        }
        if i % 100 == 99 { group.wait() }
      }
      group.wait()
    },
    Probe("notify") { n in
      inBatches(n, on: serial) { i in group.notify(queue: serial) { bench_consume(UInt64(i)) } }
    },
  ]
}

private func syncProbes() -> [Probe] {
  let serial = DispatchQueue(label: "probe.serial")
  let concurrent = DispatchQueue(label: "probe.concurrent", attributes: .concurrent)
  return [
    Probe("sync.void") { n in
      var count: UInt64 = 0
      for _ in 0..<n { serial.sync { count &+= 1 } }
      bench_consume(count)
    },
    Probe("sync.returning") { n in
      var sum: UInt64 = 0
      for i in 0..<UInt64(n) { sum &+= serial.sync { i } }
      bench_consume(sum)
    },
    Probe("sync.throwing") { n in
      // The error itself is made before: boxing it is the thrower's allocation.
      let refusal: any Error = Refusal.once
      for i in 0..<n { try? serial.sync { if i >= 0 { throw refusal } } }
    },
    Probe("sync.reader") { n in
      var count: UInt64 = 0
      for _ in 0..<n { concurrent.sync { count &+= 1 } }
      bench_consume(count)
    },
    Probe("sync.barrier") { n in
      var count: UInt64 = 0
      for _ in 0..<n { concurrent.sync(flags: .barrier) { count &+= 1 } }
      bench_consume(count)
    },
  ]
}

private func objectProbes() -> [Probe] {
  let semaphore = DispatchSemaphore(value: 0)
  let group = DispatchGroup()
  let queue = DispatchQueue(label: "probe.serial")
  return [
    Probe("concurrent-perform") { n in
      for _ in 0..<n { DispatchQueue.concurrentPerform(iterations: 64) { bench_consume(UInt64($0)) } }
    },
    Probe("semaphore.signal-wait") { n in
      for _ in 0..<n {
        semaphore.signal()
        semaphore.wait()
      }
    },
    Probe("group.enter-leave") { n in
      for _ in 0..<n {
        group.enter()
        group.leave()
      }
    },
    Probe("create.queue") { n in
      for _ in 0..<n { letEscape(DispatchQueue(label: "a label that does not fit inline")) }
    },
    Probe("create.semaphore") { n in
      for _ in 0..<n { letEscape(DispatchSemaphore(value: 1)) }
    },
    Probe("create.group") { n in
      for _ in 0..<n { letEscape(DispatchGroup()) }
    },
    Probe("source.timer-life") { n in
      let far = DispatchTime.now() + .seconds(3600)
      for _ in 0..<n {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler { bench_consume(far.uptimeNanoseconds) }
        timer.schedule(deadline: far)
        timer.activate()
        timer.cancel()
        queue.sync {}
        queue.sync {}
      }
    },
    Probe("create.work-item") { n in
      for _ in 0..<n { letEscape(DispatchWorkItem {}) }
    },
  ]
}

private func dataProbes() -> [Probe] {
  let bytes = [UInt8](repeating: 7, count: 1024)
  let first = bytes.withUnsafeBytes { DispatchData(bytes: $0) }
  let second = bytes.withUnsafeBytes { DispatchData(bytes: $0) }
  var both = first
  both.append(second)
  let queue = DispatchQueue(label: "probe.channel")
  return [
    Probe("data.create") { n in
      for _ in 0..<n { bench_consume(UInt64(bytes.withUnsafeBytes { DispatchData(bytes: $0) }.count)) }
    },
    Probe("data.concat") { n in
      for _ in 0..<n {
        var both = first
        both.append(second)
        bench_consume(UInt64(both.count))
      }
    },
    Probe("data.subdata") { [both] n in
      for i in 0..<n { bench_consume(UInt64(both.subdata(in: i & 511..<2000).count)) }
    },
    Probe("channel.read-chunk") { n in
      // n chunks of one operation.
      let file = temporaryFile(of: n * chunk)
      let (channel, ended) = channel(of: file, on: queue)
      channel.setLimit(highWater: chunk)
      channel.read(offset: 0, length: .max, queue: queue) { done, data, _ in
        bench_consume(UInt64(data?.count ?? 0))
        if done { channel.close() }
      }
      ended.wait()
    },
    Probe("channel.write") { n in
      let file = temporaryFile(of: 0)
      let (channel, ended) = channel(of: file, on: queue)
      for _ in 0..<n { channel.write(offset: 0, data: first, queue: queue) { _, _, _ in } }
      channel.close()
      ended.wait()
    },
  ]
}

private let chunk = 4096

/// A channel of `file`, which is closed with it, and the countdown that tells of that.
private func channel(of file: Int32, on queue: DispatchQueue) -> (DispatchIO, Countdown) {
  let ended = Countdown(1)
  let channel = DispatchIO(type: .stream, fileDescriptor: file, queue: queue) { _ in
    close(file)
    ended.arrive()
  }
  return (channel, ended)
}

private func temporaryFile(of size: Int) -> Int32 {
  var template = Array("/tmp/gc-probe-XXXXXX".utf8CString)
  let file = mkstemp(&template)
  unlink(template)
  precondition(ftruncate(file, size) == 0)
  return file
}
