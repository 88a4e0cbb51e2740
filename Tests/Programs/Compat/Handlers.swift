// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch

// Every function that takes a closure, called from a class on the main actor, from one without isolation, and with
// closures that capture what is not Sendable.

@MainActor final class Screen {
  private var count = 0
  private var timer: (any DispatchSourceTimer)?
  private var pending: DispatchWorkItem?

  func items() {
    let item = DispatchWorkItem { self.count += 1 }
    pending = item
    item.notify(queue: .main) { self.count += 1 }
    item.notify(qos: .utility, flags: .barrier, queue: .main) { [weak self] in self?.count += 1 }
    pending = DispatchWorkItem(qos: .utility, flags: [.enforceQoS]) { [weak self] in self?.count += 1 }
    DispatchQueue.main.async(execute: item)
    DispatchQueue.main.async { self.count += 1 }
    DispatchQueue.main.sync { self.count += 1 }
  }

  func groups(_ group: DispatchGroup) {
    group.notify(queue: .main) { self.count += 1 }
    group.notify(qos: .default, flags: [], queue: .main) { [weak self] in self?.count += 1 }
    group.notify(queue: .main, work: DispatchWorkItem { self.count += 1 })
  }

  func sources() {
    let timer = DispatchSource.makeTimerSource(queue: .main)
    timer.schedule(deadline: .now(), repeating: 1, leeway: .milliseconds(10))
    timer.setEventHandler { [weak self] in self?.count += 1 }
    timer.setCancelHandler { self.count += 1 }
    timer.setRegistrationHandler { self.count += 1 }
    timer.setEventHandler(qos: .utility, flags: []) { self.count += 1 }
    timer.resume()
    self.timer = timer
    let handler: DispatchSourceHandler = { self.count += 1 }
    timer.setEventHandler(handler: handler)
    timer.setCancelHandler(handler: nil)
    timer.setEventHandler(handler: DispatchWorkItem { self.count += 1 })
    let clicks = DispatchSource.makeUserDataAddSource(queue: .main)
    clicks.setEventHandler { self.count += Int(clicks.data) }
    clicks.activate()
  }

  func channels(_ channel: DispatchIO) {
    channel.read(offset: 0, length: 1, queue: .main) { _, data, _ in self.count += data?.count ?? 0 }
    channel.write(offset: 0, data: .empty, queue: .main) { _, _, _ in self.count += 1 }
    channel.barrier { self.count += 1 }
    _ = DispatchIO(type: .stream, fileDescriptor: 0, queue: .main) { _ in self.count += 1 }
    _ = DispatchIO(type: .stream, path: "/tmp", oflag: 0, mode: 0, queue: .main) { _ in self.count += 1 }
    _ = DispatchIO(type: .random, io: channel, queue: .main, cleanupHandler: { _ in self.count += 1 })
    DispatchIO.read(fromFileDescriptor: 0, maxLength: 1, runningHandlerOn: .main) { _, _ in self.count += 1 }
    DispatchIO.write(toFileDescriptor: 1, data: .empty, runningHandlerOn: .main) { _, _ in self.count += 1 }
  }

  func data(_ bytes: UnsafeRawBufferPointer) {
    _ = DispatchData(bytesNoCopy: bytes, deallocator: .custom(.main) { self.count += 1 })
    DispatchData(bytes: bytes).enumerateBytes { part, _, _ in self.count += part.count }
    DispatchData(bytes: bytes).withUnsafeBytes { (start: UnsafePointer<UInt8>) in self.count += Int(start.pointee) }
  }

  func synchronous(_ queue: DispatchQueue) {
    queue.sync { self.count += 1 }
    queue.sync(flags: .barrier) { self.count += 1 }
    let doubled = queue.sync { count * 2 }
    DispatchQueue.concurrentPerform(iterations: 3) { _ in _ = doubled }
  }
}

final class Parser {
  var seen = 0

  func run(on queue: DispatchQueue, group: DispatchGroup, channel: DispatchIO) {
    var total = 0
    let item = DispatchWorkItem {
      total += 1
      self.seen += 1
    }
    queue.async(execute: item)
    queue.async(group: group, execute: item)
    queue.asyncAfter(deadline: .now() + 0.1, execute: item)
    queue.asyncAfter(wallDeadline: .now() + .seconds(1), execute: item)
    queue.sync(execute: item)
    item.notify(queue: queue) { total += 1 }
    group.notify(queue: queue) { self.seen += total }
    queue.sync { total += 1 }
    channel.read(offset: 0, length: .max, queue: queue) { done, data, error in
      total += data?.count ?? 0
      if done || error != 0 { self.seen += total }
    }
    channel.barrier { total = 0 }
    let source = DispatchSource.makeReadSource(fileDescriptor: 0, queue: queue)
    source.setEventHandler { total += Int(source.data) }
    source.setCancelHandler { self.seen = total }
    source.resume()
    item.wait()
    item.perform()
  }
}
