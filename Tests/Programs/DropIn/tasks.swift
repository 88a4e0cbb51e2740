// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// C2: the Swift Concurrency runtime, which puts its jobs and timers on the library's queues.
import Dispatch
import Synchronization

actor Counter {
  private(set) var value = 0
  func add(_ number: Int) { value += number }
}

@MainActor final class Screen {
  var lines: [String] = []
  func show(_ line: String) {
    dispatchPrecondition(condition: .onQueue(.main))
    lines.append(line)
  }
}

enum Local { @TaskLocal static var name = "none" }

@main struct Program {
  static func main() async {
    await groups()
    await sleeps()
    await streams()
    await mainActor()
    await cancellation()
    await continuations()
    await priorities()
    await starvation()
    print("end")
  }

  static func groups() async {
    let counter = Counter()
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<5000 { group.addTask { await counter.add(number) } }
    }
    print("group:", await counter.value)
    @Sendable func tree(_ depth: Int) async -> Int {
      if depth == 0 { return 1 }
      async let left = tree(depth - 1)
      async let right = tree(depth - 1)
      return await left + right
    }
    print("async let:", await tree(12))
    let hops = (0..<4).map { _ in Counter() }
    for round in 0..<2000 { await hops[round % 4].add(1) }
    var total = 0
    for hop in hops { total += await hop.value }
    print("hops:", total)
  }

  static func sleeps() async {
    let (continuous, suspending) = (ContinuousClock(), SuspendingClock())
    let first = await continuous.measure { try? await Task.sleep(for: .milliseconds(10), clock: .continuous) }
    let second = await suspending.measure { try? await Task.sleep(for: .milliseconds(10), clock: .suspending) }
    let third = await continuous.measure { try? await Task.sleep(for: .milliseconds(10), tolerance: .milliseconds(2)) }
    print("never early:", [first, second, third].allSatisfy { $0 >= .milliseconds(10) })
    var order: [Int] = []
    var isLate = false
    let begin = continuous.now
    await withTaskGroup(of: Int.self) { group in
      for number in (1...5).reversed() {
        group.addTask {
          try? await Task.sleep(until: begin + .milliseconds(number * 40), clock: .continuous)
          return number
        }
      }
      for await number in group {
        order.append(number)
        // On a machine that does other things the next one may wake up meanwhile, on another thread.
        isLate = isLate || continuous.now - begin >= .milliseconds(number * 40 + 35)
      }
    }
    print("by time:", order == [1, 2, 3, 4, 5] || isLate && order.sorted() == [1, 2, 3, 4, 5])
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<1000 { group.addTask { try? await Task.sleep(for: .microseconds(number * 10)) } }
    }
    print("a thousand sleepers")
  }

  static func streams() async {
    let (stream, input) = AsyncStream.makeStream(of: Int.self)
    let queue = DispatchQueue(label: "input")
    let timer = DispatchSource.makeTimerSource(queue: queue)
    nonisolated(unsafe) var ticks = 0
    timer.setEventHandler {
      ticks += 1
      input.yield(ticks)
      if ticks == 20 { input.finish() }
    }
    timer.schedule(deadline: .now(), repeating: .milliseconds(1))
    timer.activate()
    var received: [Int] = []
    for await number in stream { received.append(number) }
    timer.cancel()
    print("stream:", received == Array(1...20))
  }

  @MainActor static func mainActor() async {
    let screen = Screen()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<200 { group.addTask { await screen.show("line") } }
    }
    print("main actor:", screen.lines.count)
    await Task.detached { await MainActor.run { screen.show("detached") } }.value
    await withCheckedContinuation { done in
      DispatchQueue.main.async {
        MainActor.assumeIsolated { screen.show("assumed") }
        done.resume()
      }
    }
    print(screen.lines.suffix(2))
  }

  static func cancellation() async {
    let sleeper = Task { try await Task.sleep(for: .seconds(1000)) }
    sleeper.cancel()
    do { try await sleeper.value } catch { print("cancelled:", error is CancellationError) }
    let winner = await withTaskGroup(of: Int.self) { group in
      group.addTask { 1 }
      group.addTask {
        try? await Task.sleep(for: .seconds(1000))
        return 2
      }
      let first = await group.next()!
      group.cancelAll()
      return first
    }
    print("race:", winner)
  }

  static func continuations() async {
    let queue = DispatchQueue(label: "work", attributes: .concurrent)
    let numbers = await withTaskGroup(of: Int.self) { group in
      for number in 0..<100 {
        group.addTask {
          await withCheckedContinuation { result in queue.async { result.resume(returning: number) } }
        }
      }
      return await group.reduce(0, +)
    }
    print("continuations:", numbers)
  }

  static func priorities() async {
    for priority in [TaskPriority.high, .medium, .low, .background] {
      let value = await Task(priority: priority) { Task.basePriority == priority }.value
      print("priority:", value)
    }
    let name = await Local.$name.withValue("bound") { await Task { Local.name }.value }
    print("local:", name)
  }

  static let yields = Atomic<Int>(0)
  static let isOver = Atomic<Bool>(false)

  /// Sixteen tasks have always more to do, until they have yielded very often. A less urgent one starts before.
  static func starvation() async {
    let limit = 10_000_000
    for _ in 0..<16 {
      Task.detached(priority: .medium) {
        while yields.wrappingAdd(1, ordering: .relaxed).newValue < limit, !isOver.load(ordering: .relaxed) {
          await Task.yield()
        }
      }
    }
    let isEarly = await Task.detached(priority: .background) { yields.load(ordering: .relaxed) < limit }.value
    isOver.store(true, ordering: .relaxed)
    print("awaited in time:", isEarly)
  }
}
