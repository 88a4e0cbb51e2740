// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

// How many threads do tasks of Swift Concurrency need? One program, built for the toolchain's library; the environment decides
// which libdispatch.so it runs on. `tasks FORM COUNT` runs COUNT tasks at once and prints the most threads that the process had
// meanwhile, without the main thread and the one that counts, and how long it took. Scripts/fairness compares.

/// What each of the tasks does.
let forms: [String: @Sendable (Int) async -> UInt64] = [
  "sleep": { number in
    try? await Task.sleep(for: .milliseconds(100))
    return UInt64(number)
  },
  "compute": { number in computed(milliseconds: 2, number) },
  "yield": { number in
    var sum: UInt64 = 0
    for _ in 0..<20 {
      sum &+= computed(milliseconds: 0.1, number)
      await Task.yield()
    }
    return sum
  },
  "compute-and-sleep": { number in
    let before = computed(milliseconds: 1, number)
    try? await Task.sleep(for: .milliseconds(5))
    return before &+ computed(milliseconds: 1, number)
  },
]

/// Computes for so long of the thread's own processor time.
func computed(milliseconds: Double, _ seed: Int) -> UInt64 {
  let end = threadTime() + UInt64(milliseconds * 1e6)
  var value = UInt64(seed) | 1
  repeat {
    for _ in 0..<200 {
      value ^= value << 13
      value ^= value >> 7
      value ^= value << 17
    }
  } while threadTime() < end
  return value
}

func threadTime() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Runs the tasks as children of a group.
func inGroup(_ count: Int, _ work: @escaping @Sendable (Int) async -> UInt64) async -> UInt64 {
  await withTaskGroup(of: UInt64.self) { group in
    for number in 0..<count { group.addTask { await work(number) } }
    return await group.reduce(0, &+)
  }
}

/// Runs the tasks as async-lets, which all live at once.
func asLets(_ count: Int, _ work: @escaping @Sendable (Int) async -> UInt64) async -> UInt64 {
  if count == 0 { return 0 }
  async let mine = work(count)
  let others = await asLets(count - 1, work)
  return await mine &+ others
}

/// A thread that counts the threads of the process every 200 us.
final class Watch: @unchecked Sendable {  // the thread writes `most`, and is joined before `most` is read
  private let counting = Counter(1)
  private let looks = Counter()
  private var most = 0
  private var thread: PlainThread?

  init() {
    thread = PlainThread { [self] in
      while counting.value != 0 {
        most = max(most, threadCount())
        looks.add(1)
        var pause = timespec(nanoseconds: 200_000)
        nanosleep(&pause, nil)
      }
    }
  }

  /// The most threads seen: at once, without the main thread and the watch itself.
  func end() -> Int {
    counting.add(-1)
    thread?.join()
    precondition(looks.value > 0, "nothing was counted")
    return most - 2
  }

  /// Threads of this process, by the count of links of the folder that has one folder for each.
  private func threadCount() -> Int {
    var status = stat()
    guard stat("/proc/self/task", &status) == 0 else { return 0 }
    return Int(status.st_nlink) - 2
  }
}

let words = CommandLine.arguments.dropFirst()
guard words.count == 3, let work = forms[words[2]], let count = Int(words[3]), count > 0 else {
  print("usage: tasks group|lets \(forms.keys.sorted().joined(separator: "|")) COUNT")
  exit(64)
}
alarm(60)
let watch = Watch()
let begin = monotonicNanoseconds()
let sum = await words[1] == "lets" ? asLets(count, work) : inGroup(count, work)
let took = monotonicNanoseconds() - begin
let most = watch.end()
// Every task has run. Each of them adds more than zero, except the first one that sleeps.
precondition(sum != 0)
print("threads \(most)")
print("ms \(Double(took) / 1e6)")
