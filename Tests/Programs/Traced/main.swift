// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// What gcd trace is tried on: traced WHAT [NUMBER].

import Glibc
import GrandCentral
import Synchronization

let words = CommandLine.arguments
let number = words.count > 2 ? Int(words[2]) ?? 0 : 0

/// Writes at once, with nothing kept back for the end.
@Sendable func say(_ text: String, to descriptor: Int32) {
  _ = Array(text.utf8).withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
}

/// As many items as that, in pieces that the queue has run before the next one comes.
func items(_ count: Int, on queues: [DispatchQueue]) {
  let group = DispatchGroup()
  var left = count
  while left > 0 {
    let piece = min(left, 4_096)
    for item in 0..<piece { queues[item % queues.count].async(group: group) {} }
    group.wait()
    left -= piece
  }
  // An item leaves its group before it is over, and it is over before it is recorded: the program must not end in between.
  for queue in queues { queue.sync(flags: .barrier) {} }
}

/// Queues that hand a token around until it has made so many steps.
func ring(_ steps: Int) {
  let queues = (0..<3).map { DispatchQueue(label: "ring \($0)") }
  let done = DispatchSemaphore(value: 0)
  @Sendable func pass(_ left: Int) {
    if left == 0 {
      done.signal()
    } else {
      queues[left % 3].async { pass(left - 1) }
    }
  }
  pass(steps)
  done.wait()
}

/// The first thing that the process does in the library: eight threads record at once.
func first(_ count: Int) {
  let present = Atomic(0)
  let body: @Sendable () -> Void = {
    present.wrappingAdd(1, ordering: .relaxed)
    while present.load(ordering: .relaxed) < 8 {}
    for _ in 0..<count { GrandCentralRuntime.beginSpan("first").end() }
  }
  for thread in (0..<8).map({ _ in start(body) }) { pthread_join(thread, nil) }
}

/// Starts a thread of the program's own.
func start(_ body: @escaping @Sendable () -> Void) -> pthread_t {
  var thread = pthread_t()
  let context = Unmanaged.passRetained(Body(run: body)).toOpaque()
  pthread_create(
    &thread, nil,
    {
      Unmanaged<Body>.fromOpaque($0!).takeRetainedValue().run(); return nil
    }, context)
  return thread
}

