// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc
import Synchronization

/// A request to end that came before the command's process was known; 0: none.
private let requested = Atomic<Int32>(0)
/// The command's process, to which requests to end are passed on at once, whatever the tool is doing; 0: none.
private let receiver = Atomic<pid_t>(0)

/// A command that the tool has started: its streams, signals and exit code are its own.
struct TracedCommand {
  enum Failure: Error {
    case library(DropIn.Failure)
    case program(Program.Failure)
    case refused(String, [Examination.Obstacle])
    case notStarted(String, code: Int32)
  }

  let process: pid_t
  let program: Program
  /// The regions of the command's first process that uses the library.
  let offer: RegionOffer?

  /// What `start` has the command switch on, but for what the tool's own environment asks for: that stays on when the tool stops.
  static var switchedOn: UInt32 {
    let (record, objects) = (UInt32(GC_SWITCH_RECORD), UInt32(GC_SWITCH_OBJECTS))
    let keepsRecords = Files.variable("GRANDCENTRAL_RECORD") == "ring"
    let keepsObjects = keepsRecords || Files.variable("GRANDCENTRAL_INSPECT") == "1"
    return UInt32(GC_SWITCH_COLLECT) | (keepsRecords ? 0 : record) | (keepsObjects ? 0 : objects)
  }

  /// Starts it as `gcd run` would, with the recorder on from its first instruction.
  static func start(_ command: [String], library: String?) throws(Failure) -> TracedCommand {
    let program: Program
    do { program = try Program.find(command[0]) } catch { throw .program(error) }
    let environment = try environment(for: program, named: command[0], library: library)
    EndOfProcess.keepAll()
    let offer = RegionOffer()
    let own = ["GRANDCENTRAL_RECORD=collect"] + [offer?.variable].compactMap { $0 }
    let others = environment.filter { entry in
      !["GRANDCENTRAL_RECORD=", GC_INSIGHT_OFFER_VARIABLE + "="].contains { entry.hasPrefix($0) }
    }
    let start = { spawn(program.path, CStrings(command), CStrings(others + own)) }
    let (process, code) = offer?.handDown(start) ?? start()
    if code != 0 { throw .notStarted(command[0], code: code) }
    passOnSignals(to: process)
    return TracedCommand(process: process, program: program, offer: offer)
  }

  /// A program that has the library in itself needs no other.
  private static func environment(
    for program: Program, named name: String, library wish: String?
  ) throws(Failure) -> [String] {
    let isOurs = MappedFile(program.binary).map { DropIn.isOurs($0) } ?? false
    if isOurs, wish == nil { return Replacement.environment }
    let library: DropIn
    do { library = try DropIn.find(wish) } catch { throw .library(error) }
    let examination = Examination(program, library)
    guard examination.obstacles.isEmpty, let environment = examination.replacement?.environment(library) else {
      throw .refused(name, examination.obstacles)
    }
    return environment
  }

  /// The process, or what went wrong.
  private static func spawn(_ path: String, _ arguments: CStrings, _ variables: CStrings) -> (pid_t, Int32) {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Signals that the tool ignores have the disposition in the command that the tool was started with.
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGHUP] where !Interrupt.isIgnored(signal) {
      sigaddset(&signals, signal)
    }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    // Ctrl-C and its like reach the command by themselves; a request to end is passed on.
    var handed: [(Int32, sigaction)] = []
    for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP] where !Interrupt.isIgnored(signal) {
      var (action, old) = (sigaction(), sigaction())
      let isPassedOn = signal == SIGTERM || signal == SIGHUP
      action.__sigaction_handler.sa_handler = isPassedOn ? passOn : SIG_IGN
      sigaction(signal, &action, &old)
      handed.append((signal, old))
    }
    var process: pid_t = 0
    let code = withExtendedLifetime((arguments, variables)) {
      Path(exactly: path).withCString {
        posix_spawn(&process, $0, nil, &attributes, arguments.pointers, variables.pointers)
      }
    }
    return (process, code)
  }

  /// The handler of requests to end.
  private static let passOn: @convention(c) (Int32) -> Void = { signal in
    let code = errno
    // seq-cst: a handler that sees no receiver would leave its request where passOnSignals has already looked.
    requested.store(signal, ordering: .sequentiallyConsistent)
    let process = receiver.load(ordering: .sequentiallyConsistent)
    if process != 0 { kill(process, requested.exchange(0, ordering: .sequentiallyConsistent)) }
    errno = code
  }

  /// Requests to end are the process's from now on, also one that has come before.
  private static func passOnSignals(to process: pid_t) {
    // seq-cst: see `passOn`.
    receiver.store(process, ordering: .sequentiallyConsistent)
    let signal = requested.exchange(0, ordering: .sequentiallyConsistent)
    if signal != 0 { kill(process, signal) }
  }

  /// Whether it has ended; it is not waited for.
  var hasEnded: Bool {
    var information = siginfo_t()
    return waitid(P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT) == 0 && information.si_signo != 0
  }

  /// Waits for its end, and ends as it did: with its exit code, or by its signal.
  func endAlike() -> Never {
    var information = siginfo_t()
    while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) < 0 {
      guard errno == EINTR else { exit(1) }
    }
    // Once it has been waited for, another process may get its number.
    // seq-cst: see `passOn`.
    receiver.store(0, ordering: .sequentiallyConsistent)
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {
      guard errno == EINTR else { exit(1) }
    }
    let signal = status & 0x7f
    guard signal != 0 else { exit((status >> 8) & 0xff) }
    // The command has dumped its core already.
    var limit = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, signal)
    sigprocmask(SIG_UNBLOCK, &signals, nil)
    Glibc.signal(signal, SIG_DFL)
    kill(getpid(), signal)
    exit(128 + signal)
  }
}
