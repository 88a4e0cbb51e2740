// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

@preconcurrency import Glibc  // why: `environ` is only read, and nobody changes the environment

/// Runs a program and keeps what it writes.
enum CapturedCommand {
  struct Result {
    var output: [UInt8] = []
    var error: [UInt8] = []
    /// As from `waitpid`.
    var status: Int32 = 0
  }

  struct Failure: Error {
    let code: Int32
  }

  /// Runs what the search path has under the first word, with an empty input; in the caller's environment if none is given.
  static func run(_ words: [String], environment: [String]? = nil) throws(Failure) -> Result {
    let (output, error) = (try pipe(), try pipe())
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output.write, 1)
    posix_spawn_file_actions_adddup2(&actions, error.write, 2)
    var process: pid_t = 0
    let (arguments, variables) = (CStrings(words), environment.map(CStrings.init))
    let code = withExtendedLifetime((arguments, variables)) {
      posix_spawnp(&process, words[0], &actions, nil, arguments.pointers, variables?.pointers ?? environ)
    }
    close(output.write)
    close(error.write)
    defer {
      close(output.read)
      close(error.read)
    }
    guard code == 0 else { throw Failure(code: code) }
    var result = Result()
    read(from: (output.read, error.read), into: &result)
    while waitpid(process, &result.status, 0) < 0, errno == EINTR {}
    return result
  }

  /// Both at a time: a program that has filled one waits until it is read.
  private static func read(from ends: (output: Int32, error: Int32), into result: inout Result) {
    var polled = [ends.output, ends.error].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    while polled.contains(where: { $0.fd >= 0 }) {
      guard poll(&polled, nfds_t(polled.count), -1) > 0 else { continue }
      for index in polled.indices where polled[index].fd >= 0 && polled[index].revents != 0 {
        let bytes = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
          count = max(0, Glibc.read(polled[index].fd, buffer.baseAddress, buffer.count))
        }
        // Poll leaves out what is negative.
        if bytes.isEmpty { polled[index].fd = -1 }
        if index == 0 { result.output += bytes } else { result.error += bytes }
      }
    }
  }

  private static func pipe() throws(Failure) -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    guard Glibc.pipe(&ends) == 0 else { throw Failure(code: errno) }
    // The program must not hold its own pipe open.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}
