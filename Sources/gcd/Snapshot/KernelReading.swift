// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads what the kernel says, below `/proc`. What it does not say, or does not say to this user, is left out.
enum KernelReading {
  static func process(_ pid: Int32) -> KernelProcess {
    var process = KernelProcess()
    process.name = line("/proc/\(pid)/comm")
    process.state = state(ofStat: text(ProcessFile.folder(pid) + "/stat")) ?? "?"
    return process
  }

  static func name(_ pid: Int32, _ tid: Int32) -> String { line("/proc/\(pid)/task/\(tid)/comm") }

  /// The process's threads.
  static func threads(_ pid: Int32) -> [Int32] {
    guard let folder = opendir("/proc/\(pid)/task") else { return [] }
    defer { closedir(folder) }
    var found: [Int32] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if let tid = Int32(name) { found.append(tid) }
    }
    return found.sorted()
  }

  /// By the numbers that threads have for themselves: those that they have here. A process in a container, or in another namespace of
  /// processes, knows itself and its threads by other numbers. Nil if the numbers are the same.
  static func numbers(_ pid: Int32, _ tids: [Int32]) -> [Int32: Int32]? {
    guard ownNumber(ofStatus: text("/proc/\(pid)/status")).isForeign else { return nil }
    var numbers: [Int32: Int32] = [:]
    for tid in tids { numbers[ownNumber(ofStatus: text("/proc/\(pid)/task/\(tid)/status")).number] = tid }
    return numbers
  }

  /// The last number of the line `NSpid`; the first one is what the reader's namespace has.
  static func ownNumber(ofStatus text: String) -> (number: Int32, isForeign: Bool) {
    let line = text.split(separator: "\n").first { $0.hasPrefix("NSpid:") }
    let numbers = line?.split { $0 == "\t" || $0 == " " }.dropFirst().compactMap { Int32($0) } ?? []
    return (numbers.last ?? 0, numbers.count > 1)
  }

  /// Nil if there is no such thread any more.
  static func thread(_ pid: Int32, _ tid: Int32, among tids: Set<Int32>, clock: SleepClock?) -> KernelThread? {
    let folder = "/proc/\(pid)/task/\(tid)/"
    let stat = text(folder + "stat")
    guard let state = state(ofStat: stat) else { return nil }
    var thread = KernelThread(state: state)
    if state == "R" { return thread }
    let channel = line(folder + "wchan")
    thread.channel = channel == "0" ? "" : channel
    thread.call = SystemCall(line: line(folder + "syscall"))
    if let clock { thread.age = clock.age(ofSched: text(folder + "sched"), stat: stat) }
    if let call = thread.call {
      if call.hasDescriptor, let number = call.arguments.first {
        thread.descriptor = target(folder + "fd/\(Int32(truncatingIfNeeded: number))")
      }
      if call.name == "futex" { findOwner(of: call, folder, tids, &thread) }
    }
    return thread
  }

  /// The state's letter: it comes after the name, which is in parentheses and may have some of its own.
  static func state(ofStat text: String) -> Character? {
    guard let end = text.lastIndex(of: ")") else { return nil }
    return text[end...].dropFirst().drop { $0 == " " }.first
  }

  /// How long ago a thread was started, in nanoseconds; nil if it has ended.
  static func ageSinceStart(_ pid: Int32, _ tid: Int32) -> UInt64? {
    var now = timespec()
    clock_gettime(CLOCK_BOOTTIME, &now)
    guard
      let start = start(
        ofStat: text("/proc/\(pid)/task/\(tid)/stat"), ticks: UInt64(max(1, sysconf(Int32(_SC_CLK_TCK)))))
    else { return nil }
    let time = UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
    return time - min(time, start)
  }

  /// The 22nd field, in so many ticks a second, as nanoseconds since the machine was started; the second field is the name.
  static func start(ofStat text: String, ticks: UInt64) -> UInt64? {
    guard let end = text.lastIndex(of: ")") else { return nil }
    let fields = text[end...].dropFirst().split(separator: " ")
    guard fields.count > 19, let start = UInt64(fields[19]) else { return nil }
    let (product, overflow) = start.multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? nil : product / ticks
  }

  // MARK: Locks

  /// What the lock's own memory says about its holder.
  ///
  /// The word of a lock that the kernel hands over with priorities inherited is the owner's number, by the kernel's rule. A
  /// mutex of the C library has the word 2 while a thread waits for it, and its owner's number eight bytes further on. That
  /// number is believed only if it is the number of one of the process's threads.
  private static func findOwner(
    of call: SystemCall, _ folder: String, _ tids: Set<Int32>, _ waiter: inout KernelThread
  ) {
    guard let operation = call.futexOperation, let address = call.arguments.first else { return }
    let words = memory(folder, at: address, words: 4)
    guard words.count == 4 else { return }
    // Waiting for the end of a thread, the C library has the kernel wake it: then the word is not the process's alone.
    let isShared = call.arguments[1] & 0x80 == 0
    if isShared, let thread = Self.ending(operation: operation, expected: call.arguments[2], words: words, tids: tids) {
      waiter.lock = .threadEnd
      waiter.lockOwner = thread
    } else if let lock = Self.lock(operation: operation, expected: call.arguments[2], words: words, tids: tids) {
      waiter.lock = lock.kind
      waiter.lockOwner = lock.owner
    }
  }

  /// The thread whose end is waited for: the word is its number until the kernel clears it.
  static func ending(operation: Int, expected: UInt64, words: [UInt32], tids: Set<Int32>) -> Int32? {
    let waitBitset = 9
    guard operation == waitBitset, expected == UInt64(words[0]), let tid = Int32(exactly: words[0]), tids.contains(tid)
    else { return nil }
    return tid
  }

  static func lock(operation: Int, expected: UInt64, words: [UInt32], tids: Set<Int32>)
    -> (kind: KernelThread.Lock, owner: Int32)?
  {
    let (wait, lockPI, lockPI2) = (0, 6, 13)
    switch operation {
    case lockPI, lockPI2:
      let owner = Int32(words[0] & 0x3fff_ffff)
      return (.priorityInheriting, tids.contains(owner) ? owner : 0)
    case wait where expected == 2 && words[0] == 2:
      let owner = Int32(bitPattern: words[2])
      return tids.contains(owner) ? (.mutex, owner) : nil
    default: return nil
    }
  }

  /// 64 bits of a process's memory; nil if they may not be read.
  static func word(_ pid: Int32, at address: UInt64) -> UInt64? {
    let words = memory(ProcessFile.folder(pid) + "/", at: address, words: 2)
    return words.count == 2 ? UInt64(words[1]) << 32 | UInt64(words[0]) : nil
  }

  private static func memory(_ folder: String, at address: UInt64, words: Int) -> [UInt32] {
    guard let offset = off_t(exactly: address) else { return [] }
    let file = open(folder + "mem", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return [] }
    defer { close(file) }
    var values = [UInt32](repeating: 0, count: words)
    let count = values.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, offset) }
    return count == words * 4 ? values : []
  }

  // MARK: Files

  static func text(_ path: String) -> String {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    if file < 0 { return "" }
    defer { close(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 8192)
    while true {
      let count = read(file, &buffer, buffer.count)
      if count <= 0 { break }
      bytes += buffer[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  static func line(_ path: String) -> String { String(text(path).prefix { $0 != "\n" }) }

  /// What a descriptor is: a path, "pipe:[123]"; empty if that is not known.
  static func file(_ pid: Int32, _ descriptor: Int) -> String {
    target(ProcessFile.folder(pid) + "/fd/\(descriptor)")
  }

  private static func target(_ link: String) -> String {
    var bytes = [CChar](repeating: 0, count: 4096)
    let length = readlink(link, &bytes, bytes.count)
    return length < 0 ? "" : String(decoding: bytes[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// The clocks that the kernel's scheduler uses for threads' times. Each processor has its own clock, with an arbitrary start,
/// and the clock stops while the host runs another machine on the processor. So the tool moves to the processor that a thread
/// last ran on, and takes its own time there as the present.
final class SleepClock {
  private var now: [Int: Double] = [:]
  private let ownTime: (Int) -> Double?

  init() { ownTime = Self.time(on:) }

  /// With a clock that the caller reads, in milliseconds.
  init(_ ownTime: @escaping (Int) -> Double?) { self.ownTime = ownTime }

  /// How long a thread has not run, in nanoseconds, or somewhat longer; nil if the kernel does not tell.
  func age(ofSched text: String, stat: String) -> UInt64? {
    guard let time = Self.lastRun(text), let processor = Self.processor(ofStat: stat) else { return nil }
    if now[processor] == nil { now[processor] = ownTime(processor) }
    return now[processor].map { UInt64(max(0, $0 - time) * 1_000_000) }
  }

  /// Milliseconds.
  static func lastRun(_ text: String) -> Double? {
    for line in text.split(separator: "\n") where line.hasPrefix("se.exec_start") {
      return line.split(separator: ":").last.flatMap { Double($0.drop { $0 == " " }) }
    }
    return nil
  }

  /// The 39th field; the second one is the name, in parentheses.
  static func processor(ofStat text: String) -> Int? {
    guard let end = text.lastIndex(of: ")") else { return nil }
    let fields = text[end...].dropFirst().split(separator: " ")
    return fields.count > 36 ? Int(fields[36]) : nil
  }

  private typealias Affinity = @convention(c) (pid_t, Int, UnsafeMutableRawPointer) -> Int32
  // Swift does not import them. unsafe: these are their types, the second one's set being constant.
  private static let getAffinity = dlsym(nil, "sched_getaffinity").map { unsafeBitCast($0, to: Affinity.self) }
  private static let setAffinity = dlsym(nil, "sched_setaffinity").map { unsafeBitCast($0, to: Affinity.self) }

  private static func time(on processor: Int) -> Double? {
    guard let getAffinity, let setAffinity else { return nil }
    var former = [UInt8](repeating: 0, count: 1024)
    var one = former
    guard (0..<8 * one.count).contains(processor), getAffinity(0, former.count, &former) >= 0 else { return nil }
    one[processor / 8] = 1 << (processor % 8)
    guard setAffinity(0, one.count, &one) == 0 else { return nil }
    defer { _ = setAffinity(0, former.count, &former) }
    return lastRun(KernelReading.text("/proc/thread-self/sched"))
  }
}

extension KernelReading {
  /// The most pool threads that the process may have, as its environment says, or the library's own number.
  static func threadBudget(_ pid: Int32) -> Int {
    let number = environment(pid, "GRANDCENTRAL_THREAD_BUDGET").flatMap { Int($0) } ?? 0
    return number > 0 ? number : defaultThreadBudget
  }

  /// The value of a variable in the environment that the process was started with.
  static func environment(_ pid: Int32, _ name: String) -> Substring? {
    let entries = text(ProcessFile.folder(pid) + "/environ").split(separator: "\0")
    return entries.first { $0.hasPrefix(name + "=") }?.dropFirst(name.utf8.count + 1)
  }

  private static let defaultThreadBudget = 512
}
