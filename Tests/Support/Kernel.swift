// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// C functions that Swift does not import, variadic ones among them, called as what they are on the platforms that we test.
public enum Kernel {
  private typealias Prctl = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
  private typealias Gettid = @convention(c) () -> pid_t
  private typealias Pipe2 = @convention(c) (UnsafeMutablePointer<Int32>, Int32) -> Int32
  private typealias Affinity = @convention(c) (pid_t, Int, UnsafeMutablePointer<UInt>) -> Int32
  private typealias OpenTerminal =
    @convention(c) (
      UnsafeMutablePointer<Int32>, UnsafeMutablePointer<Int32>, UnsafeMutableRawPointer?, UnsafeRawPointer?,
      UnsafeRawPointer?
    ) -> Int32
  private typealias Unshare = @convention(c) (Int32) -> Int32
  private typealias Syscall = @convention(c) (Int, Int, Int, Int) -> Int

  /// From here on the calling thread may only read, write and exit; anything else kills it.
  /// False when the kernel refuses.
  public static func forbidSystemCalls() -> Bool {
    let setSeccomp: Int32 = 22
    let strict: UInt = 1
    return prctl(setSeccomp, strict, 0, 0, 0) == 0
  }

  /// Ends the calling thread; in a process with one thread, the process. Allowed under `forbidSystemCalls`.
  public static func exitThread(_ code: Int) -> Never {
    #if arch(x86_64)
      let number = 60
    #else
      let number = 93
    #endif
    _ = syscall(number, code, 0, 0)
    fatalError("the thread outlived its exit")
  }

  /// Whether a sanitizer's runtime is linked in: it makes system calls and keeps memory of its own.
  public static var isSanitized: Bool { isThreadSanitized || dlsym(nil, "__asan_init") != nil }

  /// Whether it is ThreadSanitizer, which has a thread of its own that wakes up, and starts none after a fork.
  public static var isThreadSanitized: Bool { dlsym(nil, "__tsan_init") != nil }

  /// Whether types are not specialised: threads then ask the Swift runtime for them when they do something for the first time.
  public static var isUnoptimised: Bool {
    var isChecked = false
    assert({ isChecked = true }() == ())
    return isChecked
  }

  /// A pseudo terminal: the end that a terminal program holds, and the one that a shell would have.
  public static func openTerminal() -> (program: Int32, user: Int32) {
    var ends: (Int32, Int32) = (-1, -1)
    let open = unsafeBitCast(dlsym(nil, "openpty"), to: OpenTerminal.self)
    precondition(open(&ends.0, &ends.1, nil, nil, nil) == 0, "openpty: \(errno)")
    return ends
  }

  /// Whether the kernel tells the process of forks: it has CAP_NET_ADMIN, bit 12, and is in the first namespaces of processes and users,
  /// and of networks, where the kernel's connector for that is listed if it has one.
  public static let tellsOfForks: Bool = {
    func link(_ path: String) -> String {
      var buffer = [CChar](repeating: 0, count: 64)
      let count = readlink(path, &buffer, 63)
      return String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    let line = (readText("/proc/self/status") ?? "").split(separator: "\n").first { $0.hasPrefix("CapEff:\t") }
    let capabilities = line.flatMap { UInt64($0.dropFirst(8), radix: 16) } ?? 0
    return capabilities >> 12 & 1 == 1 && link("/proc/self/ns/pid") == "pid:[4026531836]"
      && link("/proc/self/ns/user") == "user:[4026531837]"
      && (readText("/proc/net/connector") ?? "").contains("cn_proc")
  }()

  /// How many threads the process's user may have; very many, where there is no limit.
  public static var threadLimit: Int {
    var limit = rlimit()
    return getrlimit(__rlimit_resource_t(6), &limit) == 0 ? Int(min(limit.rlim_cur, 1 << 30)) : 1 << 30
  }

  /// The kernel's number of the calling thread.
  public static var threadID: pid_t { gettid() }

  /// Namespaces that `unshare` gives a process.
  public static let newMounts: Int32 = 0x0002_0000
  public static let newProcesses: Int32 = 0x2000_0000

  /// Gives the process a namespace of its own, and one of users where that takes it. False when the kernel refuses.
  public static func unshare(_ namespace: Int32) -> Bool {
    let newUsers: Int32 = 0x1000_0000
    let unshare = unsafeBitCast(dlsym(nil, "unshare"), to: Unshare.self)
    return unshare(namespace) == 0 || unshare(newUsers | namespace) == 0
  }

  /// Processors in the calling thread's affinity mask.
  public static var usableProcessors: Int { affinity.reduce(0) { $0 + $1.nonzeroBitCount } }

  /// Leaves the calling thread, and threads that it starts from now on, one processor.
  public static func useOneProcessor() -> Bool {
    var mask = affinity
    guard let word = mask.firstIndex(where: { $0 != 0 }) else { return false }
    let lowest = mask[word] & (~mask[word] + 1)
    for index in mask.indices { mask[index] = index == word ? lowest : 0 }
    return setAffinity(0, mask.count * MemoryLayout<UInt>.size, &mask) == 0
  }

  private static var affinity: [UInt] {
    var mask = [UInt](repeating: 0, count: 1024 / UInt.bitWidth)
    return getAffinity(0, mask.count * MemoryLayout<UInt>.size, &mask) == 0 ? mask : []
  }

  /// Both ends close in a spawned program; nil when descriptors have run out.
  public static func closeOnExecPipe() -> (readEnd: Int32, writeEnd: Int32)? {
    var ends: [Int32] = [-1, -1]
    return pipe2(&ends, O_CLOEXEC) == 0 ? (ends[0], ends[1]) : nil
  }

  /// The same of two connected stream sockets.
  public static func closeOnExecSockets() -> (readEnd: Int32, writeEnd: Int32)? {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    return socketpair(AF_UNIX, kind, 0, &ends) == 0 ? (ends[0], ends[1]) : nil
  }

  /// Waits until the other end of a pipe or a connection is closed in every process: those that other tests start have a copy
  /// of each descriptor until they run their program. False when that takes too long.
  public static func waitForHangUp(_ descriptor: Int32) -> Bool {
    eventually {
      var state = pollfd(fd: descriptor, events: 0, revents: 0)
      return poll(&state, 1, 0) == 1 && state.revents & Int16(POLLHUP | POLLERR) != 0
    }
  }

  // Looked up once, before any system call is forbidden.
  private static let prctl = unsafeBitCast(dlsym(nil, "prctl"), to: Prctl.self)
  private static let syscall = unsafeBitCast(dlsym(nil, "syscall"), to: Syscall.self)
  private static let gettid = unsafeBitCast(dlsym(nil, "gettid"), to: Gettid.self)
  private static let pipe2 = unsafeBitCast(dlsym(nil, "pipe2"), to: Pipe2.self)
  private static let getAffinity = unsafeBitCast(dlsym(nil, "sched_getaffinity"), to: Affinity.self)
  private static let setAffinity = unsafeBitCast(dlsym(nil, "sched_setaffinity"), to: Affinity.self)
  public static func prepare() { _ = (prctl, syscall) }
}
