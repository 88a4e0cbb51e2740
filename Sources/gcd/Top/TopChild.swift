// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral

/// The command that `gcd top` has started.
final class TopChild {
  let process: pid_t
  private var status: Int32?

  struct Failure: Error {
    let path: String
    let code: Int32
  }

  /// Its input is empty: the terminal is the tool's.
  init(_ command: [String], output path: String) throws(Failure) {
    let output = Path(exactly: path).withCString { open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644) }
    guard output >= 0 else { throw Failure(path: path, code: errno) }
    defer { close(output) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_adddup2(&actions, output, 2)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Keys of the terminal are for the tool alone.
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    EndOfProcess.keepAll()
    var process: pid_t = 0
    let arguments = CStrings(command)
    let variables = CStrings(Self.environment)
    let code = withExtendedLifetime((arguments, variables)) {
      Path(exactly: command[0]).withCString {
        posix_spawnp(&process, $0, &actions, &attributes, arguments.pointers, variables.pointers)
      }
    }
    guard code == 0 else { throw Failure(path: command[0], code: code) }
    self.process = process
  }

  /// With all queues listed from the start.
  private static var environment: [String] {
    Replacement.environment.filter { !$0.hasPrefix("GRANDCENTRAL_INSPECT=") } + ["GRANDCENTRAL_INSPECT=1"]
  }

  var hasEnded: Bool {
    if status != nil { return true }
    var word: Int32 = 0
    if waitpid(process, &word, WNOHANG) == process { status = word }
    return status != nil
  }

  var words: String? {
    status.map { word in
      let end = EndOfProcess.status(word)
      if case .killed = end { return "the command was " + EndOfProcess.words(end) }
      return "the command has " + EndOfProcess.words(end)
    }
  }

  /// As a shell has it.
  var code: Int32? {
    status.map { word in
      switch EndOfProcess.status(word) {
      case .exited(let code): code
      case .killed(let signal, _): 128 + signal
      }
    }
  }

  /// Ends it with what it has started, if it has not ended.
  func kill() {
    if hasEnded { return }
    Glibc.kill(-process, SIGTERM)
    Glibc.kill(-process, SIGCONT)
  }
}
