// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import IndexKit

/// One run of `gcd index`, from the options to the exit code.
struct IndexRun: Sendable {
  private let options: IndexOptions
  private let root: Path
  private let mode: Performance.Mode
  private let progress = Progress()
  private let bar: ProgressBar?
  private let stopwatch = Stopwatch()

  /// Does the work and ends the process.
  static func start(_ options: IndexOptions) -> Never {
    if let obstacle = FolderWalker.obstacle(at: options.folder) {
      Terminal.write("gcd: \(options.folder.shown): \(obstacle.reason)\n", to: .error)
      exit(EXIT_FAILURE)
    }
    Interrupt.install()
    let run = IndexRun(options)
    run.bar?.start()
    run.work()
  }

  private init(_ options: IndexOptions) {
    self.options = options
    root = options.folder
    mode = options.isSerial ? .serial : .parallel(jobs: options.jobs ?? 2 * Stopwatch.coresAvailable)
    bar = options.showsProgress && Terminal.isTerminal(.error) ? ProgressBar(of: progress) : nil
  }

  private func work() -> Never {
    switch mode {
    case .serial:
      finish(SerialIndex.run(root, progress))
    case .parallel(let jobs):
      // The pipeline hands its ledger over when it is done, and touches it no more.
      IndexPipeline(root, jobs: jobs, progress).start(notifying: .main) { finish($0) }
      dispatchMain()
    }
  }

  private func finish(_ ledger: Ledger) -> Never {
    let performance = stopwatch.performance(mode)
    bar?.finish()
    let interruption = Interrupt.received
    let report = ledger.report(
      root: root, top: options.top, performance: performance, isComplete: interruption == nil)
    if let interruption { tellHowFar(report, after: interruption) }
    var isWritten = true
    if options.printsJSON {
      isWritten = Terminal.writeOutput(JSONReport.render(report))
    } else if report.isComplete {
      isWritten = Terminal.writeOutput(ReportTable.render(report, style: Terminal.style(of: .output)))
    }
    if let interruption { exit(128 + interruption) }
    exit(isWritten ? EXIT_SUCCESS : EXIT_FAILURE)
  }

  private func tellHowFar(_ report: IndexReport, after signal: Int32) {
    let found = progress.snapshot
    let time = NumberFormat.duration(report.performance.seconds)
    let all = NumberFormat.grouped(found.foundFiles) + (found.isWalking ? " files found so far" : " files")
    Terminal.write(
      "gcd: \(signal == SIGINT ? "interrupted" : "terminated") after \(time): "
        + "read \(NumberFormat.grouped(report.totals.files)) of \(all), \(NumberFormat.bytes(report.totals.bytes)), "
        + "\(NumberFormat.grouped(report.totals.words)) words\n", to: .error)
  }
}
