// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Rows of Swift Concurrency, whose runtime stands on the library: prints as rows.c does.
import Glibc

actor Cell {
  private var value = 0
  func add() { value += 1 }
}

@MainActor func onMain() {}

@main struct Program {
  static func main() async {
    let scale = CommandLine.arguments.count > 1 ? Int(CommandLine.arguments[1])! : 1
    // Away from the main thread: otherwise each hop would be one to another thread and back.
    await Task.detached { await rows(scale) }.value
  }

  static func rows(_ scale: Int) async {
    await measure("task group, per task", 20_000 * scale) { count in
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<count { group.addTask {} }
      }
    }
    await measure("async let, per task", 4096 * scale) { count in
      for _ in 0..<max(1, count / 64) { _ = await tree(6) }
    }
    let cells = [Cell(), Cell()]
    await measure("actor hop", 20_000 * scale) { count in
      for number in 0..<count { await cells[number & 1].add() }
    }
    await measure("main actor hop", 3000 * scale) { count in
      let task = Task.detached { for _ in 0..<count { await onMain() } }
      await task.value
    }
    // Few tasks that sleep often: the runtime looks for a child that has ended in a list of all.
    await measure("Task.sleep", 20_480 * scale) { count in
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<256 {
          group.addTask {
            for round in 0..<max(1, count / 256) {
              try? await Task.sleep(for: .microseconds(20 + (number &* 7919 &+ round &* 31) % 200))
            }
          }
        }
      }
    }
    await measure("AsyncStream, per element", 20_000 * scale) { count in
      let (stream, input) = AsyncStream.makeStream(of: Int.self)
      let producer = Task.detached {
        for number in 0..<count { input.yield(number) }
        input.finish()
      }
      for await _ in stream {}
      await producer.value
    }
  }

  @Sendable static func tree(_ depth: Int) async -> Int {
    if depth == 0 { return 1 }
    async let left = tree(depth - 1)
    return await tree(depth - 1) + left
  }

  static func measure(_ name: String, _ count: Int, _ body: (Int) async -> Void) async {
    await body(count / 50 + 1)
    let (wall, cpu) = (seconds(CLOCK_MONOTONIC), seconds(CLOCK_PROCESS_CPUTIME_ID))
    await body(count)
    let scale = 1e9 / Double(count)
    let times = [seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu].map { $0 * scale }
    print("\(name)\t\(times[0])\t\(times[1])")
  }

  static func seconds(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
