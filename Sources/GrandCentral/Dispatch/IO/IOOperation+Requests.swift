// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

// What the page cache does not serve is a request.
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

  /// The channel was stopped.
  func cancel() {
    // What a write has handed over is written, and counts: the result is waited for.
    if direction == .write, request != nil { return }
    if let request {
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
