// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

// What the page cache does not serve is a request.
//
// IOOperation.C1  A stopped operation waits for what the kernel is carrying out already, if others would notice that it was: for a write, and
//     for a read at the file's position, which others may share. What that read brings is delivered, and the position stays behind it.
//     A disk answers soon. A read that takes longer than `patience` is given up, for example of a server that does not answer, or
//     of a file of the kernel's that blocks: such a one may never end.
extension IOOperation {
  func start(_ file: IOFile, _ span: IOSpan) {
    var span = span
    start(file, &span, 1)
  }

  func start(_ file: IOFile, _ spans: UnsafePointer<IOSpan>, _ count: Int) {
    let request = IORequest(self, file, spans, count, at: offset)
    self.request = request
    IOScheduler.shared.start(request)
  }

  /// Nanoseconds.
  private static let patience: UInt64 = 100_000_000

  /// The channel was stopped.
  func cancel() {
    if let request {
      // IOOperation.C1
      if direction == .write || request.offset == FileReading.Offset.position && isPatient { return }
      // The buffer goes with the request; what it has is kept.
      let kept = used == 0 ? nil : DispatchData(bytes: UnsafeRawBufferPointer(start: buffer, count: used))
      if request.abandon(buffer) {
        buffer = nil
        used = 0
        if let kept { gathered.append(kept) }
        self.request = nil
        abandoned = request
      } else {
        // It is done already; what it has brought counts.
        land()
      }
    }
    if outcome == nil { outcome = channel?.reasonToCancel ?? Errno.canceled.code }
  }

  /// Whether the stopped read waits on.
  private var isPatient: Bool {
    let (now, ticker) = (Clock.uptime.now(), ticker ?? IOTicker(self))
    self.ticker = ticker
    if ticker.patienceEnds == 0 { ticker.patienceEnds = now.addingSaturated(Self.patience) }
    return now < ticker.patienceEnds
  }

  /// The operation was stopped, and its request is on its way: a read looks again when its patience ends.
  func awaitResult() {
    guard let ticker, ticker.patienceEnds != 0 else { return }
    ticker.start(after: ticker.patienceEnds - min(Clock.uptime.now(), ticker.patienceEnds))
  }

  /// Takes the result of the request.
  func land() {
    guard let request else { return }
    let result = request.result
    self.request = nil
    if let error = Errno(result: result) {
      fail(error)
    } else if direction == .write {
      // A write that waits for as long as it takes, and takes nothing, would be tried for ever.
      if result == 0 { fail(.inputOutput) } else { accountWritten(result) }
    } else if result == 0 {
      end()
    } else {
      account(result)
      if gatheredCount >= limits.quantum { _ = deliver() }
    }
  }
}
