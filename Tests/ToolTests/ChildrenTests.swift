// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import gcd

/// The kernel forgets how the children of a process end that ignores SIGCHLD, and what ignores it passes that on to what it starts.
@Suite("What the tool starts, where its caller ignores SIGCHLD")
struct ChildrenTests {
  private static let ignoring = "exec env --ignore-signal=CHLD "

  private func run(_ arguments: [String]) -> ToolProcess.Result {
    ToolProcess(arguments, shell: Self.ignoring + "\"$0\" \"$@\"").wait()
  }

  @Test("trace ends with the exit code of its command")
  func trace() {
    let folder = TemporaryFolder()
    let line = Self.ignoring + "\"$0\" trace -o trace -- \"${0%/*}/traced\" exit 7"
    let result = ToolProcess([], shell: line, folder: folder.path).wait()
    #expect(result.code == 7 && result.output == "to the output\n", "\(result)")
  }

  @Test("top tells how its command has ended, at once, and has its code")
  func top() {
    let result = run(["top", "--once", "--interval", "0.1", "--", "sh", "-c", "exit 7"])
    #expect(result.code == 7 && result.error == "gcd: the command has exited with status 7\n", "\(result)")
  }

  @Test("watch counts a command that fails")
  func watch() {
    let folder = TemporaryFolder()
    let process = ToolProcess(
      ["watch", ".", "--count", "1", "--debounce", "0", "--exec", "exit 3"],
      shell: Self.ignoring + "\"$0\" \"$@\"", folder: folder.path)
    #expect(process.read { _, error in error.contains("gcd: watching ") })
    folder.file("a", "")
    let result = process.wait()
    #expect(result.error.contains("gcd: the command exited with status 3\n"), "\(result)")
    #expect(result.error.contains("the command ran 1 time, 1 failed\n"))
  }

  @Test("sim knows with which code a program has ended that tells nothing of its run")
  func sim() throws {
    let folder = TemporaryFolder()
    let library = try MadeUpLibrary.make(in: folder)
    let result = run(["sim", "--runs", "1", "--library", library, "--", "false"])
    #expect(result.code == 1 && result.error.contains("the program has ended with the code 1"), "\(result)")
  }
}
