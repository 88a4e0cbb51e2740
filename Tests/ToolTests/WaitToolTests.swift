// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@Suite("gcd wait")
struct WaitToolTests {
  @Test("tells how its children have ended")
  func children() throws {
    let folder = TemporaryFolder()
    folder.fifo("gate")
    // The shell's children are the tool's once the shell has become the tool. They must not end before, or it reaps them.
    let process = ToolProcess(
      ["wait", "--json"],
      shell: "(read line < gate; exit 3) & a=$!; sleep 1000 & echo $! >&2; exec \"$0\" \"$@\" $a $!",
      folder: folder.path)
    var second: pid_t?
    #expect(
      process.read { _, error in
        second = error.split(separator: "\n", omittingEmptySubsequences: false).dropLast().first.flatMap { pid_t($0) }
        return second != nil
      })
    #expect(process.waitUntilOpen("[pidfd]"))
    close(open(folder.path + "/gate", O_WRONLY))
    kill(try #require(second), SIGTERM)
    let result = process.wait()
    #expect(result.code == 0)
    let lines = try result.output.split(separator: "\n").map { try JSON.parse(String($0)) }
    #expect(lines.count == 2)
    #expect(lines.allSatisfy { $0["state"]?.string == "ended" })
    #expect(lines.contains { $0["status"]?.number == 3 })
    #expect(lines.contains { $0["signal"]?.number == Double(SIGTERM) && $0["signalName"]?.string == "SIGTERM" })
  }

  @Test("waits for a process that is not its child")
  func others() {
    let other = Other()
    let process = ToolProcess(["wait", String(other.identifier)])
    // Once the tool has a descriptor of the other process it waits for it. Only then may that process end.
    #expect(process.waitUntilOpen("[pidfd]"))
    other.end()
    let result = process.wait()
    #expect(result.code == 0)
    #expect(result.output.hasPrefix("\(other.identifier)  "))
    #expect(result.output.hasSuffix("ended\n") || result.output.hasSuffix("killed by SIGKILL\n"))
  }

  @Test("gives up when the time is over, and tells which are still running")
  func timeout() throws {
    let other = Other()
    defer { other.end() }
    let result = ToolProcess.run(["wait", String(other.identifier), "--timeout", "0.05"])
    #expect(result.code == 1)
    #expect(result.output.hasPrefix("\(other.identifier)  ") && result.output.hasSuffix("  still running\n"))
    let json = ToolProcess.run(["wait", String(other.identifier), "--timeout", "0", "--json"])
    #expect(json.code == 1)
    #expect(try JSON.parse(json.output)["state"]?.string == "running")
  }

  @Test("says of a number that it is no process, and waits for the others all the same")
  func unknown() {
    let folder = TemporaryFolder()
    folder.fifo("gate")
    let other = Other()
    other.end()
    // Beyond the largest number a process can have.
    let process = ToolProcess(
      ["wait", "4194305"], shell: "(read line < gate) & exec \"$0\" \"$@\" $!", folder: folder.path)
    #expect(process.waitUntilOpen("[pidfd]"))
    close(open(folder.path + "/gate", O_WRONLY))
    let result = process.wait()
    #expect(result.code == 2)
    #expect(result.error == "gcd: 4194305: No such process\n")
    #expect(result.output.hasSuffix("exited with status 1\n"))
    #expect(ToolProcess.run(["wait", String(other.identifier)]).code == 2)
    for arguments in [["0"], ["-5"], ["--timeout", "-1", "1"], ["many"], []] {
      #expect(ToolProcess.run(["wait"] + arguments).code == 64, "\(arguments)")
    }
  }

  @Test("says so where its output cannot be written, and waits all the same", arguments: [[], ["--json"]])
  func lostOutput(_ options: [String]) {
    for (redirection, reason) in [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")] {
      let process = ToolProcess(
        ["wait"] + options, shell: "sleep 1000 & echo $! >&2; exec \"$0\" \"$@\" $! \(redirection)")
      var other: pid_t?
      #expect(
        process.read { _, error in
          other = error.hasSuffix("\n") ? pid_t(error.dropLast()) : nil
          return other != nil
        })
      #expect(process.waitUntilOpen("[pidfd]"))
      if let other { kill(other, SIGKILL) }
      let result = process.wait()
      #expect(result.code == 6 && result.output.isEmpty)
      #expect(result.error == "\(other ?? 0)\ngcd: standard output: \(reason)\n")
    }
  }

  /// A process of the test's, which runs until it is ended.
  private final class Other {
    let identifier: pid_t

    init() {
      var process: pid_t = 0
      var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("1000"), nil]
      defer { for argument in arguments { free(argument) } }
      #expect(posix_spawnp(&process, "sleep", nil, nil, &arguments, nil) == 0)
      identifier = process
    }

    /// Ends it and buries it.
    func end() {
      kill(identifier, SIGKILL)
      waitpid(identifier, nil, 0)
    }
  }
}
