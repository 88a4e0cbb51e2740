// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import GrandCentralTesting

/// Runs a program, once in each schedule that it is given, in a process each.
final class SimulatedProgram: Attempting {
  /// What one process has left.
  struct Run {
    let report: SimReport?
    /// What the program has written, to its output and as errors.
    let output: [UInt8]
    let status: DispatchSource.ProcessExitStatus
    /// Why the tool has ended it; nil if it has not.
    let wasKilled: Excess?
    /// There is a part of a report.
    var isCut = false

    /// What was wrong.
    var sentence: String {
      if let wasKilled { return wasKilled.rawValue }
      if let report { return report.said }
      return switch status {
      case .killed(let signal, _) where Self.ofOthers.contains(signal):
        "the program was stopped from outside, by the signal \(signal), \(EndOfProcess.name(of: signal)), if it has not sent that itself"
      case .killed(let signal, _):
        "the program is brought down by the signal \(signal), \(EndOfProcess.name(of: signal))"
      case .exited(let code) where isCut:
        "the program has ended with the code \(code), and its report is cut off: is there room in \(Scratch.place)?"
      case .exited(let code):
        "the program has ended with the code \(code), and the simulation has not seen that: "
          + "has it become another program, or could no report be written?"
      }
    }

    var reason: SimulationFailure.Reason? {
      if wasKilled != nil { return .endless([]) }
      if let report { return report.reason ?? badEnd }
      // Without a report it has not come to its `main`, or has not left it in any way that is seen.
      return switch status {
      case .killed(let signal, _) where Self.ofOthers.contains(signal): .escape(sentence)
      case .killed: badEnd
      case .exited: .escape(sentence)
      }
    }

    /// Signals that a terminal sends, a user, or the kernel for want of memory.
    private static let ofOthers = [SIGHUP, SIGINT, SIGQUIT, SIGKILL]

    /// As the kernel has it.
    private var badEnd: SimulationFailure.Reason? {
      switch status {
      case .exited(0): nil
      case .exited(let code): .threw(SimReport.BadExit(code: Int(code)))
      case .killed(let signal, _): .threw(SimReport.BadSignal(number: Int(signal)))
      }
    }
  }

  /// What a program has too much of.
  enum Excess: String {
    case time = "the program did not end in time"
    case output = "the program has written more than 256 MB"
    /// The user's patience has ended.
    case patience = "the tool was interrupted"
  }

  private let command: [String]
  private let path: String
  private let environment: [String]
  private let seconds: Int
  private let folder: Scratch
  /// What the tool ignores, and its caller does not.
  private let ignored = TraceOutput.signals.filter { !Interrupt.isIgnored($0) }
  /// The last one.
  private(set) var last: Run?
  /// Why the program could not be started, as `errno` has it; nil if it could. Then nothing is run any more: a file that is being written,
  /// or is not there for a moment, is no end of a program.
  private(set) var notStarted: Int32?
  /// Whether programs leave a trace, which `traceOfLast` is then.
  var leavesTrace = false
  /// Which waits tell where they are; empty for none.
  var locatedWaits = ""
  /// Whether reports tell all events that are kept, and not those alone that people read.
  var tellsAllEvents = false
  var traceOfLast: [UInt8] { Scratch.read(folder.trace) }

  /// How much longer than its own limit the tool lets a program run: then it is stuck before its `main`, or stopped.
  private static let grace = 10
  /// How much is kept of what a program writes, and how often the tool looks at that, in milliseconds.
  private static let mostOutput = 256 << 20
  private static let period = 100
  /// How many places for another thread are asked for where no bound is known.
  private static let mostBranches = 1_000_000

  /// Nil if there is no place for its reports.
  init?(_ options: SimOptions, _ program: Program, environment: [String]) {
    guard let folder = Scratch() else { return nil }
    self.folder = folder
    command = options.command
    path = program.path
    seconds = options.seconds
    let fixed = [
      "GRANDCENTRAL_SIMULATE_REPORT=" + folder.report, "GRANDCENTRAL_SIMULATE_SECONDS=\(options.seconds)",
      // Sets and dictionaries iterate in the same way each time.
      "SWIFT_DETERMINISTIC_HASHING=1",
    ]
    // They take seconds, in each run that crashes. Asked for, they are made.
    let backtraces = Files.variable("SWIFT_BACKTRACE") == nil ? ["SWIFT_BACKTRACE=enable=no"] : []
    self.environment =
      environment.filter { !$0.hasPrefix("GRANDCENTRAL_SIMULATE") && !$0.hasPrefix("SWIFT_DETERMINISTIC_HASHING=") }
      + fixed + backtraces
  }

  /// The object is of no use any more.
  func removeFolder() { folder.remove() }

