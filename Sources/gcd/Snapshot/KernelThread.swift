// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What the kernel says about a process.
struct KernelProcess: Sendable, Equatable {
  var name = ""
  /// The state of its first thread that has not ended: `R` runs, `S` sleeps, `D` sleeps in the kernel, `T` stopped, `t` traced, `Z` ended.
  var state: Character = "?"

  var isStopped: Bool { state == "T" || state == "t" }
}

/// What the kernel says about a thread.
struct KernelThread: Sendable, Equatable {
  var state: Character = "?"
  /// The function of the kernel that it sleeps in; empty if it does not.
  var channel = ""
  /// The system call that it is in, and its arguments; nil if it is in none, or may not be asked.
  var call: SystemCall?
  /// Since when it has not run, in nanoseconds; nil if the kernel does not tell.
  var age: UInt64?
  /// What the call's descriptor is: a path, "pipe:[123]", "socket:[123]".
  var descriptor = ""
  /// The thread that holds the lock that this one waits for; 0 if that is not known.
  var lockOwner: Int32 = 0
  /// What kind of lock it is.
  var lock = Lock.unknown

  enum Lock: String, Sendable {
    case unknown, mutex, priorityInheriting
    /// No lock: `pthread_join`.
    case threadEnd
  }

  /// It runs, or would if there were a processor.
  var isRunning: Bool { state == "R" }
}

struct SystemCall: Sendable, Equatable {
  var number: Int
  var arguments: [UInt64] = []

  init(number: Int, arguments: [UInt64] = []) {
    self.number = number
    self.arguments = arguments
  }

  /// A line of `/proc/PID/task/TID/syscall`: the number, six arguments, and two addresses. Nil for a thread that runs, and for
  /// one outside of a call, whose number is -1.
  init?(line: String) {
    let words = line.split(separator: " ")
    guard let first = words.first, let number = Int(first), number >= 0 else { return nil }
    self.number = number
    arguments = words.dropFirst().prefix(6).compactMap { UInt64($0.dropFirst(2), radix: 16) }
  }

  /// The call's name, if it is one that threads wait in.
  var name: String? { Self.names[number] }

  /// Its first argument is a descriptor.
  var hasDescriptor: Bool { name.map { Self.descriptorCalls.contains($0) } ?? false }

  /// The operation of a `futex`, without its options.
  var futexOperation: Int? {
    guard name == "futex", arguments.count > 2 else { return nil }
    return Int(arguments[1] & 0x7f)
  }

  private static let descriptorCalls: Set<String> = [
    "read", "pread64", "readv", "write", "pwrite64", "writev", "accept", "accept4", "connect", "recvfrom", "recvmsg",
    "recvmmsg", "sendto", "sendmsg", "fsync", "fdatasync", "flock", "fcntl", "ioctl", "epoll_wait", "epoll_pwait",
    "epoll_pwait2", "sendfile", "splice",
  ]

  #if arch(x86_64)
    private static let names: [Int: String] = [
      0: "read", 1: "write", 7: "poll", 16: "ioctl", 17: "pread64", 18: "pwrite64", 19: "readv", 20: "writev",
      23: "select",
      34: "pause", 35: "nanosleep", 40: "sendfile", 42: "connect", 43: "accept", 44: "sendto", 45: "recvfrom",
      46: "sendmsg", 47: "recvmsg", 61: "wait4", 65: "semop", 68: "msgget", 70: "msgrcv", 72: "fcntl", 73: "flock",
      74: "fsync", 75: "fdatasync", 128: "rt_sigtimedwait", 130: "rt_sigsuspend", 202: "futex", 220: "semtimedop",
      230: "clock_nanosleep", 232: "epoll_wait", 247: "waitid", 257: "openat", 270: "pselect6", 271: "ppoll",
      275: "splice", 281: "epoll_pwait", 288: "accept4", 299: "recvmmsg", 426: "io_uring_enter", 441: "epoll_pwait2",
      449: "futex_waitv",
    ]
  #else
    private static let names: [Int: String] = [
      22: "epoll_pwait", 25: "fcntl", 29: "ioctl", 32: "flock", 56: "openat", 63: "read", 64: "write", 65: "readv",
      66: "writev", 67: "pread64", 68: "pwrite64", 71: "sendfile", 72: "pselect6", 73: "ppoll", 76: "splice",
      82: "fsync", 83: "fdatasync", 95: "waitid", 98: "futex", 101: "nanosleep", 115: "clock_nanosleep",
      133: "rt_sigsuspend", 137: "rt_sigtimedwait", 188: "msgrcv", 192: "semtimedop", 193: "semop", 202: "accept",
      203: "connect", 206: "sendto", 207: "recvfrom", 211: "sendmsg", 212: "recvmsg", 242: "accept4", 243: "recvmmsg",
      260: "wait4", 426: "io_uring_enter", 441: "epoll_pwait2", 449: "futex_waitv",
    ]
  #endif
}

extension KernelThread {
  /// What the thread does, after "it": "runs", "waits for a lock …", "reads from …".
  var words: String {
    switch state {
    case "R": return "runs"
    case "Z", "X": return "has ended"
    default: break
    }
    guard let call, let name = call.name else {
      if state == "D" { return "sleeps in the kernel" + (channel.isEmpty ? "" : ", in \(channel)") }
      return channel.isEmpty ? "is not running" : "sleeps in the kernel, in \(channel)"
    }
    switch name {
    case "futex", "futex_waitv": return lockWords
    case "nanosleep", "clock_nanosleep": return "sleeps for a time (\(name))"
    case "poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2":
      return "waits for events of descriptors (\(name))"
    case "wait4", "waitid": return "waits for a child process to end (\(name))"
    case "pause", "rt_sigsuspend", "rt_sigtimedwait": return "waits for a signal (\(name))"
    case "openat": return "waits in an open (\(name)), as of a FIFO that has no other end"
    default: return call.hasDescriptor ? descriptorWords(name, call) : "waits in \(name)"
    }
  }

  private var lockWords: String {
    switch lock {
    case .unknown: "waits for a lock or a condition of the program's own (futex)"
    case .mutex: "waits for a mutex of the program's own"
    case .priorityInheriting: "waits for a Mutex of the program's own"
    case .threadEnd: "waits for a thread to end (pthread_join)"
    }
  }

  private func descriptorWords(_ name: String, _ call: SystemCall) -> String {
    let verb =
      switch name {
      case "read", "pread64", "readv", "recvfrom", "recvmsg", "recvmmsg": "reads from"
      case "write", "pwrite64", "writev", "sendto", "sendmsg", "sendfile", "splice": "writes to"
      case "accept", "accept4": "waits for a connection to"
      case "connect": "connects"
      case "flock", "fcntl": "waits for a file lock on"
      default: "is in \(name) of"
      }
    let number = Int32(truncatingIfNeeded: call.arguments.first ?? 0)
    // A file may have any name.
    let file = descriptor.isEmpty ? "" : ", \(TextLayout.printable(descriptor))"
    return "\(verb) descriptor \(number)\(file) (\(name))"
  }
}
