// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

@testable import gcd

/// The built tool, running in a process of its own.
final class ToolProcess {
  let identifier: pid_t
  private let output: Int32
  private let error: Int32
  /// The tool's end of an output that does not block, until `waitUntilFull`; -1 otherwise.
  private var writer: Int32 = -1
  /// What has been read so far, and the descriptors that are not at their ends.
  private var texts: [Int32: [UInt8]] = [:]
  private var open: [Int32] = []

  struct Result {
    let output: String
    let error: String
    /// The exit code; a signal that killed the process counts as its negative.
    let code: Int32
  }

  /// Runs the tool to its end.
  static func run(_ arguments: [String], folder: String? = nil, environment: [String] = []) -> Result {
    ToolProcess(arguments, folder: folder, environment: environment).wait()
  }

  /// Starts the tool, or the shell with a line in which `$0` is the tool; arguments and environment are exact text. On a terminal, all it writes is `output`.
  /// An output that does not block is a short pipe, and is read once `waitUntilFull` has returned.
  init(
    _ arguments: [String], shell line: String? = nil, folder: String? = nil, environment: [String] = [],
    onTerminal: Bool = false, outputBlocks: Bool = true
  ) {
    let (outputRead, outputWrite) = onTerminal ? Self.terminal() : Self.pipe()
    let (errorRead, errorWrite) = onTerminal ? (dup(outputRead), dup(outputWrite)) : Self.pipe()
    if !outputBlocks {
      // F_SETPIPE_SZ
      _ = fcntl(outputWrite, 1031, 4096)
      _ = fcntl(outputWrite, F_SETFL, O_NONBLOCK)
      writer = fcntl(outputWrite, F_DUPFD_CLOEXEC, 3)
    }
    var command = [Self.tool] + arguments
    if let line { command = ["/bin/sh", "-c", line] + command }
    identifier = Self.spawn(
      command, environment: environment, folder: folder, output: outputWrite, error: errorWrite)
    close(outputWrite)
    close(errorWrite)
    output = outputRead
    error = errorRead
    // The two ends of a terminal are the same.
    open = onTerminal ? [output] : [output, error]
  }

  deinit {
    close(output)
    close(error)
  }

  /// Waits until an output that does not block has no room left, and the tool waits or has ended. False if that does not happen.
  func waitUntilFull() -> Bool {
    defer {
      close(writer)
      writer = -1
    }
    let isFull = untilFound {
      var entry = pollfd(fd: writer, events: Int16(POLLOUT), revents: 0)
      return poll(&entry, 1, 0) == 0 ? true : nil
    }
    let isStill = untilFound {
      let state = ProcessFile.text("/proc/\(identifier)/stat").flatMap { KernelReading.state(ofStat: $0) }
      return state == "S" || state == "Z" ? true : nil
    }
    return isFull == true && isStill == true
  }

  /// Reads all the tool writes, until it ends; calls `watch` with what it has written to its output so far.
  func wait(_ watch: (String) -> Void = { _ in }) -> Result {
    while readSome() { watch(text(output)) }
    var status: Int32 = 0
    waitpid(identifier, &status, 0)
    let signal = status & 0x7f
    return Result(output: text(output), error: text(error), code: signal != 0 ? -signal : (status >> 8) & 0xff)
  }

  /// Reads until what the tool has written to its output and as errors is what `isAwaited` waits for. False if the tool
  /// ends, or is silent for two minutes, before.
  func read(until isAwaited: (_ output: String, _ error: String) -> Bool) -> Bool {
    while !isAwaited(text(output), text(error)) {
      if !readSome() { return isAwaited(text(output), text(error)) }
    }
    return true
  }

  /// Types something on the tool's terminal, if that is what it reads.
  func type(_ text: String) { _ = write(output, text, text.utf8.count) }

  private func text(_ descriptor: Int32) -> String { String(decoding: texts[descriptor] ?? [], as: UTF8.self) }