final class Body {
  let run: @Sendable () -> Void
  init(run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Items that each take some 50 ns, on a serial queue.
func fifty(_ count: Int) {
  let queue = DispatchQueue(label: "fifty")
  let group = DispatchGroup()
  // The queue guards it.
  nonisolated(unsafe) var state: UInt64 = 1
  @Sendable func work() {
    for _ in 0..<25 {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
    }
  }
  var left = count
  while left > 0 {
    let piece = min(left, 4_096)
    for _ in 0..<piece { queue.async(group: group, execute: work) }
    group.wait()
    left -= piece
  }
  if queue.sync(execute: { state }) == 0 { say("zero\n", to: 2) }
}

/// The calling thread's folder below /proc.
@Sendable func callingThread() -> String {
  var bytes = [UInt8](repeating: 0, count: 64)
  let count = bytes.withUnsafeMutableBytes {
    readlink("/proc/thread-self", $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
  }
  return String(decoding: bytes.prefix(count), as: UTF8.self)
}

/// Whether the kernel has put that thread to sleep.
func isAsleep(_ thread: String) -> Bool {
  guard let file = fopen("/proc/\(thread)/stat", "r") else { return false }
  defer { fclose(file) }
  var bytes = [UInt8](repeating: 0, count: 256)
  let count = fread(&bytes, 1, bytes.count, file)
  let text = String(decoding: bytes.prefix(count), as: UTF8.self)
  return text.split(separator: ")").last?.hasPrefix(" S ") ?? false
}

switch words.dropFirst().first {
case "serial": items(number, on: [DispatchQueue(label: "counted")])
case "several": items(number, on: (0..<4).map { DispatchQueue(label: "queue \($0)") })
case "concurrent": items(number, on: [DispatchQueue(label: "broad", attributes: .concurrent)])
case "ring": ring(number)
case "sync":
  let queue = DispatchQueue(label: "synced")
  for _ in 0..<number { queue.sync {} }
case "forever":
  // Says when it has begun: then it is killed.
  items(100, on: [DispatchQueue(label: "before")])
  say("begun\n", to: 1)
  let queue = DispatchQueue(label: "forever")
  while true { items(1_000, on: [queue]) }
case "counted":
  // Counts its items in a file, which shows them however the process ends.
  let file = open(words[2], O_RDWR | O_CREAT | O_TRUNC, 0o600)
  ftruncate(file, 4096)
  let page = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)!
  // unsafe: changed by the items of one queue, and mapped as long as the process lives.
  nonisolated(unsafe) let count = page.assumingMemoryBound(to: UInt64.self)
  let queue = DispatchQueue(label: "counted")
  let group = DispatchGroup()
  while true {
    for _ in 0..<1_000 { queue.async(group: group) { count.pointee += 1 } }
    group.wait()
  }
case "steady":
  // A thousand items a second, which a timer submits.
  let queue = DispatchQueue(label: "steady")
  let timer = DispatchSource.makeTimerSource(queue: .global())
  timer.setEventHandler { queue.async {} }
  timer.schedule(deadline: .now(), repeating: .milliseconds(1))
  timer.activate()
  say("begun\n", to: 1)
  pause()
case "blocked":
  let queue = DispatchQueue(label: "blocked")
  let other = DispatchQueue(label: "other")
  let (never, begun) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
  // Read when `begun` says so.
  nonisolated(unsafe) var blocked = ""
  queue.async {
    blocked = callingThread()
    begun.signal()
    other.sync { never.wait() }
  }
  begun.wait()
  // It has nothing else to sleep for.
  while !isAsleep(blocked) { usleep(1_000) }
  say("begun\n", to: 1)
  pause()
case "leaderless":
  // The main thread ends, and a worker waits.
  let queue = DispatchQueue(label: "left")
  let never = DispatchSemaphore(value: 0)
  queue.async { never.wait() }
  pthread_exit(nil)
case "first-item":
  // A worker is in its first item, for ever, and the main thread waits.
  DispatchQueue(label: "long").async { while true { pause() } }
  DispatchSemaphore(value: 0).wait()
case "held":
  // The main thread waits for a queue, which goes to another thread afterwards; that one keeps it for ever.
  let queue = DispatchQueue(label: "held")
  let main = callingThread()
  @Sendable func keep() {
    say((callingThread().split(separator: "/").last.map(String.init) ?? "?") + "\n", to: 1)
    while true { pause() }
  }
  let ready = Atomic(false)
  queue.async { while !ready.load(ordering: .relaxed) || !isAsleep(main) { usleep(1_000) } }
  if words[2] == "behind" {
    queue.async { keep() }
  } else {
    let begun = DispatchSemaphore(value: 0)
    // Read when `begun` says so.
    nonisolated(unsafe) var other = ""
    _ = start {
      other = callingThread()
      begun.signal()
      queue.sync { keep() }
    }
    begun.wait()
    // It is the first to wait for its turn; this thread must not sleep before.
    while !isAsleep(other) { sched_yield() }
  }
  ready.store(true, ordering: .relaxed)
  queue.sync {}
case "marks":
  for round in 0..<number {
    GrandCentralRuntime.mark("round")
    GrandCentralRuntime.count("rounds", Double(round))
    GrandCentralRuntime.interval("step") { items(1, on: [DispatchQueue(label: "marked")]) }
  }
case "spans":
  // Spans that all overlap, the inner ones with the outer one as their parent, each ended on a worker.
  let outer = GrandCentralRuntime.beginSpan("request")
  let group = DispatchGroup()
  let queries = (0..<number).map { _ in GrandCentralRuntime.beginSpan("query", parent: outer) }
  for query in queries { DispatchQueue.global().async(group: group) { query.end() } }
  group.wait()
  DispatchQueue(label: "answers").sync { outer.end() }
case "first":
  first(number)
case "cost":
  // Nanoseconds for a record, the least of many rounds.
  var least = Double.infinity
  for _ in 0..<20 {
    let begun = DispatchTime.now()
    for _ in 0..<number { GrandCentralRuntime.mark("cost") }
    let passed = DispatchTime.now().uptimeNanoseconds - begun.uptimeNanoseconds
    least = min(least, Double(passed) / Double(number))
  }
  print(least)
case "fifty":
  fifty(number)
case "exit":
  items(10, on: [DispatchQueue(label: "short")])
  say("to the output\n", to: 1)
  say("to the errors\n", to: 2)
  exit(Int32(number))
case "becomes":
  // Becomes another program, so often, which uses queues as well. Each of them is brief.
  items(10, on: [DispatchQueue(label: "image \(number)")])
  if number > 0 {
    let next: [UnsafeMutablePointer<CChar>?] = [strdup(words[0]), strdup("becomes"), strdup(String(number - 1)), nil]
    execv("/proc/self/exe", next)
    exit(1)
  }
case "replaced":
  // Becomes another program when somebody opens the pipe of that name.
  items(10, on: [DispatchQueue(label: "before")])
  say("begun\n", to: 1)
  close(open(words[2], O_RDONLY))
  let next: [UnsafeMutablePointer<CChar>?] = [strdup(words[0]), strdup("steady"), nil]
  execv("/proc/self/exe", next)
  exit(1)
case "then":
  // Becomes the program that the other words name, which may know nothing of queues. The tool stands still meanwhile.
  kill(getppid(), SIGSTOP)
  items(10, on: [DispatchQueue(label: "before")])
  execvp(words[2], words[2...].map { strdup($0) } + [nil])
  exit(1)
case "signal":
  items(10, on: [DispatchQueue(label: "short")])
  kill(getpid(), Int32(number))
  pause()
default:
  say("traced: what?\n", to: 2)
  exit(2)
}
