// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Runs a source until its handler says that it has seen enough; shows what `note` makes of each event.
private func events<Source>(
  _ source: Source, until count: Int, _ note: @escaping (Log) -> Void, then: (Latch) -> Void = { _ in }
)
where Source: Any {
  let source = source as! DispatchSource
  let (log, enough, cancelled) = (Log(), Latch(), Latch())
  source.setEventHandler {
    note(log)
    if log.count == count {
      // Further events would be noted as well.
      source.cancel()
      enough.open()
    }
  }
  source.setCancelHandler { cancelled.open() }
  source.resume()
  then(enough)
  enough.wait()
  cancelled.wait()
  log.show("events:")
}

private func pipe() -> (read: Int32, write: Int32) {
  var ends: [Int32] = [0, 0]
  _ = Glibc.pipe(&ends)
  return (ends[0], ends[1])
}

let sourceScenarios: [(String, () -> Void)] = [
  (
    "source registration handlers, early and late",
    {
      let queue = DispatchQueue(label: "q")
      let source = DispatchSource.makeUserDataAddSource(queue: queue)
      let (log, first, second, last) = (Log(), Latch(), Latch(), Latch())
      source.setRegistrationHandler { log.add("first") }
      source.setRegistrationHandler {
        log.add("second")
        first.open()
      }
      source.setEventHandler {
        log.add("event")
        last.open()
      }
      source.resume()
      first.wait()
      source.setRegistrationHandler {
        log.add("late")
        second.open()
      }
      second.wait()
      source.suspend()
      source.add(data: 1)
      source.setRegistrationHandler { log.add("while suspended") }
      source.resume()
      last.wait()
      source.cancel()
      source.setRegistrationHandler { log.add("after the end") }
      pause(20, on: queue)
      log.show("handlers:")
    }
  ),
  (
    "source add, merged while suspended",
    {
      let source = DispatchSource.makeUserDataAddSource(queue: DispatchQueue(label: "q"))
      for number in 1...3 { source.add(data: UInt(number)) }
      events(source, until: 1) { $0.add("\(source.data)") }
      say("handle", source.handle, "mask", source.mask)
    }
  ),
  (
    "source or, merged while suspended",
    {
      let source = DispatchSource.makeUserDataOrSource(queue: DispatchQueue(label: "q"))
      for number in [1, 2, 8, 2] { source.or(data: UInt(number)) }
      events(source, until: 1) { $0.add("\(source.data)") }
    }
  ),
  (
    "source replace, the newest counts",
    {
      let source = DispatchSource.makeUserDataReplaceSource(queue: DispatchQueue(label: "q"))
      for number in [5, 9, 7] { source.replace(data: UInt(number)) }
      events(source, until: 1) { $0.add("\(source.data)") }
    }
  ),
  (
    "source add in the handler",
    {
      let source = DispatchSource.makeUserDataAddSource(queue: DispatchQueue(label: "q"))
      source.add(data: 1)
      events(source, until: 3) {
        $0.add("\(source.data)")
        source.add(data: source.data + 1)
      }
    }
  ),
  (
    "source add nothing",
    {
      let queue = DispatchQueue(label: "q")
      let source = DispatchSource.makeUserDataAddSource(queue: queue)
      source.add(data: 0)
      events(source, until: 1) {
        $0.add("\(source.data)")
      } then: { _ in
        pause(20, on: queue)
        source.add(data: 4)
      }
    }
  ),
  (
    "source signal",
    {
      signal(SIGUSR1, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: DispatchQueue(label: "q"))
      let registered = Latch()
      source.setRegistrationHandler { registered.open() }
      say("handle", source.handle == UInt(SIGUSR1), "mask", source.mask)
      events(source, until: 1) {
        $0.add("\(source.data)")
      } then: { _ in
        registered.wait()
        kill(getpid(), SIGUSR1)
      }
    }
  ),
  (
    "source read of a pipe",
    {
      let ends = pipe()
      _ = write(ends.write, "hello", 5)
      let source = DispatchSource.makeReadSource(fileDescriptor: ends.read, queue: DispatchQueue(label: "q"))
      say("handle", source.handle == UInt(ends.read), "mask", source.mask)
      events(source, until: 2) { log in
        var byte: UInt8 = 0
        log.add("\(source.data)")
        read(ends.read, &byte, 1)
      }
    }
  ),
  (
    "source read at the end of a pipe",
    {
      let ends = pipe()
      close(ends.write)
      let source = DispatchSource.makeReadSource(fileDescriptor: ends.read, queue: DispatchQueue(label: "q"))
      events(source, until: 1) { log in
        var byte: UInt8 = 0
        log.add("\(source.data) read \(read(ends.read, &byte, 1))")
      }
    }
  ),
  (
    "source write to a pipe",
    {
      let ends = pipe()
      let source = DispatchSource.makeWriteSource(fileDescriptor: ends.write, queue: DispatchQueue(label: "q"))
      events(source, until: 1) { $0.add("\(source.data > 0)") }
    }
  ),
  (
    "source read and write of one socket",
    {
      var ends: [Int32] = [0, 0]
      socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
      let queue = DispatchQueue(label: "q")
      let reads = DispatchSource.makeReadSource(fileDescriptor: ends[0], queue: queue)
      let writes = DispatchSource.makeWriteSource(fileDescriptor: ends[0], queue: queue)
      let writable = Latch()
      writes.setEventHandler {
        writes.cancel()
        writable.open()
      }
      writes.resume()
      writable.wait()
      _ = write(ends[1], "abc", 3)
      events(reads, until: 1) { log in
        log.add("\(reads.data)")
      }
    }
  ),
  (
    "source handler from a work item",
    {
      let source = DispatchSource.makeUserDataAddSource(queue: DispatchQueue(label: "q"))
      let (log, done) = (Log(), Latch())
      source.setEventHandler(
        handler: DispatchWorkItem {
          log.add("\(source.data)")
          source.cancel()
        })
      source.setCancelHandler(handler: DispatchWorkItem { done.open() })
      source.resume()
      source.add(data: 3)
      done.wait()
      log.show("events:")
    }
  ),
  (
    "source without a handler",
    {
      let source = DispatchSource.makeUserDataAddSource(queue: DispatchQueue(label: "q"))
      let done = Latch()
      source.setCancelHandler { done.open() }
      source.resume()
      source.add(data: 3)
      source.cancel()
      source.cancel()
      done.wait()
      say("cancelled", source.isCancelled)
    }
  ),
]
