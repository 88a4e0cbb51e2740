// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import GrandCentralTesting
import Testing

// Outside of the tests, which are macros' expansions: there lines have no file.
private func awaitEvent(of source: any DispatchSourceProtocol, then change: () -> Void = {}) {
  let came = DispatchSemaphore(value: 0)
  source.setEventHandler { came.signal() }
  source.activate()
  change()
  came.wait()
}

private func readSource(_ descriptor: Int32, _ queue: DispatchQueue? = nil) -> any DispatchSourceRead {
  DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue ?? DispatchQueue(label: "reader"))
}

/// Anything may send to it, and nothing does.
private func openSocket() throws -> Int32 {
  let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
  try require(descriptor >= 0)
  return descriptor
}

private func openPipe() throws -> (input: Int32, output: Int32) {
  var ends: [Int32] = [0, 0]
  try require(pipe(&ends) == 0)
  return (ends[0], ends[1])
}

/// Beside a process that has all that this one has open.
private func withChild(_ body: (pid_t) throws -> Void) throws {
  let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("600"), nil]
  defer { for argument in arguments { free(argument) } }
  var child = pid_t()
  try require(posix_spawn(&child, "/bin/sleep", nil, nil, arguments, nil) == 0)
  defer {
    kill(child, SIGKILL)
    waitpid(child, nil, 0)
  }
  try body(child)
}

private func failure(_ body: @escaping (Simulation) throws -> Void) throws -> SimulationFailure {
  try unwrap(Simulation.explore(runs: 1, body).failure)
}

private func escape(_ body: @escaping (Simulation) throws -> Void) throws -> String {
  let found = try failure(body)
  guard case .escape(let message) = found.reason else { throw found }
  return message
}

private func deadlock(_ body: @escaping (Simulation) throws -> Void) throws -> [String] {
  let found = try failure(body)
  guard case .deadlock(let waits) = found.reason else { throw found }
  return waits
}

@Suite("Events from outside of a run", .serialized, .timeLimit(.minutes(30)))
struct OutsideEventTests {
  private static let outside = "no thread can go on but by what is outside: "

