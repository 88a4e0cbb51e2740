// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport
import Glibc

/// J and K: timer sources and read sources.
func sources() -> [Operation] { timerSources() + readSources() }

private func timerSources() -> [Operation] {
  [
    lives("J.timer-source", count: .fixed(20_000, quick: 5_000)),
    lives("J.million-timer-sources", count: .fixed(1_000_000, quick: 0)),
    Operation(
      "J.1ms-repeating", count: .fixed(300, quick: 100),
      figures: [.cpu, .reported("p50"), .reported("p99")]
    ) {
      { n, meter in
        let done = Countdown(n)
        let times = Cell<UInt64>(0, count: n)
        let (index, last) = (Cell<Int>(0), Cell<UInt64>(0))
        let timer = DispatchSource.makeTimerSource(flags: .strict, queue: DispatchQueue(label: "bench.j"))
        timer.schedule(deadline: .now() + .milliseconds(1), repeating: .milliseconds(1))
        timer.setEventHandler {
          let now = bench_now()
          if index[0] < n {
            if last[0] != 0 {
              let interval = now - last[0]
              times[index[0]] = interval > 1_000_000 ? interval - 1_000_000 : 1_000_000 - interval
            }
            index[0] += 1
            done.arrive()
          }
          last[0] = now
        }
        timer.resume()
        done.wait()
        cancelAndWait(timer)
        meter.reportPercentiles(of: (1..<n).map { times[$0] })
        times.deallocate()
        index.deallocate()
        last.deallocate()
      }
    },
  ]
}

/// Timers that are far away: made, scheduled anew, cancelled.
private func lives(_ name: String, count: Operation.Count) -> Operation {
  Operation(
    name, count: count,
    figures: [.reported("create-activate"), .reported("reschedule"), .reported("cancel")]
  ) {
    let queue = DispatchQueue(label: "bench.j")
    return { n, meter in
      let done = Countdown(n)
      let far = DispatchTime.now() + .seconds(3600)
      var timers: [any DispatchSourceTimer] = []
      timers.reserveCapacity(n)
      var begin = bench_now()
      for i in 0..<n {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: far + .microseconds(i))
        timer.setEventHandler {}
        timer.setCancelHandler { done.arrive() }
        timer.activate()
        timers.append(timer)
      }
      meter.report("create-activate", nanoseconds: Double(bench_now() - begin) / Double(n))
      queue.sync {}
      begin = bench_now()
      for i in 0..<n { timers[i].schedule(deadline: far + .microseconds(n - i)) }
      meter.report("reschedule", nanoseconds: Double(bench_now() - begin) / Double(n))
      queue.sync {}
      begin = bench_now()
      for timer in timers { timer.cancel() }
      done.wait()
      meter.report("cancel", nanoseconds: Double(bench_now() - begin) / Double(n))
    }
  }
}

private func cancelAndWait(_ source: any DispatchSourceProtocol) {
  let cancelled = Countdown(1)
  source.setCancelHandler { cancelled.arrive() }
  source.cancel()
  cancelled.wait()
}

private func nonBlockingPair() -> (Int32, Int32) {
  var ends: [Int32] = [0, 0]
  precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
  for end in ends { _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK) }
  return (ends[0], ends[1])
}

private func raiseDescriptorLimit() {
  var limit = rlimit()
  getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  limit.rlim_cur = limit.rlim_max
  setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}

/// What one thread sets before another one can look.
private final class Box<Value: Sendable>: @unchecked Sendable {  // why: a write and a wake-up come between
  var value: Value
  init(_ value: Value) { self.value = value }
}

private func closePair(_ ends: (Int32, Int32)) {
  close(ends.0)
  close(ends.1)
}

