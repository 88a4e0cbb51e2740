// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral

/// One run of `gcd wait`, from the options to the exit code.
final class WaitRun: @unchecked Sendable {  // why: touched on `queue` only, once it has begun
  private static let unknownProcess: Int32 = 2

  private let options: WaitOptions
  private let queue = DispatchQueue(label: "gcd.wait")
  private let printer: OutcomePrinter
  /// Entered for each process, left when it has been printed.
  private let processes = DispatchGroup()
  private var waiting: [AwaitedProcess] = []
  private var code = EXIT_SUCCESS
  private var canWrite = true

  /// Waits, and ends the process.
  static func start(_ options: WaitOptions) -> Never {
    let run = WaitRun(options)
    run.queue.async { run.begin() }
    dispatchMain()
  }

  private init(_ options: WaitOptions) {
    self.options = options
    var seen: Set<Int32> = []
    waiting = options.processes.filter { seen.insert($0).inserted }.map { AwaitedProcess($0) }
    printer = OutcomePrinter(waiting, printsJSON: options.printsJSON)
  }

  private func begin() {
    for process in waiting {
      processes.enter()
      process.wait(on: queue) { outcome in self.finished(process, outcome) }
    }
    processes.notify(queue: queue) { self.end() }
    if let seconds = options.seconds {
      queue.asyncAfter(deadline: .now() + seconds) { self.timeIsOver() }
    }
  }

  private func finished(_ process: AwaitedProcess, _ outcome: Outcome) {
    waiting.removeAll { $0 === process }
    if outcome == .unknown {
      code = Self.unknownProcess
      Terminal.write("gcd: \(process.identifier): No such process\n", to: .error)
    }
    write(process, outcome)
    processes.leave()
  }

  /// The processes are waited for all the same; what is wrong is said once.
  private func write(_ process: AwaitedProcess, _ outcome: Outcome) {
    canWrite = canWrite && printer.write(process, outcome)
  }

  private func timeIsOver() {
    if waiting.isEmpty { return }
    for process in waiting { write(process, .running) }
    code = EXIT_FAILURE
    end()
  }

  private func end() {
    let code = canWrite ? code : Terminal.cannotWrite
    DispatchQueue.main.async { exit(code) }
  }
}
