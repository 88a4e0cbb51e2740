// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// C2: Foundation's processes, pipes and file handles.
import Dispatch
import Foundation

@main struct Program {
  static func main() throws {
    try many()
    try termination()
    try filter()
    readability()
    writability()
  }

  static func start(_ line: String) -> (Process, Pipe) {
    let (process, pipe) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", line]
    process.standardOutput = pipe
    return (process, pipe)
  }

  static func many() throws {
    var outputs: [String] = []
    for number in 0..<10 {
      let (process, pipe) = start("echo \(number); exit \(number)")
      try process.run()
      let data = pipe.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      outputs.append(
        String(decoding: data, as: UTF8.self).trimmingCharacters(in: .newlines) + ":\(process.terminationStatus)")
    }
    print("one after the other:", outputs.joined(separator: " "))
  }

  static func termination() throws {
    let group = DispatchGroup()
    let lock = NSLock()
    nonisolated(unsafe) var ended: [Int32] = []
    for number in 0..<10 {
      let (process, _) = start("exit \(number)")
      group.enter()
      process.terminationHandler = { process in
        lock.withLock { ended.append(process.terminationStatus) }
        group.leave()
      }
      try process.run()
    }
    group.wait()
    print("handlers:", ended.sorted())
    let (process, _) = start("exec sleep 1000")
    try process.run()
    process.terminate()
    process.waitUntilExit()
    print("terminated:", process.terminationReason == .uncaughtSignal, process.terminationStatus)
  }

  static func filter() throws {
    let (process, output) = start("tr a-z A-Z | rev")
    let input = Pipe()
    process.standardInput = input
    try process.run()
    DispatchQueue.global().async {
      for _ in 0..<2000 { input.fileHandleForWriting.write(Data("some words of no meaning\n".utf8)) }
      try? input.fileHandleForWriting.close()
    }
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    print("filter:", data.count, String(decoding: data.prefix(24), as: UTF8.self))
  }

  static func readability() {
    let pipe = Pipe()
    let done = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var bytes = 0
    pipe.fileHandleForReading.readabilityHandler = { handle in
      let data = handle.availableData
      bytes += data.count
      // Not the end of the pipe: the toolchain's library does not always report it.
      if bytes == 100_000 {
        handle.readabilityHandler = nil
        done.signal()
      }
    }
    for _ in 0..<100 { pipe.fileHandleForWriting.write(Data(repeating: 7, count: 1000)) }
    done.wait()
    print("readable:", bytes)
  }

  static func writability() {
    let pipe = Pipe()
    let done = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var rounds = 0
    pipe.fileHandleForWriting.writeabilityHandler = { handle in
      rounds += 1
      // The handler may run a few times more before it is gone.
      if rounds <= 5 { handle.write(Data([UInt8(rounds)])) }
      if rounds == 5 {
        handle.writeabilityHandler = nil
        done.signal()
      }
    }
    done.wait()
    print("writable:", Array(pipe.fileHandleForReading.availableData))
  }
}