private func readSources() -> [Operation] {
  [
    Operation("K.write-to-handler", count: .fixed(2_000, quick: 500), figures: [.reported("p50"), .reported("p99")]) {
      { n, meter in
        let ends = nonBlockingPair()
        let (times, sent) = (Cell<UInt64>(0, count: n), Cell<UInt64>(0))
        let arrived = Box(Latch())
        let index = Cell<Int>(0)
        let source = DispatchSource.makeReadSource(fileDescriptor: ends.0, queue: DispatchQueue(label: "bench.k"))
        source.setEventHandler {
          let now = bench_now()
          var byte: UInt8 = 0
          if read(ends.0, &byte, 1) == 1 {
            times[index[0]] = now - sent[0]
            index[0] += 1
            arrived.value.open()
          }
        }
        source.resume()
        var byte: UInt8 = 7
        for _ in 0..<n {
          // Long enough that a thread which waits for the kernel has fallen asleep.
          bench_sleep(100_000)
          let latch = Latch()
          arrived.value = latch
          sent[0] = bench_now()
          _ = write(ends.1, &byte, 1)
          latch.wait()
        }
        cancelAndWait(source)
        closePair(ends)
        meter.reportPercentiles(of: (0..<n).map { times[$0] })
        times.deallocate()
        sent.deallocate()
        index.deallocate()
      }
    },
    Operation("K.echo", count: .calibrated(atMost: 20_000), figures: [.time, .cpu]) {
      { n, _ in
        let ends = nonBlockingPair()
        let source = DispatchSource.makeReadSource(fileDescriptor: ends.0, queue: DispatchQueue(label: "bench.k"))
        source.setEventHandler {
          var byte: UInt8 = 0
          if read(ends.0, &byte, 1) == 1 { _ = write(ends.0, &byte, 1) }
        }
        source.resume()
        // The client is a plain thread that blocks.
        _ = fcntl(ends.1, F_SETFL, fcntl(ends.1, F_GETFL) & ~O_NONBLOCK)
        var byte: UInt8 = 7
        for _ in 0..<n {
          _ = write(ends.1, &byte, 1)
          _ = read(ends.1, &byte, 1)
        }
        cancelAndWait(source)
        closePair(ends)
      }
    },
    Operation("K.stream", count: .calibrated(atMost: 50_000), figures: [.time, .cpu]) {
      { n, _ in
        let ends = nonBlockingPair()
        let (done, left) = (Countdown(1), Cell<Int>(n))
        let source = DispatchSource.makeReadSource(fileDescriptor: ends.0, queue: DispatchQueue(label: "bench.k"))
        // Each event brings one byte and asks for the next.
        source.setEventHandler {
          var byte: UInt8 = 0
          guard read(ends.0, &byte, 1) == 1 else { return }
          left[0] -= 1
          if left[0] == 0 { done.arrive() } else { _ = write(ends.1, &byte, 1) }
        }
        source.resume()
        var byte: UInt8 = 7
        _ = write(ends.1, &byte, 1)
        done.wait()
        cancelAndWait(source)
        closePair(ends)
        left.deallocate()
      }
    },
    Operation("K.100-of-9900", count: .fixed(100, quick: 0), figures: [.reported("event")]) {
      raiseDescriptorLimit()
      return { n, meter in
        // Made anew each time: both sides together would need more descriptors than a process may have.
        let pairs = (0..<4_950).map { _ in nonBlockingPair() }
        let queue = DispatchQueue(label: "bench.k")
        let rounds = Box(Countdown(1))
        let sources = pairs.flatMap { [$0.0, $0.1] }.map { descriptor in
          let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
          source.setEventHandler {
            var byte: UInt8 = 0
            if read(descriptor, &byte, 1) == 1 { rounds.value.arrive() }
          }
          source.resume()
          return source
        }
        queue.sync {}
        var byte: UInt8 = 7
        let begin = bench_now()
        for round in 0..<n {
          let all = Countdown(100)
          queue.sync { rounds.value = all }
          for i in 0..<100 { _ = write(pairs[(round * 37 + i * 49) % pairs.count].1, &byte, 1) }
          all.wait()
        }
        meter.report("event", nanoseconds: Double(bench_now() - begin) / Double(n * 100))
        for source in sources { cancelAndWait(source) }
        for pair in pairs { closePair(pair) }
      }
    },
    Operation(
      "K.source", count: .fixed(5_000, quick: 1_000),
      figures: [.reported("create-activate"), .reported("cancel")]
    ) {
      { n, meter in
        let ends = nonBlockingPair()
        let queue = DispatchQueue(label: "bench.k")
        let (ready, done) = (Countdown(n), Countdown(n))
        let copies = (0..<n).map { _ in dup(ends.0) }
        var begin = bench_now()
        let sources = copies.map { descriptor in
          let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
          source.setEventHandler {}
          source.setRegistrationHandler { ready.arrive() }
          source.setCancelHandler { done.arrive() }
          source.resume()
          return source
        }
        ready.wait()
        meter.report("create-activate", nanoseconds: Double(bench_now() - begin) / Double(n))
        begin = bench_now()
        for source in sources { source.cancel() }
        done.wait()
        meter.report("cancel", nanoseconds: Double(bench_now() - begin) / Double(n))
        for copy in copies { close(copy) }
        closePair(ends)
      }
    },
  ]
}
