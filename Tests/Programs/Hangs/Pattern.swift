// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Synchronization

/// A way to hang.
struct Pattern: Sendable {
  let name: String
  /// Whether threads wait for each other through queues, groups or items: the library itself tells of it.
  let isCycle: Bool
  /// What a good explanation must name.
  let says: [String]
  /// Called on the main thread; may return.
  let run: @Sendable () -> Void

  static func cycle(_ name: String, says: String..., run: @escaping @Sendable () -> Void) -> Pattern {
    Pattern(name: name, isCycle: true, says: says, run: run)
  }

  static func other(_ name: String, says: String..., run: @escaping @Sendable () -> Void) -> Pattern {
    Pattern(name: name, isCycle: false, says: says, run: run)
  }
}

/// The moment at which a hang is complete: so many threads have come to their last wait.
final class Formation: Sendable {
  private let left: Atomic<Int>
  private let everybody: Latch

  init(_ threads: Int = 1) {
    left = Atomic(threads)
    everybody = Latch(threads)
  }

  /// The calling thread holds what the others will wait for. Returns when all of them do.
  func meet() {
    everybody.open()
    everybody.wait()
  }

  /// The calling thread waits for ever from here on.
  func wait<Result>(_ body: () -> Result) -> Result {
    if left.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 { Watch.formed() }
    return body()
  }
}

/// Reads the process's own reports, where HANGS_WATCH asks for it.
enum Watch {
  private static let milliseconds = getenv("HANGS_WATCH").flatMap { UInt32(String(cString: $0)) }
  private static let reported = Latch()
  /// By how much, at most, the machine was late for a thread of this process that sleeps for a millisecond, or computes for five.
  private static let lateness = Atomic<UInt64>(0)
  /// What such a thread has lost in sum.
  private static let lost = Atomic<UInt64>(0)
  /// When it notes something next, unless the machine is late for it.
  private static let nextNote = Atomic<UInt64>(.max)
  /// Whether the library is to tell of the pattern.
  private static let isTold = Atomic(false)

  static func begin(_ pattern: Pattern) {
    guard milliseconds != nil, let ends = Kernel.closeOnExecPipe() else { return }
    let isOff = getenv("GRANDCENTRAL_CYCLES").map { String(cString: $0) } == "off"
    isTold.store(pattern.isCycle && !isOff, ordering: .relaxed)
    let errors = dup(2)
    dup2(ends.writeEnd, 2)
    _ = PlainThread { forward(from: ends.readEnd, to: errors) }
  }

  /// The last wait begins.
  static func formed() {
    let now = monotonicNanoseconds()
    put("formed=\(now)\n", to: 1)
    guard let milliseconds else { return }
    nextNote.store(now + 1_000_000, ordering: .relaxed)
    _ = PlainThread { measureLateness(since: now) }
    _ = PlainThread {
      if isTold.load(ordering: .relaxed) { reported.wait() }
      usleep(milliseconds * 1_000)
      put("late=\(lateness.load(ordering: .relaxed))\n", to: 1)
      _exit(0)
    }
  }

  /// The machine may be late for the calling thread's beginning, too.
  private static func measureLateness(since begin: UInt64) {
    var start = begin
    while true {
      usleep(1_000)
      let awake = monotonicNanoseconds()
      note(awake - start - 1_000_000)
      nextNote.store(awake + 5_000_000, ordering: .relaxed)
      let computed = threadNanoseconds()
      while threadNanoseconds() - computed < 5_000_000 {}
      start = monotonicNanoseconds()
      let (took, used) = (start - awake, threadNanoseconds() - computed)
      if took > used { note(took - used) }
      nextNote.store(start + 1_000_000, ordering: .relaxed)
    }
  }

  /// What the thread that measures has lost by `now`, with what it cannot have noted yet.
  private static func lost(by now: UInt64) -> UInt64 {
    let due = nextNote.load(ordering: .relaxed)
    return lost.load(ordering: .relaxed) + (now > due ? now - due : 0)
  }

  private static func note(_ late: UInt64) {
    lateness.max(late, ordering: .relaxed)
    lost.wrappingAdd(late, ordering: .relaxed)
  }

  private static func forward(from reading: Int32, to writing: Int32) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(reading, &buffer, buffer.count)
      if count <= 0 { return }
      let text = String(decoding: buffer[..<count], as: UTF8.self)
      put(text, to: writing)
      for _ in 0..<text.split(separator: "\n").count(where: { $0.contains("GC0032") }) {
        let now = monotonicNanoseconds()
        put("reported=\(now)\nlost=\(lost(by: now))\n", to: 1)
        reported.open()
      }
    }
  }
}

func put(_ text: String, to descriptor: Int32) {
  var bytes = Array(text.utf8)
  _ = write(descriptor, &bytes, bytes.count)
}
