// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport
import Glibc

/// R: channels.
func channels() -> [Operation] {
  [
    fileStream("R.io.file", count: .fixed(1 << 30, quick: 256 << 20)),
    Operation("R.io.echo", count: .calibrated(atMost: 20_000), figures: [.time, .cpu]) {
      { n, _ in
        var ends: [Int32] = [0, 0]
        precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let (server, client) = (ends[0], ends[1])
        let (queue, ended) = (DispatchQueue(label: "bench.r"), Countdown(1))
        let channel = DispatchIO(type: .stream, fileDescriptor: server, queue: queue) { _ in
          close(server)
          ended.arrive()
        }
        channel.setLimit(lowWater: 1)
        channel.read(offset: 0, length: .max, queue: queue) { done, data, _ in
          if let data, data.count > 0 { channel.write(offset: 0, data: data, queue: queue) { _, _, _ in } }
          if done { channel.close() }
        }
        // The client is a plain thread that blocks.
        var bytes = [UInt8](repeating: 7, count: 64)
        for _ in 0..<n {
          _ = write(client, &bytes, 64)
          var got = 0
          while got < 64 { got += read(client, &bytes, 64 - got) }
        }
        close(client)
        ended.wait()
      }
    },
  ]
}

/// One file in the page cache, from its beginning to its end; the time is that of a byte.
private func fileStream(_ name: String, count: Operation.Count) -> Operation {
  Operation(name, count: count, figures: [.time, .reported("of-read")]) {
    var file: Int32 = -1
    return { n, meter in
      if file < 0 { file = makeFile(n) }
      let descriptor = file
      let plain = readPlainly(descriptor, n)
      lseek(descriptor, 0, SEEK_SET)
      let (queue, ended, total) = (DispatchQueue(label: "bench.r"), Countdown(1), Cell<Int>(0))
      meter.start()
      let begin = bench_now()
      let channel = DispatchIO(type: .stream, fileDescriptor: descriptor, queue: queue) { _ in ended.arrive() }
      channel.read(offset: 0, length: .max, queue: queue) { done, data, _ in
        total[0] += data?.count ?? 0
        if done { channel.close() }
      }
      ended.wait()
      meter.stop()
      precondition(total[0] == n)
      total.deallocate()
      // Nanoseconds of the channel for each microsecond of a plain loop: 1,250 is 0.8 of its speed.
      meter.report("of-read", nanoseconds: 1_000 * Double(bench_now() - begin) / Double(plain))
    }
  }
}

/// A file without a name, all of it in the page cache.
private func makeFile(_ count: Int) -> Int32 {
  var template = Array("/tmp/gc-bench-XXXXXX".utf8CString)
  let file = mkstemp(&template)
  unlink(template)
  let bytes = [UInt8](repeating: 7, count: 1 << 20)
  for _ in 0..<count >> 20 { precondition(write(file, bytes, bytes.count) == bytes.count) }
  return file
}

/// The time of a loop of `read` with a buffer of the size that channels use.
private func readPlainly(_ file: Int32, _ count: Int) -> UInt64 {
  lseek(file, 0, SEEK_SET)
  let buffer = UnsafeMutableRawPointer.allocate(byteCount: 256 << 10, alignment: 4096)
  defer { buffer.deallocate() }
  let begin = bench_now()
  var total = 0
  while true {
    let got = read(file, buffer, 256 << 10)
    if got <= 0 { break }
    total += got
  }
  precondition(total == count)
  return bench_now() - begin
}