  /// False if there is nothing more to read. Kills a tool that is silent for two minutes.
  private func readSome() -> Bool {
    guard !open.isEmpty else { return false }
    var polled = open.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    guard poll(&polled, nfds_t(polled.count), 120_000) > 0 else {
      kill(identifier, SIGKILL)
      open = []
      return false
    }
    for entry in polled where entry.revents != 0 {
      var buffer = [UInt8](repeating: 0, count: 65536)
      let count = Glibc.read(entry.fd, &buffer, buffer.count)
      if count > 0 { texts[entry.fd, default: []] += buffer[..<count] } else { open.removeAll { $0 == entry.fd } }
    }
    return true
  }

  /// Waits until the tool has a file of this name open. False if that does not happen, which is a failure.
  func waitUntilOpen(_ name: String) -> Bool {
    for _ in 0..<60_000 {
      for descriptor in 0..<64 {
        var target = [UInt8](repeating: 0, count: 4096)
        let length = target.withUnsafeMutableBytes { buffer in
          let place = buffer.baseAddress!.assumingMemoryBound(to: CChar.self)
          return readlink("/proc/\(identifier)/fd/\(descriptor)", place, buffer.count)
        }
        if length > 0, String(decoding: target[..<length], as: UTF8.self).hasSuffix(name) { return true }
      }
      usleep(1000)
    }
    return false
  }

  // MARK: Starting

  /// The tool lies beside the tests.
  private static let tool: String = {
    var buffer = [CChar](repeating: 0, count: 4096)
    let length = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    let own = String(decoding: buffer[..<max(0, length)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    for candidate in [own] + CommandLine.arguments {
      guard let slash = candidate.lastIndex(of: "/") else { continue }
      let path = candidate[..<slash] + "/gcd"
      if access(String(path), X_OK) == 0 { return String(path) }
    }
    fatalError("the tool has not been built beside \(own)")
  }()

  private static func pipe() -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    guard Glibc.pipe(&ends) == 0 else { fatalError("no pipe: \(errno)") }
    // Another test's child must not hold this pipe open.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  private static func terminal() -> (read: Int32, write: Int32) {
    // TIOCSPTLCK and TIOCGPTN, which Swift does not import.
    let (unlock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
    let main = Glibc.open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    var unlocked: Int32 = 0
    var number: UInt32 = 0
    guard main >= 0, ioctl(main, unlock, &unlocked) == 0, ioctl(main, getNumber, &number) == 0 else {
      fatalError("no terminal: \(errno)")
    }
    return (main, Glibc.open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC))
  }

  private static func copied(_ text: String) -> UnsafeMutablePointer<CChar>? {
    Path(exactly: text).withCString { strdup($0) }
  }

  private static func spawn(
    _ command: [String], environment: [String], folder: String?, output: Int32, error: Int32
  ) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_adddup2(&actions, error, 2)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // The process that runs the tests may ignore or block Ctrl-C; the tool must see it as from a shell.
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigaddset(&signals, SIGINT)
    sigaddset(&signals, SIGTERM)
    sigaddset(&signals, SIGHUP)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    let words = folder.map { ["/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", $0] + command } ?? command
    var arguments = words.map(copied) + [nil]
    // The tool ends from within: what its main function still holds is not a leak.
    let defaults = ["PATH=/usr/bin:/bin", "LANG=C.UTF-8", "ASAN_OPTIONS=detect_leaks=0"]
    let unset = defaults.filter { entry in
      !environment.contains { $0.hasPrefix(entry.prefix { $0 != "=" } + "=") }
    }
    var variables = (unset + environment).map(copied) + [nil]
    defer { for string in arguments + variables { free(string) } }
    var identifier: pid_t = 0
    let code = posix_spawn(&identifier, words[0], &actions, &attributes, &arguments, &variables)
    guard code == 0 else { fatalError("cannot start \(words): \(code)") }
    return identifier
  }
}

/// What `look` finds. Asks again and again, for a minute or a little more: the process may need the time.
func untilFound<Found>(_ look: () throws -> Found?) rethrows -> Found? {
  for _ in 0..<60_000 {
    if let found = try look() { return found }
    usleep(1_000)
  }
  return nil
}
