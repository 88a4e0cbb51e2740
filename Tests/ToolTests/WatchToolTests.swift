// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import gcd

@Suite("gcd watch")
struct WatchToolTests {
  /// The tool watching, its lines of JSON read as they come.
  private final class Watching {
    let process: ToolProcess

    init(_ paths: [String], _ options: [String] = [], in folder: borrowing TemporaryFolder) {
      process = ToolProcess(["watch", "--json"] + options + paths, folder: folder.path)
      #expect(process.read { $1.contains("gcd: watching ") })
    }

    /// Waits for an event: its path, one of its names, where it came from.
    func hears(_ event: String, _ path: String, from former: String? = nil, to latter: String? = nil) -> Bool {
      process.read { output, _ in
        Self.lines(output).contains {
          $0["path"]?.string == path && $0["events"]?.array?.contains(.string(event)) == true
            && $0["from"]?.string == former && (latter == nil || $0["to"]?.string == latter)
        }
      }
    }

    /// Ctrl-C.
    func end() -> ToolProcess.Result {
      kill(process.identifier, SIGINT)
      return process.wait()
    }

    static func lines(_ output: String) -> [JSON] {
      // The last line may have come in part.
      let whole = output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      return whole.compactMap { try? JSON.parse(String($0)) }
    }
  }

  @Test("tells of each kind of event of a file")
  func kinds() {
    let folder = TemporaryFolder()
    folder.file("a", "text")
    let watching = Watching(["a"], in: folder)
    append(folder.path + "/a")
    #expect(watching.hears("write", "a") && watching.hears("extend", "a"))
    chmod(folder.path + "/a", 0o600)
    #expect(watching.hears("attrib", "a"))
    folder.hardLink("b", to: "a")
    #expect(watching.hears("link", "a"))
    rename(folder.path + "/a", folder.path + "/c")
    #expect(watching.hears("rename", "a", to: folder.path + "/c"))
    folder.file("a", "another")
    #expect(watching.hears("create", "a"))
    unlink(folder.path + "/a")
    #expect(watching.hears("delete", "a"))
    #expect(watching.end().code == 0)
  }

  @Test("prints one object of JSON a line, and ends at a signal with a summary", arguments: [SIGINT, SIGTERM])
  func lines(signal: Int32) throws {
    let folder = TemporaryFolder()
    folder.file("odd \"name\"\n", "text")
    let watching = Watching(["."], in: folder)
    append(folder.path + "/odd \"name\"\n")
    #expect(watching.hears("write", "odd \"name\"\n"))
    kill(watching.process.identifier, signal)
    let result = watching.process.wait()
    #expect(result.code == 0)
    #expect(result.error.hasPrefix("gcd: watching 1 file and 1 folder\n"))
    #expect(result.error.contains(" on 1 path in "))
    for line in result.output.split(separator: "\n") {
      let time = try #require(try JSON.parse(String(line))["time"]?.string)
      let shape = String(time.map { $0.isNumber ? "0" : $0 })
      #expect(shape == "0000-00-00T00:00:00.000Z")
    }
  }

  @Test("follows a path whose file is replaced, as editors save")
  func saving() {
    let folder = TemporaryFolder()
    folder.file("notes", "first")
    let watching = Watching(["notes"], ["--count", "3"], in: folder)
    folder.file("notes.new", "second")
    rename(folder.path + "/notes.new", folder.path + "/notes")
    #expect(watching.hears("create", "notes"))
    // The new file is watched: its content is told of.
    chmod(folder.path + "/notes", 0o600)
    #expect(watching.hears("attrib", "notes"))
    append(folder.path + "/notes")
    let result = watching.process.wait()
    #expect(result.code == 0)
    let lines = Watching.lines(result.output).map { $0["events"]?.array?.compactMap { $0.string } ?? [] }
    #expect(lines == [["delete", "create"], ["attrib"], ["write", "extend"]])
  }

