// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization
import Testing

@testable import gcd

/// A descriptor that is closed twice closes, the second time, whatever another thread has opened in between.
@Suite("Descriptors are closed once")
struct DescriptorTests {
  /// Opens and closes descriptors, and counts those that somebody else has closed.
  private final class Neighbour: Sendable {
    let stops = Atomic(false)
    let rounds = Atomic(0)
    let losses = Atomic(0)

    func run() {
      while !stops.load(ordering: .acquiring) {
        let descriptor = dup(0)
        if descriptor < 0 { continue }
        for _ in 0..<8 where fcntl(descriptor, F_GETFD) < 0 {
          losses.add(1, ordering: .relaxed)
          break
        }
        close(descriptor)
        rounds.add(1, ordering: .relaxed)
      }
    }
  }

  /// Calls `fail` over and over beside the neighbour.
  private func lossesBeside(_ fail: () -> Void) -> Int {
    let neighbour = Neighbour()
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { argument in
        Unmanaged<Neighbour>.fromOpaque(argument!).takeUnretainedValue().run()
        return nil
      }, Unmanaged.passUnretained(neighbour).toOpaque())
    #expect(code == 0)
    for _ in 0..<5_000 { fail() }
    // On one processor, the neighbour has its turns as well.
    while neighbour.rounds.load(ordering: .relaxed) < 1_000 { fail() }
    neighbour.stops.store(true, ordering: .releasing)
    pthread_join(thread, nil)
    return neighbour.losses.load(ordering: .relaxed)
  }

  @Test("by a server whose port is taken")
  func server() throws {
    let server = try WebServer(port: 0)
    #expect(lossesBeside { #expect(throws: WebServer.Failure.self) { try WebServer(port: server.port) } } == 0)
  }

  @Test("by a trace that is a folder")
  func trace() {
    #expect(lossesBeside { #expect(throws: TraceFile.Failure.self) { _ = try TraceFile("/") } } == 0)
  }
}
