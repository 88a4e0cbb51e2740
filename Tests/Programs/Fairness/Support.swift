// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

// This program is built together with files of Tests/Support: plain threads, latches and counters that owe nothing to what
// is measured.

/// Prints one figure of the row.
func tell(_ name: String, _ value: Double) {
  let rounded = (value * 10_000).rounded() / 10_000
  print("\(name) \(rounded)")
  // A figure is out even if the alarm comes before the next one.
  fflush(nil)
}

/// A span of nanoseconds in milliseconds.
func milliseconds(_ span: UInt64) -> Double { Double(span) / 1e6 }

/// The time from `begin` to `end`; nothing if a clock reading on another processor was earlier.
func span(_ begin: UInt64, _ end: UInt64) -> UInt64 { end > begin ? end - begin : 0 }

/// What the calling thread, or the whole process, has used of the processors, in nanoseconds.
func processorTime(_ clock: clockid_t) -> UInt64 {
  var time = timespec()
  clock_gettime(clock, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Computes until the calling thread has used so much processor time: a thread that others have pushed off its processor
/// computes on when it comes back.
func burn(nanoseconds: UInt64) {
  let end = processorTime(CLOCK_THREAD_CPUTIME_ID) + nanoseconds
  var value = end | 1
  repeat {
    for _ in 0..<500 {
      value ^= value << 13
      value ^= value >> 7
      value ^= value << 17
    }
  } while processorTime(CLOCK_THREAD_CPUTIME_ID) < end
  keep(value)
}

/// Makes the compiler believe that the value is needed.
@inline(never)
func keep(_ value: UInt64) {
  // An xorshift never reaches zero.
  if value == 0 { print(value) }
}

/// Threads of this process, by the count of links of the folder that has one folder for each.
func threadCount() -> Int {
  var status = stat()
  guard stat("/proc/self/task", &status) == 0 else { return 0 }
  return Int(status.st_nlink) - 2
}

func pause(nanoseconds: UInt64) {
  var time = timespec(nanoseconds: nanoseconds)
  nanosleep(&time, nil)
}

/// A moment that one thread notes and another reads. Zero until then.
typealias Moment = Counter

extension Counter {
  func noteNow() { add(Int(monotonicNanoseconds())) }
  var moment: UInt64 { UInt64(value) }
}