  func attempt(_ schedule: any Schedule, _ token: Token, limit: Int) -> Attempt {
    // What is shrunk stays as it is.
    let none = Attempt(reason: nil, steps: 0, choices: 0, switches: nil)
    if Interrupt.isRequested || notStarted != nil { return none }
    var wishes = ["GRANDCENTRAL_SIMULATE=" + token.text, "GRANDCENTRAL_SIMULATE_STEPS=\(limit)"]
    let branching = schedule as? BranchSchedule
    let mostBranches = min(branching?.most ?? 0, Self.mostBranches)
    if branching != nil { wishes.append("GRANDCENTRAL_SIMULATE_BRANCHES=\(mostBranches)") }
    if !locatedWaits.isEmpty { wishes.append("GRANDCENTRAL_SIMULATE_WAITS=" + locatedWaits) }
    if tellsAllEvents { wishes.append("GRANDCENTRAL_SIMULATE_EVENTS=\(Int32.max)") }
    if leavesTrace { wishes.append("GRANDCENTRAL_SIMULATE_TRACE=" + folder.trace) }
    guard let run = start(wishes) else { return none }
    last = run
    branching?.branches = run.report?.branches ?? []
    // With as many there may be more.
    branching?.isCut = run.report.map { $0.branches.count >= mostBranches } ?? false
    return Attempt(
      reason: run.reason, steps: run.report?.steps ?? 0, choices: run.report?.choices ?? 0,
      switches: run.report?.switches)
  }

  /// Nil if that is not possible: `notStarted` has the reason.
  private func start(_ wishes: [String]) -> Run? {
    folder.prepare()
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, folder.output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    // The tool ignores them; the program does where the tool's caller does.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in ignored { sigaddset(&signals, number) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    let (arguments, variables) = (CStrings(command), CStrings(environment + wishes))
    var process: pid_t = 0
    let code = withExtendedLifetime((arguments, variables)) {
      Path(exactly: path).withCString {
        posix_spawn(&process, $0, &actions, &attributes, arguments.pointers, variables.pointers)
      }
    }
    guard code == 0 else {
      notStarted = code
      return nil
    }
    let wasKilled = waitForEnd(of: process)
    if wasKilled != nil { kill(process, SIGKILL) }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    let bytes = Scratch.read(folder.report)
    let report = SimReport(ExactText.text(bytes))
    return Run(
      report: report, output: Scratch.read(folder.output), status: EndOfProcess.status(status), wasKilled: wasKilled,
      isCut: report == nil && !bytes.isEmpty)
  }

  /// Leaves the process to be waited for. Not nil if it has not ended, and is not to go on.
  private func waitForEnd(of process: pid_t) -> Excess? {
    let queue = DispatchQueue(label: "the end of the program")
    let source = DispatchSource.makeProcessSource(identifier: process, eventMask: .exit, queue: queue)
    let end = DispatchSemaphore(value: 0)
    source.setEventHandler { end.signal() }
    source.activate()
    defer { source.cancel() }
    let latest = DispatchTime.now() + .seconds(seconds + Self.grace)
    while end.wait(timeout: .now() + .milliseconds(Self.period)) == .timedOut {
      if Interrupt.isRequested { return .patience }
      if folder.outputSize > Self.mostOutput { return .output }
      if .now() > latest { return .time }
    }
    return nil
  }
}

/// A folder for what programs write.
private final class Scratch {
  private let folder: String
  var report: String { folder + "/report" }
  var output: String { folder + "/output" }
  var trace: String { folder + "/trace" }

  /// Where such folders are made.
  static var place: String { Files.variable("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp" }
  /// Whether programs may give up rights that the folder takes.
  private static var isRoots: Bool { geteuid() == 0 }

  /// Its path is absolute: a program may go to another folder before it writes there.
  init?() {
    guard let place = Files.absolute(Self.place),
      let pattern = Path(exactly: place + "/gcd-sim-XXXXXX").withCString({ strdup($0) })
    else { return nil }
    defer { free(pattern) }
    guard mkdtemp(pattern) != nil else { return nil }
    if Self.isRoots { chmod(pattern, 0o711) }
    folder = Files.text(pattern)
  }

  /// Begins anew. Where root's program gives its rights up before it writes its report, it finds a file that it may write, in a folder of
  /// which others do not know the name.
  func prepare() {
    clear()
    if !Self.isRoots { return }
    for path in [report, trace] {
      let file = Path(exactly: path).withCString { open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
      if file < 0 { continue }
      fchmod(file, 0o622)
      close(file)
    }
  }

  func remove() {
    clear()
    _ = Path(exactly: folder).withCString { rmdir($0) }
  }

  func clear() {
    for path in [report, output, trace] { _ = Path(exactly: path).withCString { unlink($0) } }
  }

  var outputSize: Int {
    var status = stat()
    return Path(exactly: output).withCString { stat($0, &status) } == 0 ? Int(status.st_size) : 0
  }

  static func read(_ path: String) -> [UInt8] {
    let file = Path(exactly: path).withCString { open($0, O_RDONLY | O_CLOEXEC) }
    if file < 0 { return [] }
    defer { close(file) }
    var bytes: [UInt8] = []
    while true {
      let more = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
        count = max(0, Glibc.read(file, buffer.baseAddress, buffer.count))
      }
      if more.isEmpty { return bytes }
      bytes += more
    }
  }
}
