// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// A cache makes its value once, or so it thinks: it looks in one item, and sets the value in another one. Repaired, it looks again where
// it sets it. Around that there is what Swift programs have: Foundation's locks, threads and dates, a Mutex that
// is waited for, tasks and actors, for hours.

import Dispatch
import Foundation
import Synchronization

final class Cache: @unchecked Sendable {  // guarded by its queue, and `made` by its lock
  private let queue = DispatchQueue(label: "cache", attributes: .concurrent)
  private let lock = NSLock()
  private var value: Int?
  private(set) var made = 0

  func get() -> Int {
    if let value = queue.sync(execute: { value }) { return value }
    #if REPAIRED
      return queue.sync(flags: .barrier) {
        if let value { return value }
        let new = make()
        value = new
        return new
      }
    #else
      let new = make()
      queue.async(flags: .barrier) { self.value = new }
      return new
    #endif
  }

  private func make() -> Int {
    lock.lock()
    defer { lock.unlock() }
    made += 1
    return 42
  }
}

final class Bell: Sendable {
  private let rings = Mutex(0)
  func ring() {
    rings.withLock {
      usleep(0)
      $0 += 1
    }
  }
  var count: Int { rings.withLock { $0 } }
}

actor Visits {
  private(set) var count = 0
  func add() { count += 1 }
}

@main
struct Program {
  static func main() async throws {
    let (cache, visits, bell, begin) = (Cache(), Visits(), Bell(), Date())
    let thread = Thread {
      Thread.sleep(forTimeInterval: 3_600)
      _ = cache.get()
      bell.ring()
    }
    thread.start()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          try? await Task.sleep(for: .seconds(3_600))
          _ = cache.get()
          bell.ring()
          await visits.add()
        }
      }
    }
    while !thread.isFinished { usleep(10_000) }
    let (count, seconds) = (await visits.count, Date().timeIntervalSince(begin))
    print("made \(cache.made) times, \(count) visits, \(Int(seconds)) s")
    exit(cache.made == 1 && count == 2 && bell.count == 3 && Int(seconds) == 3_600 ? 0 : 1)
  }
}
