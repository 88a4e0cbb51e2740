// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Lines in the order in which they came, from any thread.
final class Log: @unchecked Sendable {  // guarded by the mutex
  private var mutex = pthread_mutex_t()
  private var lines: [String] = []

  init() { pthread_mutex_init(&mutex, nil) }

  func add(_ line: String) {
    pthread_mutex_lock(&mutex)
    lines.append(line)
    pthread_mutex_unlock(&mutex)
  }

  func add(_ value: Int) { add(String(value)) }

  var all: [String] {
    pthread_mutex_lock(&mutex)
    defer { pthread_mutex_unlock(&mutex) }
    return lines
  }

  var count: Int { all.count }
  func show(_ title: String = "") { print(title, all.joined(separator: " ")) }
  func showSorted(_ title: String = "") { print(title, all.sorted().joined(separator: " ")) }
}

/// Opened once.
final class Latch: @unchecked Sendable {  // a semaphore, which Dispatch does not call Sendable in every mode
  private let semaphore = DispatchSemaphore(value: 0)

  func open() { semaphore.signal() }
  func wait() {
    semaphore.wait()
    semaphore.signal()
  }
}

/// A number under a lock.
final class Count: @unchecked Sendable {  // a log, which has a mutex
  private let log = Log()

  func add() { log.add("") }
  var value: Int { log.count }
}

/// Lets time go by that timers can use: an end that comes after what is due before.
func pause(_ milliseconds: Int, on queue: DispatchQueue) {
  let latch = Latch()
  queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { latch.open() }
  latch.wait()
}

func say(_ title: String, _ values: Any...) {
  print(title, values.map { "\($0)" }.joined(separator: " "))
}
