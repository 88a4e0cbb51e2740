// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import GrandCentralTesting
@testable import gcd

/// What `gcd sim` asks for and reads. What it finds is tested with the library that simulates: Scripts/stages/sim-tool.sh.
@Suite("gcd sim")
struct SimToolTests {
  @Test("takes the strategies that it names, and no others")
  func strategies() throws {
    for (name, depth) in [("pct", 3), ("pct:1", 1), ("pct:100", 100)] {
      guard case .pct(depth) = try #require(SimOptions.strategy(name)) else {
        Issue.record("\(name) is another strategy")
        continue
      }
    }
    for (name, most) in [("exhaustive", 2), ("exhaustive:0", 0)] {
      guard case .exhaustive(most, _) = try #require(SimOptions.strategy(name)) else {
        Issue.record("\(name) is another strategy")
        continue
      }
    }
    guard case .random = try #require(SimOptions.strategy("random")) else {
      Issue.record("random is another strategy")
      return
    }
    for name in ["", "rand", "random:1", "pct:", "pct:0", "pct:101", "pct:3:4", "exhaustive:-1", "replay"] {
      #expect(SimOptions.strategy(name) == nil, "\(name)")
    }
  }

  @Test("the same seed has the same schedules")
  func seeds() {
    func tokens(_ seed: UInt64, _ strategy: String = "random", replay: String? = nil) -> [String] {
      let options = SimOptions(
        command: ["true"], runs: 5, strategy: strategy, seed: seed, replay: replay, processors: 3, seconds: 1, steps: 1,
        checks: false, shrinks: false, trace: nil, library: nil)
      var exploration = options.exploration(seed: seed)
      var tokens: [String] = []
      while let plan = exploration.next() { tokens.append(plan.token.text) }
      return tokens
    }
    #expect(tokens(7).count == 5)
    #expect(tokens(7) == tokens(7))
    #expect(tokens(7) != tokens(8))
    #expect(tokens(7).allSatisfy { $0.hasPrefix("gc1:r:") && $0.hasSuffix(":3") })
    #expect(tokens(7, "pct").allSatisfy { $0.hasPrefix("gc1:p:") })
    #expect(tokens(7, replay: "gc1:s:2:1.2.2") == ["gc1:s:2:1.2.2"])
  }

  @Test("V1: says that there are more schedules than were run, or may be more, and that is no success")
  func more() {
    func end(
      _ strategy: Simulation.Strategy, others: Int, made: [Switch], isCut: Bool = false
    ) -> (text: String, isWhole: Bool) {
      let options = SimOptions(
        command: ["true"], runs: 9, strategy: "exhaustive", seed: 1, replay: nil, processors: 2, seconds: 1, steps: 1,
        checks: false, shrinks: false, trace: nil, library: nil)
      var (exploration, runs) = (Exploration(9, strategy, 2, 1), 0)
      while let plan = exploration.next() {
        let schedule = plan.schedule as? BranchSchedule
        // The first run shows so many other schedules, behind which there are none.
        if runs == 0 {
          schedule?.branches = [
            BranchSchedule.Branch(thread: 0, choice: 1, isPreemption: true, others: Array(1...others))
          ]
          schedule?.isCut = isCut
        }
        exploration.note(plan, Attempt(reason: nil, steps: 1, choices: 1, switches: runs == 0 ? [] : made))
        runs += 1
      }
      #expect(options.end(of: exploration, runs: runs, wasInterrupted: true).isWhole)
      return options.end(of: exploration, runs: runs, wasInterrupted: false)
    }
    let one = Switch(thread: 0, choice: 1, to: 1)
    let all = end(.exhaustive(preemptions: 2), others: 1, made: [one])
    #expect(all.isWhole && all.text == "2 schedules, none of which has failed: there are no others")
    let some = end(.exhaustive(preemptions: 2, atMost: 2), others: 2, made: [one])
    #expect(!some.isWhole && some.text == "2 schedules, none of which has failed: there are more")
    let lost = end(.exhaustive(preemptions: 2), others: 1, made: [])
    #expect(!lost.isWhole && lost.text.hasSuffix(": there may be more: the program does not do the same each time"))
    let none = end(.exhaustive(preemptions: 0), others: 1, made: [])
    #expect(none.isWhole && none.text == "1 schedule, which has not failed: there are no others")
    // What a run has shown, and was not written down, may have been others.
    let cut = end(.exhaustive(preemptions: 0), others: 1, made: [], isCut: true)
    #expect(!cut.isWhole && cut.text == "1 schedule, which has not failed: there are more")
    let schedule = BranchSchedule([], most: 1)
    #expect(schedule.choose(among: [0, 1], current: 0, from: 0) == 0 && !schedule.isCut)
    #expect(schedule.choose(among: [0, 1], current: 0, from: 0) == 0 && schedule.isCut)
    #expect(schedule.branches.count == 1)
  }

  @Test("V1: a search keeps few more schedules than it may run, and runs the same ones")
  func bounded() {
    let branches = (1...50).map {
      BranchSchedule.Branch(thread: 0, choice: $0, isPreemption: $0 % 3 == 0, others: [1, 2, 3])
    }
    /// Twenty runs, and the most that were kept. Each run shows the same places behind its own.
    func search(_ room: (_ left: Int) -> Int) -> (runs: [[Switch]?], most: Int, isCut: Bool) {
      var (frontier, path) = (Frontier(most: 2), Frontier.Path?.none)
      var (runs, most): ([[Switch]?], Int) = ([], 0)
      for left in (1...20).reversed() {
        frontier.add(branches, behind: path, room: room(left)) { $0.isPreemption ? 1 : 0 }
        most = max(most, frontier.count)
        path = frontier.next()
        runs.append(path?.switches)
      }
      return (runs, most, frontier.isCut)
    }
    let (all, few) = (search { _ in 1_000_000 }, search { $0 })
    #expect(!all.isCut && all.most > 2_000)
    #expect(few.isCut && few.most <= 43, "\(few.most)")
    #expect(few.runs == all.runs && !few.runs.contains(nil))
  }

  @Test("reads what a program has said of its run")
  func report() throws {
    let text = """
      end: deadlock
      said: deadlock: main waits: a semaphore
      steps: 17
      hash: ff00
      switches: 1.2.2,a.1f.0
      branch: 0 3 1 1 2
      branch: 1 1 0 0
      branch: 1 1
      waits: 0.1 2.7
      stack: 1010 ff2010 2010:thread 1: the name
      map: 00001000-00002000 r--p 00000000 00:01 7 /bin/program
      map: 00002000-00003000 r-xp 00001000 00:01 7 /bin/program
      outside: 1 /dev/urandom
      outside: 3 a pipe
      left: one timer has not fired
      left: the queue "a: b" is suspended
      later: something
      timeline:
            1 0.000000000 s  main  begins
      end: exit 0

      """
    let report = try #require(SimReport(text))
    #expect(report.end == "deadlock" && report.said == "deadlock: main waits: a semaphore")
    #expect(report.steps == 17 && report.hash == "ff00")
    #expect(report.left == ["one timer has not fired", "the queue \"a: b\" is suspended"])
    #expect(report.switches == [Switch(thread: 1, choice: 2, to: 2), Switch(thread: 10, choice: 31, to: 0)])
    #expect(report.outside == ["/dev/urandom, once", "a pipe, 3 times"])
    #expect(report.waits == "0.1 2.7" && report.stacks.map(\.addresses) == [[0x1010, 0xff2010, 0x2010]])
    // The address is that of a return; no other one is in code.
    #expect(SimPlaces(report).sentences == ["thread 1: the name waits in program+0x100f"])
    #expect(report.branches.map(\.others) == [[1, 2], [0]])
    #expect(report.branches.map(\.isPreemption) == [true, false])
    #expect(report.timeline == "      1 0.000000000 s  main  begins\nend: exit 0\n")
    guard case .deadlock = report.reason else {
      Issue.record("\(String(describing: report.reason))")
      return
    }
    // One that the process has not come to the end of.
    #expect(SimReport("end: exit 0\nsaid: the program") == nil)
    #expect(SimReport("") == nil)
    let fine = try #require(SimReport("end: exit 0\nhash: 1\ntimeline:\n"))
    #expect(fine.reason == nil && fine.switches == nil)
  }

  @Test("Where two runs begin to differ: at an event, at an end, or before what is told")
  func difference() throws {
    func report(_ lines: String...) throws -> SimReport {
      try #require(SimReport("end: exit 0\ntimeline:\n" + lines.map { $0 + "\n" }.joined()))
    }
    let one = try report("      1 a", "      2 b", "      3 c")
    let other = try report("      1 a", "      2 d")
    #expect(SimDifference(one, other).sentences == ["both:         1 a", "first:        2 b", "second:       2 d"])
    let shorter = try report("      1 a")
    #expect(
      SimDifference(one, shorter).sentences == ["both:         1 a", "first:        2 b", "second: nothing more"])
    let first = try SimDifference(report("      1 b"), report("      1 c"))
    #expect(first.sentences == ["first:        1 b", "second:       1 c"])
    let late = try SimDifference(report("     10 b"), report("     11 b"))
    #expect(late.sentences.last == "the first difference is before the last 1 events")
  }

  @Test("the command that replays can be pasted into a shell, whatever its arguments are")
  func replaying() throws {
    let arguments: [[UInt8]] = [
      Array("program".utf8), Array("two\nlines\r\n".utf8), [0x66, 0xff, 0x27, 0x5c, 0x41], Array("it's \\".utf8), [],
      [0x1b, 0x5b, 0x33, 0x31, 0x6d], Array("\u{202e}é$x`y`".utf8), [0x0a, 0x42],
    ]
    let options = SimOptions(
      command: arguments.map { ExactText.text($0) }, runs: 1, strategy: "random", seed: 1, replay: nil, processors: 2,
      seconds: SimOptions.longestTime, steps: SimOptions.longestRun, checks: false, shrinks: true, trace: nil,
      library: nil)
    let line = options.replaying(try #require(Token("gc1:s:2:")))
    #expect(TextLayout.printable(line) == line, "what is printed is what was meant")
    let folder = TemporaryFolder()
    folder.file("script", ExactText.bytes("gcd() { printf '%s\\0' \"$@\"; }\n" + line + "\n"))
    let shell = try #require(popen("bash '\(folder.path)/script'", "r"))
    defer { pclose(shell) }
    var output: [UInt8] = []
    while case let byte = fgetc(shell), byte != EOF { output.append(UInt8(truncatingIfNeeded: byte)) }
    let words = output.split(separator: 0, omittingEmptySubsequences: false).map { Array($0) }
    #expect(words == ["sim", "--replay", "gc1:s:2:", "--"].map { Array($0.utf8) } + arguments + [[]])
  }

  @Test("V3: an end by a code is another failure than one by a signal, or by another code")
  func kinds() throws {
    func reason(_ end: String) throws -> SimulationFailure.Reason {
      let report = try #require(SimReport("end: \(end)\nsaid: so\ntimeline:\n"))
      return try #require(report.reason)
    }
    guard case .threw(let code) = try reason("exit 10"), case .threw(let signal) = try reason("signal 6") else {
      Issue.record("they are no ends of a program")
      return
    }
    #expect(code is SimReport.BadExit && signal is SimReport.BadSignal)
    let ends = try ["exit 10", "exit 11", "signal 6", "signal 11"].map { try reason($0) }
    for (index, one) in ends.enumerated() {
      for (other, end) in ends.enumerated() {
        let isSame = one.isSameKind(as: end)
        #expect(isSame == (index == other), "\(one), \(end)")
      }
    }
    // Where the program has not come to tell it, the kernel has.
    let run = SimulatedProgram.Run(
      report: nil, output: [], status: .killed(signal: SIGSEGV, dumpedCore: false), wasKilled: nil)
    let killed = try #require(run.reason)
    #expect(killed.isSameKind(as: ends[3]) && !killed.isSameKind(as: ends[2]))
    guard case .misuse("so") = try reason("misuse"), case .endless = try reason("endless"),
      case .escape("so") = try reason("escape"), case .escape = try reason("other")
    else {
      Issue.record("a failure of the simulation is another one")
      return
    }
  }

  @Test("a signal of a terminal, or of a user, stops the program from outside: that is no failure of the program")
  func stopped() throws {
    func reason(_ signal: Int32, _ words: String) throws -> SimulationFailure.Reason {
      let run = SimulatedProgram.Run(
        report: nil, output: [], status: .killed(signal: signal, dumpedCore: false), wasKilled: nil)
      #expect(run.sentence.contains(words), "\(run.sentence)")
      return try #require(run.reason)
    }
    for signal in [SIGQUIT, SIGINT, SIGHUP, SIGKILL] {
      guard case .escape = try reason(signal, "stopped from outside, by the signal \(signal), SIG") else {
        Issue.record("\(signal) accuses the program")
        continue
      }
    }
    guard case .threw = try reason(SIGSEGV, "brought down by the signal 11, SIGSEGV") else {
      Issue.record("an error of the program is none")
      return
    }
  }

  @Test("refuses what it cannot simulate, and options that mean nothing")
  func refusals() throws {
    let folder = TemporaryFolder()
    // A library that is not there is found missing before the program is looked for.
    let none = ToolProcess.run(["sim", "--library", folder.path + "/libdispatch.so", "--", "true"])
    #expect(none.code == 125)
    #expect(none.error.hasSuffix("/libdispatch.so: No such file or directory\n"))
    let library = try #require(Self.loadedLibrary)
    let other = ToolProcess.run(["sim", "--library", library, "--", "true"])
    #expect(other.code == 125)
    #expect(other.error == "gcd: \(library): not a libdispatch that simulates\n")
    for arguments in [
      [], ["--"], [""], ["--runs", "0", "true"], ["--strategy", "none", "true"], ["--processors", "65", "true"],
      ["--replay", "gc1:x", "true"], ["--time-limit", "0", "true"],
      ["--time-limit", "9223372036854775807", "true"], ["--step-limit", "0", "true"],
      ["--seed", "-1", "true"],
    ] {
      #expect(ToolProcess.run(["sim"] + arguments).code == 64, "\(arguments)")
    }
    let help = ToolProcess.run(["sim", "--help"])
    #expect(help.code == 0 && help.output.contains("--replay <token>"))
  }

  @Test("a program that is in another folder at its end, and has given up rights, finds where its report goes")
  func reports() throws {
    let folder = TemporaryFolder()
    let library = try MadeUpLibrary.make(in: folder)
    let line = "echo \"at $GRANDCENTRAL_SIMULATE_REPORT\"; cd /; stat -c 'may %a' \"$GRANDCENTRAL_SIMULATE_REPORT\""
    let arguments = ["sim", "--runs", "1", "--library", library, "--", "sh", "-c", line]
    let result = ToolProcess.run(arguments, folder: folder.path, environment: ["TMPDIR=."])
    let place = try #require(Files.absolute(folder.path))
    #expect(result.output.contains("at \(place)/gcd-sim-"), "\(result)")
    // Others have no rights that a program may give up for theirs.
    #expect(geteuid() != 0 || result.output.contains("may 622\n"))
    #expect(result.error.contains("has it become another program, or could no report be written?"))
    let cut = SimulatedProgram.Run(report: nil, output: [], status: .exited(code: 0), wasKilled: nil, isCut: true)
    #expect(cut.sentence.contains("its report is cut off"))
  }

  @Test("a program that cannot be started is no schedule that fails: the reason is told")
  func notStarted() throws {
    let folder = TemporaryFolder()
    folder.file("program", try #require(ProcessFile.bytes("/bin/true")))
    let path = folder.path + "/program"
    #expect(chmod(path, 0o755) == 0)
    let options = SimOptions(
      command: [path], runs: 1, strategy: "random", seed: 1, replay: nil, processors: 2, seconds: 1, steps: 1,
      checks: false, shrinks: true, trace: nil, library: nil)
    let simulated = try #require(SimulatedProgram(options, try Program.find(path), environment: []))
    defer { simulated.removeFolder() }
    #expect(unlink(path) == 0)
    let token = try #require(Token("gc1:s:2:"))
    let attempt = simulated.attempt(token.schedule, token, limit: 1)
    #expect(attempt.reason == nil && simulated.notStarted == ENOENT && simulated.last == nil)
    // Whatever is there again: what would be compared has not been run.
    folder.file("program", try #require(ProcessFile.bytes("/bin/true")))
    #expect(chmod(path, 0o755) == 0)
    let second = simulated.attempt(token.schedule, token, limit: 1)
    #expect(second.reason == nil && simulated.last == nil)

    // As while a linker writes it. A few kernels run such a file all the same.
    let library = try MadeUpLibrary.make(in: folder)
    let writer = open(path, O_WRONLY | O_CLOEXEC)
    defer { close(writer) }
    if ToolProcess([], shell: "./program", folder: folder.path).wait().code == 0 { return }
    let refused = ToolProcess.run(["sim", "--library", library, "--", "./program"], folder: folder.path)
    #expect(refused.code == 126 && refused.error == "gcd: ./program: Text file busy\n", "\(refused)")
  }

  @Test("says that the library has a path which it cannot hand on", arguments: ["a blank", "a:colon"])
  func unwritable(path: String) throws {
    let folder = TemporaryFolder()
    folder.folder(path)
    // The toolchain's library, with the name of a variable by which the tool knows one that simulates.
    let original = try #require(Self.loadedLibrary.flatMap { MappedFile($0) })
    let bytes = try #require(original.bytes(at: 0, count: UInt64(original.count)))
    folder.file(path + "/libdispatch.so", bytes + Array("GRANDCENTRAL_SIMULATE_REPORT".utf8))
    let refused = ToolProcess.run(["sim", "--library", folder.path + "/" + path, "--", "true"])
    #expect(refused.code == 125)
    #expect(refused.error == "gcd: true cannot be made to load the library: its path has a colon or a blank\n")
  }

  /// The toolchain's library, which these tests use themselves, through the testing library.
  private static let loadedLibrary: String? = {
    guard let file = fopen("/proc/self/maps", "r") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 8192)
    while fgets(&line, Int32(line.count), file) != nil {
      let text = String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      if text.hasSuffix("/libdispatch.so"), let slash = text.firstIndex(of: "/") { return String(text[slash...]) }
    }
    return nil
  }()
}
