// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchSupport

/// The processors that the process may use.
public enum Processors {
  public static let usable: [Int32] = {
    var processors = [Int32](repeating: 0, count: 1024)
    let count = bench_usable_processors(&processors, Int32(processors.count))
    return Array(processors.prefix(Int(count)))
  }()
}

/// Threads that begin together.
public enum Crew {
  private final class Member: Sendable {
    let index: Int
    let ready: Countdown
    let go: Latch
    let body: @Sendable (Int) -> Void

    init(index: Int, ready: Countdown, go: Latch, body: @escaping @Sendable (Int) -> Void) {
      self.index = index
      self.ready = ready
      self.go = go
      self.body = body
    }
  }

  /// Starts one thread and does not wait for it.
  public static func start(_ body: @escaping @Sendable () -> Void) {
    let member = Member(index: 0, ready: Countdown(1), go: Latch(), body: { _ in body() })
    _ = bench_thread_start(-1, entry, Unmanaged.passRetained(member).toOpaque())
    member.go.open()
  }

  private static let entry: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
    // unsafe: balances the retain at the start of this thread
    let member = Unmanaged<Member>.fromOpaque(context!).takeRetainedValue()
    member.ready.arrive()
    member.go.wait()
    member.body(member.index)
  }

  /// Calls the body with 0..<threads, each on a thread of its own, and returns when all have returned. The meter
  /// starts when all threads are ready.
  ///
  /// Pinned threads take the usable processors in turn; a contended operation that the kernel runs on one processor
  /// measures nothing.
  public static func run(_ threads: Int, pinned: Bool, meter: Meter, body: @escaping @Sendable (Int) -> Void) {
    let ready = Countdown(threads)
    let go = Latch()
    let processors = Processors.usable
    let handles = (0..<threads).map { index in
      let processor = pinned ? processors[index % processors.count] : -1
      let member = Member(index: index, ready: ready, go: go, body: body)
      return bench_thread_start(processor, entry, Unmanaged.passRetained(member).toOpaque())
    }
    ready.wait()
    meter.start()
    go.open()
    for handle in handles { bench_thread_join(handle) }
  }
}
