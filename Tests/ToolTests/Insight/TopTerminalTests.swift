// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import gcd

/// Each in a session of its own: what stops the tool's job must not stop the tests.
@Suite("gcd top on its terminal")
struct TopTerminalTests {
  private static let (enters, leaves) = ("\u{1B}[?1049h", "\u{1B}[?1049l")

  private func count(_ part: String, in text: String) -> Int {
    text.split(separator: part, omittingEmptySubsequences: false).count - 1
  }

  private func start(_ line: String) -> ToolProcess {
    ToolProcess(["top", "--", "sleep", "1000"], shell: "exec setsid " + line, onTerminal: true)
  }

  @Test("Ctrl-Z stops nothing where no shell could continue it: the screen is drawn anew")
  func withoutShell() {
    let process = start("\"$0\" \"$@\" <&1")
    #expect(process.read { output, _ in output.contains("q quits") })
    process.type("\u{1A}")
    #expect(process.read { output, _ in count(Self.enters, in: output) == 2 })
    process.type("q")
    let result = process.wait()
    #expect(count(Self.leaves, in: result.output) == 2 && result.output.hasSuffix(Self.leaves), "\(result)")
  }

  @Test("Ctrl-Z, SIGTSTP and SIGQUIT give the terminal back; it is taken again whatever has stopped the tool")
  func stops() throws {
    // A shell that sees the stop only when the job has ended already tells the stop's number, and the end's one if it is asked again.
    let shell = "set -m; \"$0\" \"$@\" <&1 & echo \"job:$!\"; wait -f $!; wait -f $!"
    let process = start("bash -c '\(shell)' \"$0\" \"$@\"")
    var found: pid_t?
    let isShown = process.read { output, _ in
      found = job(output)
      return found != nil && output.contains("q quits")
    }
    let tool = try #require(isShown ? found : nil)
    var (entered, left) = (1, 0)
    for number in [nil, SIGTSTP, SIGSTOP] {
      if let number { kill(tool, number) } else { process.type("\u{1A}") }
      let isStopped = untilFound {
        let state = ProcessFile.text("/proc/\(tool)/stat").flatMap { KernelReading.state(ofStat: $0) }
        return state == "T" ? true : nil
      }
      #expect(isStopped == true, "\(number ?? 0) stops nothing")
      if number != SIGSTOP { left += 1 }
      #expect(process.read { output, _ in count(Self.leaves, in: output) == left })
      kill(tool, SIGCONT)
      entered += 1
      #expect(process.read { output, _ in count(Self.enters, in: output) == entered })
    }
    kill(tool, SIGQUIT)
    let result = process.wait()
    #expect(count(Self.leaves, in: result.output) == left + 1 && count(Self.enters, in: result.output) == entered)
    // The command may have ended first, by the signal that the tool sends it.
    #expect([128 + SIGQUIT, 128 + SIGTERM].contains(result.code), "\(result.code)")
  }

  /// The number that the shell tells; nil if it has not come, or not all of it.
  private func job(_ output: String) -> pid_t? {
    guard let mark = output.firstRange(of: "job:") else { return nil }
    let rest = output[mark.upperBound...]
    return rest.firstIndex { !$0.isNumber }.flatMap { pid_t(rest[..<$0]) }
  }
}
