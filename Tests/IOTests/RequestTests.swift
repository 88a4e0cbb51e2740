// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import Testing

@testable import GrandCentral

@Suite("A read at a file's position that is stopped while the disk reads")
struct RequestTests {
  /// A read that has been stopped. Its request is on its way: the test is the disk, and soon enough, if it is `soon`, whenever it answers.
  private func stoppedRead(of file: Int32, _ length: Int, soon: Bool) throws -> (request: IORequest, calls: Calls) {
    let (entered, calls) = (try IOScheduler.shared.files.enter(file).get(), Calls())
    let operation = IOOperation(
      .read, offset: nil, length: length, limits: IOLimits(), file: entered, channel: nil, queue: .global(),
      handler: calls.handler)
    let buffer = IOScheduler.shared.buffers.take()
    operation.buffer = buffer
    var span = IOSpan(start: buffer, count: length)
    let request = IORequest(operation, entered, &span, 1, at: FileReading.Offset.position)
    operation.request = request
    if soon {
      let ticker = IOTicker(operation)
      ticker.patienceEnds = .max / 2
      operation.ticker = ticker
    }
    operation.kick(IOState.turn | IOState.cancelled)
    waitFor { !operation.state.load().has(IOState.running) }
    return (request, calls)
  }

  @Test("I5: it delivers what comes soon, and the position stays where that has moved it")
  func soon() throws {
    let file = temporaryFile(pattern(100))
    let (request, calls) = try stoppedRead(of: file, 50, soon: true)
    request.perform()
    #expect(calls.end() == Call(true, nil as String?, ECANCELED))
    #expect(calls.bytes == pattern(50) && calls.all.first?.error == 0)
    #expect(lseek(file, 0, SEEK_CUR) == 50)
    close(file)
  }

  @Test("I5: it ends without what takes long, and the position goes back when that has come")
  func late() throws {
    let file = temporaryFile(pattern(100))
    let (request, calls) = try stoppedRead(of: file, 50, soon: false)
    #expect(calls.end() == Call(true, nil as String?, ECANCELED))
    #expect(calls.count == 1)
    request.perform()
    #expect(lseek(file, 0, SEEK_CUR) == 0)
    close(file)
  }
}