  @Test("finds what came, went and was renamed in a folder, and what is below it")
  func folder() {
    let folder = TemporaryFolder()
    folder.folder("sub")
    folder.file("sub/old", "text")
    let watching = Watching(["."], in: folder)
    folder.file("new", "text")
    #expect(watching.hears("create", "new"))
    append(folder.path + "/sub/old")
    #expect(watching.hears("extend", "sub/old"))
    folder.folder("sub/deep")
    #expect(watching.hears("create", "sub/deep"))
    folder.file("sub/deep/file", "text")
    #expect(watching.hears("create", "sub/deep/file"))
    rename(folder.path + "/sub/deep", folder.path + "/moved")
    #expect(watching.hears("rename", "moved", from: "sub/deep"))
    // What was moved with its folder has another path.
    chmod(folder.path + "/moved/file", 0o600)
    #expect(watching.hears("attrib", "moved/file"))
    rename(folder.path + "/new", folder.path + "/newer")
    #expect(watching.hears("rename", "newer", from: "new"))
    unlink(folder.path + "/sub/old")
    #expect(watching.hears("delete", "sub/old"))
    rmdir(folder.path + "/sub")
    #expect(watching.hears("delete", "sub"))
    let result = watching.end()
    let told = Watching.lines(result.output).filter { $0["path"]?.string == "new" }
    #expect(!told.contains { $0["events"] == .array([.string("delete")]) })
  }

  @Test("watches only the folder and its files if that is wanted")
  func flat() {
    let folder = TemporaryFolder()
    folder.folder("sub")
    folder.file("sub/deep", "text")
    folder.file("file", "text")
    let watching = Watching(["."], ["--no-recursive"], in: folder)
    append(folder.path + "/sub/deep")
    folder.file("sub/deeper", "text")
    append(folder.path + "/file")
    #expect(watching.hears("write", "file"))
    let result = watching.end()
    #expect(!result.output.contains("deep"))
  }

  @Test("keeps to the limit, and says so")
  func limit() {
    let folder = TemporaryFolder()
    for index in 0..<20 { folder.file("\(index)", "text") }
    let watching = Watching(["."], ["--limit", "8"], in: folder)
    unlink(folder.path + "/19")
    unlink(folder.path + "/0")
    #expect(watching.hears("delete", "19") && watching.hears("delete", "0"))
    let result = watching.end()
    #expect(result.error.contains("limit of files and folders is reached"))
    #expect(Self.count("limit of files", in: result.error) == 1)
  }

  @Test("runs a command once for a burst, with the paths, and once more for changes during a run")
  func command() {
    let folder = TemporaryFolder()
    let outside = TemporaryFolder()
    outside.fifo("gate")
    // The first run waits for the test to open the gate.
    let command = "echo \"ran: $(echo $GCD_PATHS)\" >&2; cat \(outside.path)/gate; exit 3"
    let watching = Watching(["."], ["--exec", command, "--debounce", "150"], in: folder)
    // However late this thread is between two files, they are one burst to a tool that is stopped meanwhile.
    kill(watching.process.identifier, SIGSTOP)
    for index in 0..<5 { folder.file("\(index)", "") }
    kill(watching.process.identifier, SIGCONT)
    #expect(watching.process.read { $1.contains("ran: 0 1 2 3 4\n") })
    for index in 5..<8 { folder.file("\(index)", "") }
    #expect(watching.hears("create", "7"))
    close(open(outside.path + "/gate", O_WRONLY))
    #expect(watching.process.read { $1.contains("ran: 5 6 7\n") })
    close(open(outside.path + "/gate", O_WRONLY))
    #expect(watching.process.read { Self.count("gcd: the command exited with status 3\n", in: $1) == 2 })
    let result = watching.end()
    #expect(Self.count("ran: ", in: result.error) == 2)
    #expect(result.error.contains("the command ran 2 times, 2 failed"))
  }

  @Test("asks a running command to end when the tool ends; runs the rest after --count events")
  func ending() {
    let folder = TemporaryFolder()
    let endless = Watching(["."], ["--exec", "echo $$ here >&2; exec sleep 1000", "--debounce", "0"], in: folder)
    folder.file("a", "")
    #expect(endless.process.read { $1.contains(" here\n") })
    let stopped = endless.end()
    #expect(stopped.code == 0)
    let line = stopped.error.split(separator: "\n").first { $0.hasSuffix(" here") } ?? ""
    #expect(pid_t(line.split(separator: " ").first ?? "").map { kill($0, 0) } == -1)

    let counted = Watching(
      ["."], ["--count", "1", "--exec", "echo \"ran: $GCD_PATHS\" >&2", "--debounce", "3600000"], in: folder)
    folder.file("b", "")
    let result = counted.process.wait()
    #expect(result.code == 0 && result.error.contains("ran: b\n"))
  }

