// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// C2: the toolchain's Dispatch overlay, whole: each call of it goes to the library's C functions.
import Dispatch
import Glibc

func finished(_ semaphore: DispatchSemaphore) -> Bool { semaphore.wait(timeout: .now() + 20) == .success }

@main struct Program {
  static func main() {
    queues()
    items()
    groups()
    times()
    sources()
    data()
    channels()
    print("end")
  }

  static func queues() {
    let serial = DispatchQueue(label: "serial", qos: .utility)
    let concurrent = DispatchQueue(
      label: "concurrent", attributes: [.concurrent, .initiallyInactive], target: .global())
    nonisolated(unsafe) var values: [Int] = []
    for number in 0..<10 { concurrent.async(flags: .barrier) { values.append(number) } }
    concurrent.activate()
    print("barriers:", concurrent.sync(flags: .barrier) { values })
    print(
      "labels:", serial.label, concurrent.label, DispatchQueue.main.label, DispatchQueue.global(qos: .utility).label)
    print("qos:", serial.qos == .utility, DispatchQueue.global(qos: .background).qos == .background)
    serial.suspend()
    nonisolated(unsafe) var ran = false
    serial.async { ran = true }
    print("suspended:", ran)
    serial.resume()
    serial.sync { print("resumed:", ran) }
    serial.sync {
      dispatchPrecondition(condition: .onQueue(serial))
      dispatchPrecondition(condition: .notOnQueue(concurrent))
    }
    let outer = DispatchSpecificKey<Int>()
    serial.setSpecific(key: outer, value: 3)
    let inner = DispatchQueue(label: "inner", target: serial)
    print("specific:", inner.sync { DispatchQueue.getSpecific(key: outer) ?? -1 }, serial.getSpecific(key: outer) ?? -1)
    nonisolated(unsafe) let counts = UnsafeMutablePointer<Int>.allocate(capacity: 1000)
    counts.initialize(repeating: 0, count: 1000)
    DispatchQueue.concurrentPerform(iterations: 1000) { counts[$0] += 1 }
    print("perform:", (0..<1000).allSatisfy { counts[$0] == 1 })
    struct Wrong: Error {}
    do { try serial.sync { throw Wrong() } } catch { print("thrown:", error is Wrong) }
  }

  static func items() {
    let queue = DispatchQueue(label: "items")
    nonisolated(unsafe) var runs = 0
    let item = DispatchWorkItem { runs += 1 }
    queue.async(execute: item)
    print("waited:", item.wait(timeout: .now() + 20) == .success, runs)
    let done = DispatchSemaphore(value: 0)
    item.notify(queue: queue) { done.signal() }
    print("notified:", finished(done))
    let cancelled = DispatchWorkItem { runs += 1 }
    cancelled.cancel()
    queue.sync(execute: cancelled)
    print("cancelled:", cancelled.isCancelled, runs)
    let delayed = DispatchSemaphore(value: 0)
    let begin = DispatchTime.now()
    queue.asyncAfter(deadline: begin + .milliseconds(15), qos: .userInitiated) { delayed.signal() }
    print("after:", finished(delayed), DispatchTime.now() >= begin + .milliseconds(15))
    queue.asyncAfter(wallDeadline: .now() + .milliseconds(5)) { delayed.signal() }
    print("after, wall:", finished(delayed))
    let flags = DispatchWorkItem(qos: .utility, flags: [.enforceQoS, .detached]) { runs += 10 }
    flags.perform()
    print("performed:", runs)
  }

  static func groups() {
    let group = DispatchGroup()
    print(
      "timeout:",
      {
        group.enter(); return group.wait(timeout: .now() + .milliseconds(5)) == .timedOut
      }())
    let done = DispatchSemaphore(value: 0)
    group.notify(queue: .global()) { done.signal() }
    group.leave()
    print("group:", finished(done), group.wait(wallTimeout: .now() + 20) == .success)
    let semaphore = DispatchSemaphore(value: 1)
    print(
      "semaphore:", semaphore.wait(timeout: .now()) == .success, semaphore.wait(timeout: .now()) == .timedOut,
      semaphore.signal())
  }

