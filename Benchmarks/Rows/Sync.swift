// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit
import BenchSupport

/// B: sync when nobody else wants the queue.
func sync() -> [Operation] {
  [
    Operation("B.sync-void") {
      let queue = DispatchQueue(label: "bench.b")
      return { n, _ in
        var count: UInt64 = 0
        for _ in 0..<n { queue.sync { count &+= 1 } }
        bench_consume(count)
      }
    },
    Operation("B.sync-returning") {
      let queue = DispatchQueue(label: "bench.b")
      return { n, _ in
        var sum: UInt64 = 0
        for i in 0..<UInt64(n) { sum &+= queue.sync { i } }
        bench_consume(sum)
      }
    },
    Operation("B.sync-nested") {
      let outer = DispatchQueue(label: "bench.b.outer")
      let inner = DispatchQueue(label: "bench.b.inner")
      return { n, _ in
        var count: UInt64 = 0
        for _ in 0..<n { outer.sync { inner.sync { count &+= 1 } } }
        bench_consume(count)
      }
    },
    Operation("B.sync-serial-on-serial") {
      let bottom = DispatchQueue(label: "bench.b.bottom")
      let queue = DispatchQueue(label: "bench.b", target: bottom)
      return { n, _ in
        var count: UInt64 = 0
        for _ in 0..<n { queue.sync { count &+= 1 } }
        bench_consume(count)
      }
    },
    Operation("B.sync-reader") {
      let queue = DispatchQueue(label: "bench.b", attributes: .concurrent)
      return { n, _ in
        var count: UInt64 = 0
        for _ in 0..<n { queue.sync { count &+= 1 } }
        bench_consume(count)
      }
    },
    Operation("B.sync-barrier") {
      let queue = DispatchQueue(label: "bench.b", attributes: .concurrent)
      return { n, _ in
        var count: UInt64 = 0
        for _ in 0..<n { queue.sync(flags: .barrier) { count &+= 1 } }
        bench_consume(count)
      }
    },
  ]
}

/// C: several threads that sync onto one serial queue, without pause. The count proves the exclusion.
func contendedSync() -> [Operation] {
  func contended(_ name: String, threads: Int, pinned: Bool, inside: UInt64 = 0, outside: UInt64 = 0) -> Operation {
    Operation(name, count: .calibrated(multipleOf: threads), figures: [.time, .cpu]) {
      let queue = DispatchQueue(label: "bench.c")
      return { n, meter in
        let count = Cell(0)
        Crew.run(threads, pinned: pinned, meter: meter) { _ in
          for _ in 0..<n / threads {
            queue.sync {
              count.value += 1
              if inside > 0 { Work.spin(nanoseconds: inside) }
            }
            if outside > 0 { Work.spin(nanoseconds: outside) }
          }
        }
        precondition(count.value == n, "sync did not exclude")
        count.deallocate()
      }
    }
  }
  return [
    contended("C.2-threads", threads: 2, pinned: true),
    contended("C.2-threads-1us-in", threads: 2, pinned: true, inside: 1000),
    contended("C.2-threads-1us-in-1us-out", threads: 2, pinned: true, inside: 1000, outside: 1000),
    contended("C.8-threads", threads: 8, pinned: false),
  ]
}

/// M: threads that read under sync, one in twenty calls a barrier.
func readersAndBarriers() -> [Operation] {
  func mix(_ name: String, threads: Int, pinned: Bool, barriers: Bool, later: Bool = false) -> Operation {
    Operation(name, count: .calibrated(multipleOf: threads), figures: [.time, .cpu]) {
      let queue = DispatchQueue(label: "bench.m", attributes: .concurrent)
      return { n, meter in
        let written = Cell<UInt64>(0)
        Crew.run(threads, pinned: pinned, meter: meter) { _ in
          for i in 0..<n / threads {
            if barriers && i % 20 == 0 {
              if later {
                queue.async(flags: .barrier) { written.value += 1 }
              } else {
                queue.sync(flags: .barrier) { written.value += 1 }
              }
            } else {
              queue.sync { bench_consume(written.value) }
            }
          }
        }
        if later { queue.sync(flags: .barrier) {} }
        precondition(!barriers || written.value == UInt64(threads * ((n / threads + 19) / 20)), "barriers overlapped")
        written.deallocate()
      }
    }
  }
  return [
    mix("M.95-5-2-threads", threads: 2, pinned: true, barriers: true),
    mix("M.95-5-8-threads", threads: 8, pinned: false, barriers: true),
    mix("M.95-5-barrier-async-2-threads", threads: 2, pinned: true, barriers: true, later: true),
    mix("M.95-5-barrier-async-8-threads", threads: 8, pinned: false, barriers: true, later: true),
    mix("M.readers-2-threads", threads: 2, pinned: true, barriers: false),
  ]
}