  @Test("V1: a run that only an event from outside could let go on is an escape, with its source")
  func source() async {
    await #expect(processExitsWith: .success) {
      let socket = try openSocket()
      let body = try failure { _ in awaitEvent(of: readSource(socket)) }
      guard case .escape(let message) = body.reason else { throw body }
      let source = "the read source on the queue \"reader\" waits for descriptor \(socket), socket:["
      try require(message.hasPrefix(Self.outside + source), message)
      try require(message.hasSuffix("]; test waits for a semaphore"), message)
      try require(!body.token.isEmpty && !body.timeline.isEmpty)
      try require(body.description.contains("test waits at OutsideEventTests.swift:"), body.description)
      // The body has returned, and an item waits.
      let item = try escape { _ in
        let source = readSource(socket)
        DispatchQueue(label: "waiter").async { awaitEvent(of: source) }
      }
      try require(item.hasPrefix(Self.outside + source), item)
      try require(item.hasSuffix(", inside an item of \"waiter\", waits for a semaphore"), item)
    }
  }

  @Test("V1: a source that nobody waits for is no failure")
  func unawaited() async {
    await #expect(processExitsWith: .success) {
      let socket = try openSocket()
      try Simulation.check(runs: 1) { sim in
        let source = readSource(socket)
        source.activate()
        sim.run()
        source.cancel()
      }
    }
  }

  @Test("V1: signals, processes and files are outside, and so is a pipe that a child has as well")
  func kinds() async {
    await #expect(processExitsWith: .success) {
      signal(SIGUSR1, SIG_IGN)
      let signals = try escape { _ in
        awaitEvent(of: DispatchSource.makeSignalSource(signal: SIGUSR1, queue: DispatchQueue(label: "signals")))
      }
      try require(signals.contains("the signal source on the queue \"signals\" waits for signal \(SIGUSR1);"), signals)
      let folder = open("/", O_RDONLY | O_CLOEXEC)
      let files = try escape { _ in
        awaitEvent(
          of: DispatchSource.makeFileSystemObjectSource(
            fileDescriptor: folder, eventMask: .rename, queue: DispatchQueue(label: "files")))
      }
      try require(
        files.contains("the file system source on the queue \"files\" waits for descriptor \(folder), /;"), files)
      let pipe = try openPipe()
      try withChild { child in
        let process = try escape { _ in
          awaitEvent(
            of: DispatchSource.makeProcessSource(
              identifier: child, eventMask: .exit, queue: DispatchQueue(label: "children")))
        }
        try require(
          process.contains("the process source on the queue \"children\" waits for process \(child);"), process)
        let ends = try escape { _ in awaitEvent(of: readSource(pipe.input)) }
        try require(ends.contains(" waits for descriptor \(pipe.input), pipe:["), ends)
      }
    }
  }

  @Test("V1: a read of a channel, and one without a channel, that only a child could end is an escape")
  func channels() async {
    await #expect(processExitsWith: .success) {
      let (pipe, other) = try (openPipe(), openPipe())
      try withChild { _ in
        for end in [pipe.output, other.output] { close(end) }
        let channel = try escape { _ in
          let (queue, came) = (DispatchQueue(label: "channel"), DispatchSemaphore(value: 0))
          let channel = DispatchIO(type: .stream, fileDescriptor: pipe.input, queue: queue) { _ in }
          channel.read(offset: 0, length: 1, queue: queue) { _, _, _ in came.signal() }
          came.wait()
        }
        try require(
          channel.contains(
            "the read of DispatchIO on the queue \"channel\" waits for descriptor \(pipe.input), pipe:["), channel)
        let single = try escape { _ in
          let (queue, came) = (DispatchQueue(label: "single"), DispatchSemaphore(value: 0))
          DispatchIO.read(fromFileDescriptor: other.input, maxLength: 1, runningHandlerOn: queue) { _, _ in
            came.signal()
          }
          came.wait()
        }
        try require(
          single.contains("the read of DispatchIO on the queue \"single\" waits for descriptor \(other.input), pipe:["),
          single)
      }
    }
  }

  @Test("V1: a pipe or a pair of sockets inside of the process is named in the deadlock")
  func inside() async {
    await #expect(processExitsWith: .success) {
      for isSocket in [false, true] {
        let waits = try deadlock { sim in
          var ends: [Int32] = [0, 0]
          sim.expect((isSocket ? socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) : pipe(&ends)) == 0)
          awaitEvent(of: readSource(ends[0]))
        }
        try require(waits.count == 2 && waits[0] == "test waits for a semaphore", "\(waits)")
        try require(waits[1].hasPrefix("the read source on the queue \"reader\" waits for descriptor "), "\(waits)")
        try require(waits[1].hasSuffix("], which only the process makes ready"), "\(waits)")
      }
    }
  }

  @Test("V1: where a source's handler cannot run, it is a deadlock, whatever is watched")
  func cannotRun() async {
    await #expect(processExitsWith: .success) {
      let socket = try openSocket()
      let cancelled = try deadlock { _ in
        let source = readSource(socket)
        awaitEvent(of: source) { source.cancel() }
      }
      try require(cancelled == ["test waits for a semaphore"], "\(cancelled)")
      let suspended = try deadlock { _ in
        let source = readSource(socket)
        awaitEvent(of: source) { source.suspend() }
      }
      try require(suspended == ["test waits for a semaphore"], "\(suspended)")
      let queue = try deadlock { sim in
        let queue = DispatchQueue(label: "halted")
        awaitEvent(of: readSource(socket, queue)) {
          sim.run()
          queue.suspend()
        }
      }
      try require(queue == ["test waits for a semaphore"], "\(queue)")
      let main = try deadlock { sim in awaitEvent(of: readSource(socket, .main)) { sim.run() } }
      try require(main == ["test waits for a semaphore"], "\(main)")
      let own = try deadlock { sim in
        let (queue, came) = (DispatchQueue(label: "own"), DispatchSemaphore(value: 0))
        let source = readSource(socket, queue)
        source.setEventHandler { came.signal() }
        source.activate()
        sim.run()
        queue.async { came.wait() }
        sim.run()
      }
      try require(own.count == 1 && own[0].hasSuffix(", inside an item of \"own\", waits for a semaphore"), "\(own)")
    }
  }

  @Test("V1: threads that wait for each other in a circle are a deadlock, whatever comes from outside")
  func circle() async {
    await #expect(processExitsWith: .success) {
      let socket = try openSocket()
      let waits = try deadlock { sim in
        readSource(socket).activate()
        let (first, second) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"))
        let (hasFirst, hasSecond) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        first.async {
          hasFirst.signal()
          hasSecond.wait()
          second.sync {}
        }
        second.async {
          hasSecond.signal()
          hasFirst.wait()
          first.sync {}
        }
        sim.run()
      }
      try require(waits.count == 2 && waits[1].hasSuffix("holds: the circle is closed"), "\(waits)")
    }
  }
}