  static func times() {
    let time = DispatchTime(uptimeNanoseconds: 1_000_000)
    print(
      "time:", (time + .microseconds(5)).uptimeNanoseconds, (time + 0.5).uptimeNanoseconds,
      time + .never == .distantFuture)
    print(
      "wall:", DispatchWallTime(timespec: timespec(tv_sec: 5, tv_nsec: 7)).rawValue,
      DispatchWallTime.now() < .distantFuture)
  }

  static func sources() {
    let queue = DispatchQueue(label: "sources")
    let done = DispatchSemaphore(value: 0)
    let add = DispatchSource.makeUserDataAddSource(queue: queue)
    let or = DispatchSource.makeUserDataOrSource(queue: queue)
    let replace = DispatchSource.makeUserDataReplaceSource(queue: queue)
    nonisolated(unsafe) var results: [UInt] = []
    add.setEventHandler {
      results.append(add.data); done.signal()
    }
    or.setEventHandler {
      results.append(or.data); done.signal()
    }
    replace.setEventHandler {
      results.append(replace.data); done.signal()
    }
    queue.suspend()
    for source in [add as any DispatchSourceProtocol, or, replace] { source.activate() }
    for number in [1, 2, 4] as [UInt] {
      add.add(data: number)
      or.or(data: number | 8)
      replace.replace(data: number * 10)
    }
    queue.resume()
    for _ in 0..<3 { _ = finished(done) }
    print("user data:", results.sorted())

    var ends: [Int32] = [0, 0]
    pipe(&ends)
    let reader = DispatchSource.makeReadSource(fileDescriptor: ends[0], queue: queue)
    nonisolated(unsafe) var bytes = 0
    let descriptor = ends[0]
    reader.setEventHandler {
      var buffer = [UInt8](repeating: 0, count: 3)
      bytes += read(descriptor, &buffer, 3)
      if bytes == 10 { reader.cancel() }
    }
    reader.setCancelHandler {
      close(descriptor); done.signal()
    }
    reader.activate()
    print("read:", write(ends[1], "0123456789", 10), finished(done), bytes)
    close(ends[1])

    signal(SIGUSR1, SIG_IGN)
    let signals = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: queue)
    signals.setEventHandler { done.signal() }
    signals.setRegistrationHandler { kill(getpid(), SIGUSR1) }
    signals.activate()
    print("signal:", finished(done))
    signals.cancel()
  }

  static func data() {
    var data = DispatchData.empty
    for number in 0..<100 as Range<UInt8> { [number, number].withUnsafeBytes { data.append($0) } }
    print(
      "data:", data.count, data[100], data.subdata(in: 10..<14).map { $0 },
      data.enumerated().reduce(0) { $0 + Int($1.element) })
    nonisolated(unsafe) var regions = 0
    data.enumerateBytes { _, _, _ in regions += 1 }
    print("regions:", regions > 0, data.withUnsafeBytes { (start: UnsafePointer<UInt8>) in start[199] })
    let done = DispatchSemaphore(value: 0)
    do {
      let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 1)
      memory.initializeMemory(as: UInt8.self, repeating: 9)
      let owned = DispatchData(
        bytesNoCopy: UnsafeRawBufferPointer(memory),
        deallocator: .custom(nil) {
          memory.deallocate(); done.signal()
        })
      print("owned:", owned.count)
    }
    print("freed:", finished(done))
  }

  static func channels() {
    var ends: [Int32] = [0, 0]
    pipe(&ends)
    let queue = DispatchQueue(label: "channels")
    let done = DispatchSemaphore(value: 0)
    let (reading, writing) = (ends[0], ends[1])
    let input = DispatchIO(type: .stream, fileDescriptor: reading, queue: queue) { _ in
      close(reading); done.signal()
    }
    let output = DispatchIO(type: .stream, fileDescriptor: writing, queue: queue) { _ in
      close(writing); done.signal()
    }
    let bytes = [UInt8](repeating: 5, count: 300_000)
    output.write(offset: 0, data: bytes.withUnsafeBytes { DispatchData(bytes: $0) }, queue: queue) { isDone, _, error in
      if isDone { output.close(); print("written:", error) }
    }
    nonisolated(unsafe) var count = 0
    input.setLimit(lowWater: 1000)
    input.read(offset: 0, length: .max, queue: queue) { isDone, data, error in
      count += data?.count ?? 0
      if isDone { input.close(); print("read:", count, error) }
    }
    print("closed:", finished(done), finished(done))
  }
}