  @Test("a command that is stopped ends with the tool, and with the terminal", arguments: [SIGINT, SIGHUP])
  func stoppedCommand(signal: Int32) throws {
    let folder = TemporaryFolder()
    let watching = Watching(["."], ["--exec", "echo $$ here >&2; kill -STOP $$", "--debounce", "0"], in: folder)
    folder.file("a", "")
    var said = ""
    let isRunning = watching.process.read { _, error in
      said = error
      return error.contains(" here\n")
    }
    #expect(isRunning)
    let line = try #require(said.split(separator: "\n").first { $0.hasSuffix(" here") })
    let command = try #require(line.split(separator: " ").first.flatMap { pid_t($0) })
    defer { kill(command, SIGKILL) }
    var state: Character?
    for _ in 0..<60_000 where state != "T" {
      state = ProcessFile.text("/proc/\(command)/stat").flatMap { KernelReading.state(ofStat: $0) }
      usleep(1000)
    }
    #expect(state == "T")
    kill(watching.process.identifier, signal)
    let result = watching.process.wait()
    #expect(result.code == 0 && result.error.contains("the command ran 1 time\n"), "\(result.error)")
    #expect(kill(command, 0) == -1)
  }

  @Test("ends with its command when nothing reads its output; the command has the signals of the tool's caller")
  func brokenOutput() throws {
    let folder = TemporaryFolder()
    let outside = TemporaryFolder()
    outside.fifo("output")
    let reader = open(outside.path + "/output", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    let line = "grep SigIgn /proc/$$/status >&2; exec \"$0\" watch . --debounce 0 --exec \"$1\" >\"$2\""
    let words = "grep SigIgn /proc/self/status >&2; echo $$ here >&2; exec sleep 1000"
    let process = ToolProcess([words, outside.path + "/output"], shell: line, folder: folder.path)
    #expect(process.read { $1.contains("gcd: watching ") })
    folder.file("a", "")
    var said = ""
    let isRunning = process.read { _, error in
      said = error
      return error.contains(" here\n")
    }
    close(reader)
    #expect(isRunning)
    let told = try #require(said.split(separator: "\n").first { $0.hasSuffix(" here") })
    let command = try #require(told.split(separator: " ").first.flatMap { pid_t($0) })
    defer { kill(command, SIGKILL) }
    folder.file("b", "")
    let result = process.wait()
    #expect(result.code == 1 && result.error.contains("the command ran 1 time\n"), "\(result)")
    #expect(kill(command, 0) == -1)
    let ignored = said.split(separator: "\n").filter { $0.hasPrefix("SigIgn:") }
    #expect(ignored.count == 2 && Set(ignored).count == 1, "\(said)")
  }

  @Test("ends after exactly as many events as wanted, whatever else comes at once")
  func count() {
    let folder = TemporaryFolder()
    let watching = Watching(["."], ["--count", "2"], in: folder)
    for index in 0..<50 { folder.file("\(index)", "text") }
    let result = watching.process.wait()
    #expect(result.code == 0)
    #expect(Watching.lines(result.output).count == 2)
  }

  @Test("prints columns and colours on a terminal, no colours against NO_COLOR", arguments: [true, false])
  func colour(isWanted: Bool) {
    let folder = TemporaryFolder()
    let process = ToolProcess(
      ["watch", ".", "--count", "1"], folder: folder.path,
      environment: isWanted ? ["TERM=xterm"] : ["TERM=xterm", "NO_COLOR=1"], onTerminal: true)
    #expect(process.read { output, _ in output.contains("gcd: watching ") })
    folder.file("new", "")
    let result = process.wait()
    #expect(result.output.contains("\u{1B}[") == isWanted)
    #expect(isWanted || result.output.contains("  create         new\r\n"))
  }

  @Test("ends when there is nothing that could be watched, and rejects options that make no sense")
  func mistakes() {
    let folder = TemporaryFolder()
    let missing = ToolProcess.run(["watch", "nothing"], folder: folder.path)
    #expect(missing.code == 1)
    #expect(missing.error.hasPrefix("gcd: nothing: No such file or directory\ngcd: nothing is left to watch\n"))
    folder.folder("sub")
    let watching = Watching(["sub/."], in: folder)
    rmdir(folder.path + "/sub")
    let gone = watching.process.wait()
    #expect(gone.code == 1 && gone.error.contains("gcd: nothing is left to watch\n"))
    for options in [["--count", "0"], ["--debounce", "-1"], ["--limit", "0"], ["--exec", ""], []] {
      #expect(ToolProcess.run(["watch"] + (options.isEmpty ? [] : ["."]) + options).code == 64, "\(options)")
    }
  }

  private static func count(_ part: String, in text: String) -> Int {
    text.split(separator: part, omittingEmptySubsequences: false).count - 1
  }

  private func append(_ path: String) {
    let file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
    #expect(write(file, "more", 4) == 4)
    close(file)
  }
}
