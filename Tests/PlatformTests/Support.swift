// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

@testable import GrandCentral

/// A word that threads can sleep on, in memory that stays where it is.
final class FutexWord: Sendable {
  let word: Atomic<UInt32>

  init(_ value: UInt32 = 0) {
    word = Atomic(value)
  }

  /// unsafe: the word lives as long as the object, which the caller keeps.
  var address: UnsafeRawPointer {
    withUnsafePointer(to: word) { UnsafeRawPointer($0) }
  }
}

/// A thread of the layer under test, running a Swift closure that can be waited for.
final class TestThread: Sendable {
  private let done = FutexWord()
  private let body: @Sendable () -> Void

  init(_ name: String = "gc-test", stackSize: Int = 0, _ body: @escaping @Sendable () -> Void) throws {
    self.body = body
    let entry: GrandCentral.Thread.Body = { raw in
      let thread = Unmanaged<TestThread>.fromOpaque(raw!).takeRetainedValue()
      thread.body()
      // pairs with: `join` – publishes what the body did
      thread.done.word.store(1, ordering: .releasing)
      Futex.wake(thread.done.address, count: .max)
    }
    let raw = Unmanaged.passRetained(self).toOpaque()
    if let error = GrandCentral.Thread.spawn(name: ThreadName(name), stackSize: stackSize, body: entry, argument: raw) {
      Unmanaged<TestThread>.fromOpaque(raw).release()
      throw error
    }
  }

  func join() {
    // pairs with: the thread's end – publishes what its body did
    while done.word.load(ordering: .acquiring) == 0 { _ = Futex.wait(done.address, while: 0) }
  }
}

/// Turns until the condition holds; false when that takes so long that it never will.
func eventually(_ condition: () -> Bool) -> Bool {
  let guardTime = Deadline.after(30_000_000_000, on: .uptime)
  while !condition() {
    if guardTime.hasPassed() { return false }
    sched_yield()
  }
  return true
}

/// Values that several threads note.
final class Recorded<Value: Sendable>: @unchecked Sendable {  // why: `noted` is only touched under `mutex`
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var noted: [Value] = []

  init() {
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  func note(_ value: Value) {
    pthread_mutex_lock(mutex)
    noted.append(value)
    pthread_mutex_unlock(mutex)
  }

  var values: [Value] {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return noted
  }
}

/// Calls of the C library that Swift does not import.
enum LibC {
  static func threadID() -> Int32 {
    typealias Call = @convention(c) () -> Int32
    return function("gettid", Call.self)()
  }

  /// The size of the calling thread's stack.
  static func stackSize() -> Int {
    typealias Call = @convention(c) (pthread_t, UnsafeMutableRawPointer) -> Int32
    var attributes = pthread_attr_t()
    var size = 0
    let result = function("pthread_getattr_np", Call.self)(pthread_self(), &attributes)
    precondition(result == 0)
    pthread_attr_getstacksize(&attributes, &size)
    pthread_attr_destroy(&attributes)
    return size
  }

  /// The calling thread's processors, a bit each.
  static var affinity: [UInt8] {
    get {
      typealias Call = @convention(c) (Int32, Int, UnsafeMutableRawPointer) -> Int32
      var mask = [UInt8](repeating: 0, count: 128)
      let result = function("sched_getaffinity", Call.self)(0, mask.count, &mask)
      precondition(result == 0)
      return mask
    }
    set { setAffinity(newValue, of: 0) }
  }

  /// Of a thread; 0 is the calling one, the process's id its first.
  static func setAffinity(_ mask: [UInt8], of thread: Int32) {
    typealias Call = @convention(c) (Int32, Int, UnsafeRawPointer) -> Int32
    let result = function("sched_setaffinity", Call.self)(thread, mask.count, mask)
    precondition(result == 0)
  }

  /// unsafe: the type is that of the C library's manual.
  private static func function<Call>(_ name: String, _: Call.Type) -> Call {
    unsafeBitCast(dlsym(nil, name), to: Call.self)
  }
}
