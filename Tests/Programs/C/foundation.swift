// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What Foundation does with libdispatch: operations, processes, pipes, timers, the main run loop.

import Dispatch
import Foundation

@main struct Program {
  static func main() throws {
    let op = OperationQueue()
    op.maxConcurrentOperationCount = 3
    var total = 0
    let lock = NSLock()
    for i in 1...100 { op.addOperation { lock.withLock { total += i } } }
    op.waitUntilAllOperationsAreFinished()
    print("operations", total)
    let p = Process()
    p.executableURL = URL(fileURLWithPath: "/bin/echo")
    p.arguments = ["child"]
    let pipe = Pipe()
    p.standardOutput = pipe
    try p.run()
    let out = pipe.fileHandleForReading.readDataToEndOfFile()
    p.waitUntilExit()
    print(
      "process", String(decoding: out, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines),
      p.terminationStatus)
    let fh = Pipe()
    let sem = DispatchSemaphore(value: 0)
    fh.fileHandleForReading.readabilityHandler = { h in
      print("readable", h.availableData.count)
      h.readabilityHandler = nil
      sem.signal()
    }
    fh.fileHandleForWriting.write(Data([1, 2, 3]))
    sem.wait()
    var fired = 0
    _ = Timer.scheduledTimer(withTimeInterval: 0.01, repeats: true) { timer in
      fired += 1
      if fired == 3 { timer.invalidate() }
    }
    var isServed = false
    DispatchQueue.main.async {
      print("main async")
      isServed = true
    }
    // However late the timer is.
    while fired < 3 || !isServed { RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.05)) }
    print("timer", fired)
    DispatchQueue.main.asyncAfter(deadline: .now() + 0.05) {
      print("bye")
      exit(0)
    }
    RunLoop.main.run()
  }
}
