// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import GrandCentralTesting
import Testing

/// The process's descriptors.
enum OpenDescriptors {
  static var count: Int { (0..<1_024).count { fcntl(Int32($0), F_GETFD) >= 0 } }

  /// Swift Concurrency's pool is the toolchain's. It makes a timer of the kernel's once, when work has waited for a while, and keeps it: on a
  /// busy machine that may come late. Has it made one.
  static func settle() async throws {
    repeat {
      try await Task.sleep(for: .milliseconds(20), clock: .suspending)
    } while !(0..<1_024).contains { kind(of: $0).hasSuffix("[timerfd]") }
  }

  private static func kind(of descriptor: Int) -> String {
    var target = [UInt8](repeating: 0, count: 256)
    let length = target.withUnsafeMutableBytes { bytes in
      bytes.withMemoryRebound(to: CChar.self) { readlink("/proc/self/fd/\(descriptor)", $0.baseAddress!, $0.count) }
    }
    return String(decoding: target.prefix(max(0, length)), as: UTF8.self)
  }
}

@Suite("Descriptors that runs leave", .serialized, .timeLimit(.minutes(30)))
struct DescriptorsOfRunsTests {
  /// How many more descriptors are open behind so many runs than before; behind a few that make what is made once.
  private static func left(by runs: Int, _ body: @escaping (Simulation) throws -> Void) async throws -> Int {
    try await OpenDescriptors.settle()
    try Simulation.check(runs: 3, body)
    let before = OpenDescriptors.count
    try Simulation.check(runs: runs, body)
    return OpenDescriptors.count - before
  }

  @Test("V1: a run that has read a file by a channel with a path leaves none")
  func file() async {
    await #expect(processExitsWith: .success) {
      let left = try await Self.left(by: 20) { sim in
        let count = Box(0)
        let queue = DispatchQueue(label: "cleanup")
        let channel = try unwrap(
          DispatchIO(type: .random, path: "/proc/self/exe", oflag: O_RDONLY, mode: 0, queue: queue) { _ in })
        channel.read(offset: 0, length: 800, queue: .global()) { isDone, data, _ in
          count.value += data?.count ?? 0
          if isDone { channel.close() }
        }
        sim.run()
        sim.expect(count.value == 800, "\(count.value)")
      }
      try require(left == 0, "\(left)")
    }
  }

  @Test("V1: a run that has watched a file leaves none")
  func watchedFile() async {
    await #expect(processExitsWith: .success) {
      let left = try await Self.left(by: 20) { sim in
        let file = open("/tmp", O_RDONLY)
        sim.expect(file >= 0)
        let source = DispatchSource.makeFileSystemObjectSource(
          fileDescriptor: file, eventMask: .rename, queue: DispatchQueue(label: "watch"))
        source.setEventHandler {}
        source.setCancelHandler { close(file) }
        source.resume()
        sim.advance(by: .seconds(1))
        source.cancel()
      }
      try require(left == 0, "\(left)")
    }
  }

  @Test("V1: a run that has had a signal source leaves none")
  func signals() async {
    await #expect(processExitsWith: .success) {
      signal(SIGUSR1, SIG_IGN)
      let left = try await Self.left(by: 20) { sim in
        let count = Box(0)
        let source = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: DispatchQueue(label: "signals"))
        source.setEventHandler {
          count.value += 1
          source.cancel()
        }
        source.resume()
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(1)) { kill(getpid(), SIGUSR1) }
        // The kernel may choose a thread for the signal that gets a processor later.
        var turns = 0
        repeat {
          sim.run()
          turns += 1
          if count.value == 0 { usleep(1_000) }
        } while count.value == 0 && turns < 60_000
        sim.expect(count.value == 1, "\(count.value)")
      }
      try require(left == 0, "\(left)")
    }
  }

  @Test("V1: the process's own signal sources go on behind a run that has had some, and lose nothing meanwhile")
  func ownSignals() async {
    await #expect(processExitsWith: .success) {
      let (seen, counts) = (DispatchSemaphore(value: 0), Box([0, 0]))
      let queue = DispatchQueue(label: "own signals")
      let sources = [SIGUSR1, SIGUSR2].enumerated().map { index, number in
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        source.setEventHandler { [unowned source] in
          counts.value[index] += Int(source.data)
          seen.signal()
        }
        source.activate()
        return source
      }
      queue.sync {}
      try Simulation.check(runs: 2) { sim in
        let source = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: DispatchQueue(label: "signals"))
        source.setEventHandler {}
        source.activate()
        sim.advance(by: .seconds(1))
        source.cancel()
        sim.run()
        kill(getpid(), SIGUSR2)
      }
      seen.wait()
      kill(getpid(), SIGUSR1)
      seen.wait()
      try queue.sync { try require(counts.value == [1, 2], "\(counts.value)") }
      withExtendedLifetime(sources) {}
    }
  }
}
