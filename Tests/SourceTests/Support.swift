// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

/// Waits until `condition` holds, and fails the test if it never does.
func waitFor(_ location: SourceLocation = #_sourceLocation, _ condition: () -> Bool) {
  let held = eventually(condition)
  #expect(held, sourceLocation: location)
}

/// Two connected descriptors that belong to a test.
struct Ends {
  let reading: Int32
  let writing: Int32

  static func pipe() -> Ends {
    guard let ends = Kernel.closeOnExecPipe() else { preconditionFailure("no pipe: \(errno)") }
    makeNonBlocking(ends.readEnd)
    makeNonBlocking(ends.writeEnd)
    return Ends(reading: ends.readEnd, writing: ends.writeEnd)
  }

  static func socketPair() -> Ends {
    var ends: [Int32] = [0, 0]
    precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    for end in ends { makeNonBlocking(end) }
    return Ends(reading: ends[0], writing: ends[1])
  }

  func write(_ text: String) {
    let bytes = Array(text.utf8)
    #expect(Glibc.write(writing, bytes, bytes.count) == bytes.count)
  }

  func close() {
    _ = Glibc.close(reading)
    _ = Glibc.close(writing)
  }
}

func makeNonBlocking(_ descriptor: Int32) {
  _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
}

/// What `descriptor` has now, at most `limit` bytes; nil at its end.
func take(_ descriptor: Int32, _ limit: Int = 65536) -> String? {
  var buffer = [UInt8](repeating: 0, count: limit)
  let count = read(descriptor, &buffer, limit)
  if count == 0 { return nil }
  return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
}
