// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// C2: Foundation's main run loop, whose source of dispatched work is the library's main queue.
import Dispatch
import Foundation

@main struct Program {
  static func main() {
    let begin = Date()
    nonisolated(unsafe) var fired: [String] = []
    _ = Timer.scheduledTimer(withTimeInterval: 0.01, repeats: true) { timer in
      fired.append("tick")
      if fired.count == 5 { timer.invalidate() }
    }
    DispatchQueue.main.async { print("main queue, main thread:", Thread.isMainThread) }
    RunLoop.main.perform { print("performed") }
    while fired.count < 5, RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: 0.02)) {}
    print("timer:", fired.count, Date().timeIntervalSince(begin) >= 0.05)

    // From other threads, one after the other.
    nonisolated(unsafe) var order: [Int] = []
    Thread.detachNewThread {
      for number in 0..<1000 { DispatchQueue.main.async { order.append(number) } }
      DispatchQueue.main.sync { order.append(-1) }
    }
    while order.last != -1 { RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.005)) }
    print("from a thread:", order.dropLast() == ArraySlice(0..<1000))

    // Nested: a block that runs the loop.
    nonisolated(unsafe) var inner = false
    let source = DispatchSource.makeTimerSource(queue: .main)
    nonisolated(unsafe) var ticks = 0
    source.setEventHandler { ticks += 1 }
    source.schedule(deadline: .now(), repeating: .milliseconds(2))
    source.activate()
    while ticks < 10 { RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.005)) }
    source.cancel()
    print("timer source on the main queue:", ticks >= 10)
    _ = Timer.scheduledTimer(withTimeInterval: 0, repeats: false) { _ in
      RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.01))
      inner = true
    }
    while !inner { RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.005)) }
    print("nested:", inner)

    Task { @MainActor in
      MainActor.assertIsolated()
      for _ in 0..<100 { await Task.yield() }
      try? await Task.sleep(for: .milliseconds(3))
      print("main actor on the run loop:", Thread.isMainThread)
      OperationQueue.main.addOperation {
        print("main operation queue:", Thread.isMainThread)
        DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(5)) {
          print("done")
          exit(0)
        }
      }
    }
    RunLoop.main.run()
  }
}
