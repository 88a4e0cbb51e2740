// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Threads of the operating system: starting them, and what the running one can ask about itself.
enum Thread {
  typealias Body = @convention(c) (UnsafeMutableRawPointer?) -> Void

  /// Starts a detached thread that runs `body(argument)`.
  ///
  /// It blocks the signals that the program's threads blocked when the first thread was started, so that a child which the
  /// body starts has the mask that it would have from the program's own threads.
  /// - Parameters:
  ///   - stackSize: Bytes; 0 takes what a program's own threads have with glibc.
  /// - Returns: nil, or why there is no thread.
  static func spawn(
    name: ThreadName, stackSize: Int = 0, body: @escaping Body, argument: UnsafeMutableRawPointer?
  ) -> Errno? {
    if let world = World.current {
      world.start(name.text) { body(argument) }
      return nil
    }
    // unsafe: the record belongs to the new thread once it has started, and to this function before. It lives as long as the
    // thread: with its first `free` a thread gets an arena of the allocator, and its first item would wait for that.
    guard let memory = gc_malloc(MemoryLayout<StartRecord>.size) else { return .noMemory }
    let record = memory.bindMemory(to: StartRecord.self, capacity: 1)
    record.initialize(to: StartRecord(body: body, argument: argument, name: name))
    let entry: Body = { raw in
      let record = raw!.assumingMemoryBound(to: StartRecord.self)
      let start = record.move()
      start.name.apply()
      start.body(start.argument)
      gc_free(raw)
    }
    let result = gc_thread_start(entry, record, stackSize)
    if result == 0 { return nil }
    gc_free(record)
    return Errno(code: -result)
  }

  /// The calling thread begins the body of a once, or ends it: others may wait for it meanwhile.
  static func enterBody() { gc_thread_enter_body() }
  static func leaveBody() { gc_thread_leave_body() }
  static var isInBody: Bool { gc_thread_is_in_body() }

  /// The address of the call of a thread that waits while this one runs its item; 0 without one. Layer 4 has it.
  static var remoteCall: UInt {
    get { UInt(gc_thread_remote_call()) }
    set { gc_thread_set_remote_call(newValue) }
  }

  /// Whether the calling thread is the one that runs the main queue's items. Under an `async` main that need not be the
  /// process's first thread: the toolchain gives that one up, and runs the main actor elsewhere.
  static var runsMainQueue: Bool {
    if World.isSimulated { return World.isFirst }
    #if hasFeature(Embedded) || GRANDCENTRAL_DROPIN
      return isMain
    #else
      return isMain || ToolchainMain.isCurrent
    #endif
  }

  /// Names the calling thread, as debuggers and `top` show it.
  static func setName(_ name: ThreadName) {
    name.apply()
  }

  /// The name of a thread of this process; nil when the system does not say.
  static func name(of thread: UInt32) -> String? {
    guard let file = FileDescriptor.openForReading("/proc/self/task/" + String(thread) + "/comm") else { return nil }
    return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer -> String? in
      // The name is followed by a line break.
      let count = file.read(into: buffer) - 1
      return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
  }

  /// Runs `hook` when the calling thread ends. One hook a thread: a second call replaces the first one's.
  @discardableResult
  static func atExit(_ hook: @escaping @convention(c) () -> Void) -> Errno? {
    let result = gc_thread_at_exit(hook)
    return result == 0 ? nil : Errno(code: -result)
  }

  /// The kernel's id of the calling thread, never 0. One load after the first call.
  @inline(__always)
  static var id: UInt32 { gc_thread_id() }

  /// The kernel's id of the process's first thread.
  static var mainID: UInt32 { gc_main_thread_id() }

  /// Whether the calling thread is the process's first one.
  @inline(__always)
  static var isMain: Bool { gc_main_thread_id() == id }

  /// How many forks lie between this process and the one that was started.
  static var forkGeneration: UInt32 { gc_fork_generation() }

  /// Tells the processor that this is a spin loop.
  @inline(__always)
  static func pause() { gc_pause() }

  /// Sleeps in the kernel: for back-off in cold paths, never to synchronise.
  static func sleep(nanoseconds: UInt64) {
    if let world = World.current { return world.sleep(nanoseconds) }
    gc_nanosleep(nanoseconds)
  }

  /// What to ask the kernel for so that a wait in its poll ends `timeout` from now, in nanoseconds.
  ///
  /// The kernel lets a timed wait last a little longer than asked for, so that wake-ups can share an interrupt: a thousandth
  /// of it, 50 µs at least. It uses that up unless another interrupt comes meanwhile, and then the wait ends earlier. Its
  /// caller looks at the clock, and waits for the rest. The thread's own timer slack stays as it is: threads and processes
  /// that the program's code starts on it would inherit it.
  static func exactWait(_ timeout: UInt64) -> UInt64 {
    if World.isSimulated { return timeout }
    let slack = max(50_000, min(timeout / 1_000, 100_000_000))
    return timeout == .max || timeout <= slack ? timeout : timeout - slack
  }

  /// The CPU time that a thread of this process has used, in nanoseconds; 0 when it cannot be read.
  static func processorTime(of thread: UInt32) -> UInt64 {
    // No time passes while a simulated thread runs.
    World.isSimulated ? 0 : gc_clock_thread_cpu(thread)
  }

  /// What the system says of a thread.
  enum Activity {
    /// It runs, or would run if it had a processor.
    case runnable
    /// It waits in the kernel for something that is short as a rule: the process's memory map, a page of a file.
    case waitsBriefly
    case waits
  }

  /// What a thread of this process does. Nil when the system does not say: there is no descriptor left to ask with, or no
  /// `/proc`.
  static func activity(of thread: UInt32) -> Activity? {
    // Time passes when all simulated threads wait.
    if World.isSimulated { return .waits }
    guard let file = FileDescriptor.openForReading("/proc/self/task/" + String(thread) + "/stat") else { return nil }
    return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer -> Activity? in
      let count = file.read(into: buffer)
      // The name stands in parentheses and may contain some: the state is the letter after the last ')'.
      guard count > 2, let end = buffer[..<count].lastIndex(of: UInt8(ascii: ")")), end + 2 < count else {
        return nil
      }
      switch buffer[end + 2] {
      case UInt8(ascii: "R"): return .runnable
      case UInt8(ascii: "D"): return .waitsBriefly
      default: return .waits
      }
    }
  }
}

private struct StartRecord {
  let body: Thread.Body
  let argument: UnsafeMutableRawPointer?
  let name: ThreadName
}
