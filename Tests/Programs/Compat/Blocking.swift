// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch

// Async code that blocks. It compiles with Dispatch, so it has to with us; the async forms have another name.

func waitInAsyncCode(_ group: DispatchGroup, _ semaphore: DispatchSemaphore, _ item: DispatchWorkItem) async {
  group.wait()
  semaphore.wait()
  item.wait()
  if group.wait(timeout: .now() + 1) == .timedOut { return }
  guard semaphore.wait(timeout: .now() + .seconds(1)) == .success else { return }
  _ = semaphore.wait(wallTimeout: .now() + 1)
  _ = group.wait(wallTimeout: .distantFuture)
  _ = item.wait(timeout: .distantFuture)
  _ = item.wait(wallTimeout: .now())
}

func boundedAsyncWork(_ semaphore: DispatchSemaphore) async throws {
  semaphore.wait()
  defer { semaphore.signal() }
  try await Task.sleep(nanoseconds: 1)
}

struct Lock {
  private let semaphore = DispatchSemaphore(value: 1)

  func with<T>(_ body: () throws -> T) rethrows -> T {
    semaphore.wait()
    defer { semaphore.signal() }
    return try body()
  }

  func withAsync<T>(_ body: () async throws -> T) async rethrows -> T {
    semaphore.wait()
    defer { semaphore.signal() }
    return try await body()
  }
}

actor Bank {
  private let semaphore = DispatchSemaphore(value: 1)
  private let queue = DispatchQueue(label: "bank")
  private var total = 0

  func pay(_ amount: Int) -> Int {
    semaphore.wait()
    defer { semaphore.signal() }
    total += amount
    return queue.sync { amount }
  }

  func ask() async -> Int {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: 1) }
    }
  }
}

func runAndWait(_ body: @escaping @Sendable () async -> Void) {
  let done = DispatchSemaphore(value: 0)
  Task {
    await body()
    done.signal()
  }
  done.wait()
}

@MainActor func onTheMainActor(_ group: DispatchGroup) async {
  group.wait()
  await Task.yield()
  group.notify(queue: .main) {}
}
