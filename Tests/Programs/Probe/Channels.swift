// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral

extension Scenario {
  static let channels: [String: Body] = [
    "io-way": ioWay, "io-no-descriptors": ioNoDescriptors, "io-fork": ioFork, "io-fork-daemon": ioForkDaemon,
    "io-fork-opens": ioForkOpens, "io-no-access": ioNoAccess,
    "io-small-disk": ioSmallDisk, "io-no-ring-threads": ioNoRingThreads,
    "io-odd-writes": ioOddWrites, "io-file-limit": ioFileLimit,
  ]

  /// What a read or write ended with.
  private final class Outcome: Sendable {
    let (ended, bytes, error) = (Latch(), Counter(), Counter(-1))

    var handler: @Sendable (Bool, DispatchData?, Int32) -> Void {
      { done, data, error in
        self.bytes.add(data?.count ?? 0)
        if done {
          self.error.add(1 + Int(error))
          self.ended.open()
        }
      }
    }

    func reportWrite(_ name: String) {
      require(ended.wait(), "the write ends")
      report("error-\(name)", error.value)
      report("rest-\(name)", bytes.value)
    }
  }

  private static func file(in folder: String, _ count: Int) -> Int32 {
    var template = Array("\(folder)/gc-probe-XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    require(descriptor >= 0, "mkstemp in \(folder)")
    unlink(template)
    let bytes = [UInt8](repeating: 7, count: count)
    require(write(descriptor, bytes, count) == count, "write")
    lseek(descriptor, 0, SEEK_SET)
    return descriptor
  }

  private static func channel(_ descriptor: Int32, _ type: DispatchIO.StreamType = .stream) -> DispatchIO {
    DispatchIO(type: type, fileDescriptor: descriptor, queue: .global()) { _ in }
  }

  private static func text(_ count: Int) -> DispatchData {
    [UInt8](repeating: 9, count: count).withUnsafeBytes { DispatchData(bytes: $0) }
  }

  private static var hasRing: Bool { hasDescriptor(of: "io_uring") }

  static func hasDescriptor(of kind: String) -> Bool {
    (0..<100).contains { number in
      var link = [UInt8](repeating: 0, count: 100)
      let count = link.withUnsafeMutableBytes { bytes in
        readlink("/proc/self/fd/\(number)", bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
      }
      return String(decoding: link[..<max(0, count)], as: UTF8.self).contains(kind)
    }
  }

  /// Files that the page cache does not serve: streams, and many random operations at once. Tells whether a ring was used.
  private static let ioWay: Body = {
    // A file system in memory refuses to be asked; a fresh file of another is dropped from the cache.
    for folder in ["/dev/shm", "/tmp"] {
      let descriptor = file(in: folder, 2_000_000)
      fsync(descriptor)
      posix_fadvise(descriptor, 0, 0, Int32(POSIX_FADV_DONTNEED))
      let whole = Outcome()
      let stream = channel(descriptor)
      stream.read(offset: 0, length: .max, queue: .global(), ioHandler: whole.handler)
      require(whole.ended.wait() && whole.bytes.value == 2_000_000 && whole.error.value == 0, "stream in \(folder)")
      let random = channel(file(in: folder, 2_000_000), .random)
      let outcomes = (0..<200).map { index in
        let outcome = Outcome()
        if index % 2 == 0 {
          random.read(offset: index * 9_000, length: 9_000, queue: .global(), ioHandler: outcome.handler)
        } else {
          random.write(offset: index * 9_000, data: text(9_000), queue: .global(), ioHandler: outcome.handler)
        }
        return outcome
      }
      for (index, outcome) in outcomes.enumerated() {
        require(outcome.ended.wait() && outcome.error.value == 0, "random \(index) in \(folder)")
        require(outcome.bytes.value == (index % 2 == 0 ? 9_000 : 0), "bytes of \(index) in \(folder)")
      }
    }
    report("ring", hasRing)
  }

  /// A path cannot be opened; a pipe that cannot be watched is, later.
  private static let ioNoDescriptors: Body = {
    var (ends, others): ([Int32], [Int32]) = ([0, 0], [0, 0])
    require(pipe(&ends) == 0 && pipe(&others) == 0, "pipe")
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    var none = limit
    none.rlim_cur = 0
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
    let (path, waiting, ticking) = (Outcome(), Outcome(), Outcome())
    let opened = DispatchIO(type: .stream, path: "/etc/passwd", oflag: O_RDONLY, mode: 0, queue: .global()) { _ in }!
    opened.read(offset: 0, length: .max, queue: .global(), ioHandler: path.handler)
    require(path.ended.wait(), "the open fails")
    report("open", path.error.value)
    let stream = channel(ends[0])
    stream.read(offset: 0, length: 3, queue: .global(), ioHandler: waiting.handler)
    // Its interval is over long after there are descriptors again.
    let another = channel(others[0])
    another.setInterval(interval: .seconds(3_600))
    another.read(offset: 0, length: 3, queue: .global(), ioHandler: ticking.handler)
    report("early", waiting.ended.wait(seconds: 0.1) || ticking.ended.isOpen)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    for end in [ends[1], others[1]] { require(write(end, "abc", 3) == 3, "write") }
    for outcome in [waiting, ticking] {
      require(outcome.ended.wait(), "the read ends once there are descriptors again")
    }
    report("read", waiting.error.value + ticking.error.value)
  }

  /// Channels work in a child, beside those of the parent.
  private static let ioFork: Body = {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    // The ring serves random channels.
    let before = channel(file(in: "/dev/shm", 1_000_000), .random)
    let (first, last) = (Outcome(), Outcome())
    before.read(offset: 0, length: 500_000, queue: .global(), ioHandler: first.handler)
    require(first.ended.wait() && first.error.value == 0, "the parent reads")
    let child = gc_fork()
    if child == 0 {
      for folder in ["/dev/shm", "/tmp"] {
        let outcome = Outcome()
        channel(file(in: folder, 1_000_000), .random).read(
          offset: 0, length: .max, queue: .global(), ioHandler: outcome.handler)
        require(outcome.ended.wait() && outcome.bytes.value == 1_000_000, "the child reads in \(folder)")
      }
      _exit(0)
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    report("child", Int(status))
    before.read(offset: 500_000, length: .max, queue: .global(), ioHandler: last.handler)
    require(last.ended.wait() && last.bytes.value == 500_000, "the parent reads on")
  }

  /// The child closes all that it has of the parent's, as a daemon does, and opens files of its own.
  private static let ioForkDaemon: Body = {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    let before = channel(file(in: "/dev/shm", 1_000), .random)
    let byPath = DispatchIO(type: .stream, path: "/etc/passwd", oflag: O_RDONLY, mode: 0, queue: .global()) { _ in }!
    for one in [before, byPath] {
      let outcome = Outcome()
      one.read(offset: 0, length: 10, queue: .global(), ioHandler: outcome.handler)
      require(outcome.ended.wait() && outcome.error.value == 0, "the parent reads")
    }
    let child = gc_fork()
    if child == 0 {
      for number in 3..<256 { close(Int32(number)) }
      let own = (0..<64).map { _ in open("/etc/passwd", O_RDONLY) }
      byPath.close()
      let outcome = Outcome()
      channel(own[0], .random).read(offset: 0, length: .max, queue: .global(), ioHandler: outcome.handler)
      require(outcome.ended.wait() && outcome.error.value == 0, "the child reads")
      // A helper that closes something has had its turn.
      let another = Outcome()
      let last = DispatchIO(type: .stream, path: "/etc/passwd", oflag: O_RDONLY, mode: 0, queue: .global()) { _ in }!
      last.read(offset: 0, length: 1, queue: .global(), ioHandler: another.handler)
      require(another.ended.wait(), "the child reads by a path")
      _exit(Int32(own.filter { fcntl($0, F_GETFD) < 0 }.count))
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    report("child", Int(status))
  }

  /// The child opens the path of a channel that its parent has made, and closes it.
  private static let ioForkOpens: Body = {
    if Kernel.isThreadSanitized { skip("ThreadSanitizer starts no thread after a fork") }
    let path = "/tmp/gc-probe-fifo-\(getpid())"
    require(mkfifo(path, 0o600) == 0, "mkfifo")
    let cleaned = Latch()
    let channel = DispatchIO(type: .stream, path: path, oflag: O_RDWR, mode: 0, queue: .global()) { _ in cleaned.open()
    }!
    // The path has been examined, and no worker is at work: what is under way at a fork is the parent's.
    let examined = Latch()
    channel.barrier { examined.open() }
    require(examined.wait(), "the path is examined")
    let areAsleep = eventually {
      let workers = ProcessThreads.workers
      return workers.allSatisfy { $0.state == "S" } && workers == ProcessThreads.workers
    }
    require(areAsleep, "the workers sleep")
    let child = gc_fork()
    if child == 0 {
      alarm(20)
      let outcome = Outcome()
      channel.read(offset: 0, length: 1, queue: .global(), ioHandler: outcome.handler)
      let writer = open(path, O_RDWR)
      require(write(writer, "a", 1) == 1 && outcome.ended.wait(), "the child reads")
      let number = channel.fileDescriptor
      require(number >= 0 && fcntl(number, F_GETFD) >= 0, "the path is open")
      channel.close()
      require(cleaned.wait(), "the cleanup handler")
      // The engine may have something else there by now.
      var file = stat()
      _exit(fstat(number, &file) < 0 || file.st_mode & S_IFMT != S_IFIFO ? 0 : 1)
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    report("child", Int(status))
    unlink(path)
  }

  /// Without the right to read a file.
  private static let ioNoAccess: Body = {
    var template = Array("/tmp/gc-probe-XXXXXX".utf8CString)
    close(mkstemp(&template))
    chmod(template, 0)
    if geteuid() == 0, setuid(65_534) != 0 { skip("cannot become nobody") }
    let (outcome, cleaned) = (Outcome(), Counter(-1))
    let denied = DispatchIO(type: .stream, path: template, oflag: O_RDONLY, mode: 0, queue: .global()) {
      cleaned.add(1 + Int($0))
    }!
    denied.read(offset: 0, length: 1, queue: .global(), ioHandler: outcome.handler)
    require(outcome.ended.wait(), "the open fails")
    report("error", outcome.error.value)
    denied.close()
    require(eventually { cleaned.value >= 0 }, "the cleanup handler")
    report("cleanup", cleaned.value)
    unlink(template)
  }

  /// The kernel has no thread for what the ring cannot do at once.
  private static let ioNoRingThreads: Body = {
    let descriptor = file(in: "/tmp", 0)
    // The limit is not one of root's.
    if geteuid() == 0, setuid(65_534) != 0 { skip("cannot become nobody") }
    // The workers are there before.
    let begun = Latch(4)
    for _ in 0..<4 {
      DispatchQueue.global().async {
        begun.open()
        begun.wait()
      }
    }
    require(begun.wait(), "the workers begin")
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &none)
    let random = channel(descriptor, .random)
    let outcomes = (0..<20).map { index in
      let outcome = Outcome()
      random.write(offset: index * 10, data: text(10), queue: .global(), ioHandler: outcome.handler)
      return outcome
    }
    for outcome in outcomes { require(outcome.ended.wait() && outcome.error.value == 0, "\(outcome.error.value)") }
    report("size", Int(lseek(descriptor, 0, SEEK_END)))
    // LeakSanitizer would want a thread.
    fflush(nil)
    _exit(0)
  }

  /// What writes answer: `GC_ERROR` to the question whether they would wait, or, if it is 0, that nothing was written.
  private static let ioOddWrites: Body = {
    let error = getenv("GC_ERROR").flatMap { Int32(String(cString: $0)) } ?? 0
    let noWait = SystemCallFilter.Condition.hasBit(0x8, argument: 5)
    guard SystemCallFilter.refuse([.pwritev2], with: error, where: error == 0 ? nil : noWait) else {
      skip("no filters")
    }
    let outcome = Outcome()
    let descriptor = file(in: "/tmp", 0)
    channel(descriptor).write(offset: 0, data: text(1_000), queue: .global(), ioHandler: outcome.handler)
    require(outcome.ended.wait(), "the write ends")
    report("error", outcome.error.value)
    report("rest", outcome.bytes.value)
    report("size", Int(lseek(descriptor, 0, SEEK_END)))
  }

  /// A file system of 64 KiB.
  private static let ioSmallDisk: Body = {
    typealias Mount =
      @convention(c) (
        UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafePointer<CChar>, UInt, UnsafePointer<CChar>
      ) -> Int32
    let mount = unsafeBitCast(dlsym(nil, "mount"), to: Mount.self)
    if !Kernel.unshare(Kernel.newMounts) { skip("unshare: \(errno)") }
    // The mount is seen here only, and goes with the process.
    let makePrivate: UInt = 1 << 18 | 1 << 14
    if mount("none", "/", "none", makePrivate, "") != 0 { skip("private: \(errno)") }
    if mount("tmpfs", "/mnt", "tmpfs", 0, "size=64k") != 0 { skip("mount: \(errno)") }
    // The ring serves the random channel.
    for (type, name) in [(DispatchIO.StreamType.stream, "stream"), (.random, "random")] {
      let outcome = Outcome()
      channel(open("/mnt/file", O_RDWR | O_CREAT | O_TRUNC, 0o600), type).write(
        offset: 0, data: text(100_000), queue: .global(), ioHandler: outcome.handler)
      outcome.reportWrite(name)
    }
  }

  /// Files may have 4,096 bytes. The signal that the kernel sends for more ends a process.
  @Sendable private static func ioFileLimit() {
    let files = (0..<3).map { _ in file(in: "/tmp", 0) }
    signal(SIGXFSZ, SIG_DFL)
    block(SIGXFSZ, how: SIG_UNBLOCK)
    var limit = rlimit(rlim_cur: 4096, rlim_max: 4096)
    require(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0, "setrlimit")
    let outcomes = (stream: Outcome(), random: Outcome(), single: Outcome())
    channel(files[0]).write(offset: 0, data: text(8192), queue: .global(), ioHandler: outcomes.stream.handler)
    channel(files[1], .random).write(offset: 0, data: text(8192), queue: .global(), ioHandler: outcomes.random.handler)
    DispatchIO.write(toFileDescriptor: files[2], data: text(8192), runningHandlerOn: .global()) {
      outcomes.single.handler(true, $0, $1)
    }
    for (outcome, name) in [(outcomes.stream, "stream"), (outcomes.random, "random"), (outcomes.single, "single")] {
      outcome.reportWrite(name)
    }
  }
}
