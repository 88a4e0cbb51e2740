// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

@testable import GrandCentral

@Suite("Numbers of bytes under stress")
struct ReadDataStress {
  /// An event whose bytes have been read by the handler before is delivered late; a write comes just then.
  @Test("S8: a read source tells of all bytes of a write, also when it comes while an older event is looked at again")
  func wholeWrites() {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let (reading, writing) = (ends[0], ends[1])
    _ = fcntl(reading, F_SETFL, O_NONBLOCK)
    let source = DispatchSource.makeReadSource(fileDescriptor: reading, queue: DispatchQueue(label: "read"))
    let (odd, taken, closed) = (Recorder<UInt>(), Counter(), Latch())
    source.setEventHandler {
      let data = source.data
      if data % 5 != 0, odd.count < 10 { odd.note(data) }
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      let count = read(reading, &buffer, buffer.count)
      if count > 0 { taken.add(count) }
    }
    source.setCancelHandler { closed.open() }
    source.activate()
    var random = SeededRandom(seed: Stress.seed("whole writes"))
    let deadline = Stress.deadline()
    var sent = 0
    while Stress.runs(until: deadline) {
      guard write(writing, "three", 5) == 5 else { break }
      sent += 5
      for _ in 0..<random.below(400) { _ = taken.value }
      if sent - taken.value > 20_000 { _ = eventually { taken.value == sent } }
    }
    #expect(eventually { taken.value == sent })
    #expect(odd.values == [], "of \(sent / 5) writes")
    source.cancel()
    #expect(closed.wait())
    close(reading)
    close(writing)
  }
}
