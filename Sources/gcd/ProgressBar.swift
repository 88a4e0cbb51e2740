// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import IndexKit

/// Draws the progress on the terminal several times a second.
final class ProgressBar: @unchecked Sendable {  // why: the variables are touched on `queue` only
  /// What is done sooner needs no bar.
  private static let patience = DispatchTimeInterval.milliseconds(150)
  private static let period = DispatchTimeInterval.milliseconds(80)

  private let queue = DispatchQueue(label: "gcd.index.progress")
  private let progress: Progress
  private let stopwatch = Stopwatch()
  private var isFinished = false
  private var isDrawn = false

  init(of progress: Progress) {
    self.progress = progress
  }

  func start() {
    queue.asyncAfter(deadline: .now() + Self.patience) { self.tick() }
  }

  /// Erases the line. Nothing is drawn from then on: the terminal belongs to the caller.
  func finish() {
    queue.sync {
      isFinished = true
      if isDrawn { Terminal.write("\r\u{1B}[K", to: .error) }
    }
  }

  private func tick() {
    guard !isFinished else { return }
    let line = ProgressLine.render(
      progress.snapshot, seconds: stopwatch.seconds, style: Terminal.style(of: .error))
    // One write: a line is on the screen as a whole or not at all.
    Terminal.write("\r\(line)\u{1B}[K", to: .error)
    isDrawn = true
    queue.asyncAfter(deadline: .now() + Self.period) { self.tick() }
  }
}
