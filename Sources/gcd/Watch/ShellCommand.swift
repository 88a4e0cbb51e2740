// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

@preconcurrency import Glibc  // why: `environ` is only read, and nobody changes the environment

/// Starts the shell.
enum ShellCommand {
  /// Runs `command` in a process group of its own, with an empty input, this process's output and environment, and one
  /// variable more; with `descriptors` as the soft limit of those, if this process has raised its own. The signals in `ignored` are
  /// ignored by this process, and are not to be by the command.
  static func start(
    _ command: String, descriptors: Int?, ignored: [Int32], variable: (name: String, value: [UInt8])
  ) -> Result<pid_t, Problem> {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setpgroup(&attributes, 0)
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in ignored { sigaddset(&signals, number) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF))

    let assignment = Array((variable.name + "=").utf8) + variable.value + [0]
    let own = assignment.withUnsafeBytes { strdup($0.baseAddress!.assumingMemoryBound(to: CChar.self)) }
    let lines = descriptors.map { ["ulimit -S -n \($0); exec /bin/sh -c \"$0\"", command] } ?? [command]
    let words = (["/bin/sh", "-c"] + lines).map { Path(exactly: $0).withCString { strdup($0) } }
    defer { for string in words + [own] { free(string) } }
    var variables: [UnsafeMutablePointer<CChar>?] = []
    var next = environ
    while let entry = next.pointee {
      if strncmp(entry, own!, variable.name.utf8.count + 1) != 0 { variables.append(entry) }
      next += 1
    }
    var process: pid_t = 0
    let code = posix_spawn(&process, "/bin/sh", &actions, &attributes, words + [nil], variables + [own, nil])
    return code == 0 ? .success(process) : .failure(Problem(path: Path("/bin/sh"), code: code))
  }
}
