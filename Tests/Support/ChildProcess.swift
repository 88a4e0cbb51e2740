// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// Runs the program `contract-probe`, which the package builds beside the test bundle: promises about the main thread, the
/// environment, limits and the end of a process each need a process of their own.
public struct ProbeResult: Sendable, CustomStringConvertible {
  public enum End: Sendable, Equatable {
    case exited(Int32)
    case killed(Int32)
    case outOfPatience
  }

  public let scenario: String
  public let end: End
  public let output: String
  public let errors: String

  /// Value of the line `key=value` of the output.
  public subscript(key: String) -> String? {
    for line in output.split(separator: "\n") where line.hasPrefix(key + "=") {
      return String(line.dropFirst(key.count + 1))
    }
    return nil
  }

  public func number(_ key: String) -> Int? { self[key].flatMap { Int($0) } }
  public func numbers(_ key: String) -> [Int]? { self[key]?.split(separator: ",").compactMap { Int($0) } }
  public var ended: Bool { end == .exited(0) }
  /// Set when the surroundings do not allow the scenario, with the reason.
  public var skipped: String? { self["skip"] }

  public var description: String { "probe \(scenario): \(end)\n\(output)\n\(errors)" }
}

public enum Probe {
  public static func run(
    _ scenario: String, of program: Program = .contract, environment: [String: String] = [:],
    seconds: Double = Patience.seconds * 2
  ) -> ProbeResult {
    let (output, errors) = (Pipe(), Pipe())
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, output.writeEnd, 1)
    posix_spawn_file_actions_adddup2(&actions, errors.writeEnd, 2)
    defer { posix_spawn_file_actions_destroy(&actions) }

    var variables = inheritedEnvironment()
    // A fault is expected to end the process at once, and the backtracer can hang on a sanitized one.
    variables["SWIFT_BACKTRACE"] = "enable=no"
    for (name, value) in environment { variables[name] = value }
    let path = program.path
    let arguments = CStrings([path, scenario])
    let settings = CStrings(variables.map { "\($0)=\($1)" })
    var process = pid_t()
    let code = posix_spawn(&process, path, &actions, nil, arguments.pointers, settings.pointers)
    output.closeWriteEnd()
    errors.closeWriteEnd()
    guard code == 0 else {
      let text = "cannot start \(path): \(String(cString: strerror(code)))"
      return ProbeResult(scenario: scenario, end: .exited(127), output: "", errors: text)
    }

    let texts = withExtendedLifetime((output, errors)) {
      drain([output.readEnd, errors.readEnd], until: monotonicNanoseconds() + UInt64(seconds * 1e9))
    }
    let isWhole = output.isWhole && errors.isWhole
    if texts == nil { kill(process, SIGKILL) }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    return ProbeResult(
      scenario: scenario, end: texts == nil ? .outOfPatience : end(of: status),
      output: texts?[0] ?? "",
      errors: (isWhole ? "" : "another test has closed what this probe's output is read from\n") + (texts?[1] ?? ""))
  }

  private static func end(of status: Int32) -> ProbeResult.End {
    status & 0x7f == 0 ? .exited((status >> 8) & 0xff) : .killed(status & 0x7f)
  }

  /// The programs beside the tests.
  public enum Program: String {
    case contract = "contract-probe"
    /// Its main is `async`.
    case asyncMain = "async-main-probe"
    /// Its main is in Foundation's run loop.
    case runLoop = "run-loop-probe"
    /// It has much thread-local storage.
    case threadLocals = "thread-locals-probe"
    /// Prints what channels tell their handlers when something goes wrong.
    case channelErrors = "channel-errors"
    /// Its arguments name ways to hang.
    case hangs = "hangs"

    fileprivate var path: String {
      if self == .contract, let override = getenv("GC_PROBE") { return String(cString: override) }
      return Probe.folder + "/" + rawValue
    }
  }

  private static let folder: String = {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = buffer.withUnsafeMutableBytes {
      readlink("/proc/self/exe", $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
    }
    let executable = String(decoding: buffer[..<max(0, count)], as: UTF8.self)
    return String(executable[..<(executable.lastIndex(of: "/") ?? executable.startIndex)])
  }()

  private static func inheritedEnvironment() -> [String: String] {
    var variables: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
      let pair = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      // Each scenario decides about the engine's settings itself.
      if pair.count == 2, !pair[0].hasPrefix("GRANDCENTRAL_") { variables[String(pair[0])] = String(pair[1]) }
      entry += 1
    }
    return variables
  }

  /// Everything that the descriptors deliver up to their ends; nil when time runs out first.
  private static func drain(_ descriptors: [Int32], until deadline: UInt64) -> [String]? {
    var contents = descriptors.map { _ in [UInt8]() }
    var open = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    var buffer = [UInt8](repeating: 0, count: 65536)
    while open.contains(where: { $0.fd >= 0 }) {
      let now = monotonicNanoseconds()
      guard now < deadline else { return nil }
      guard poll(&open, nfds_t(open.count), Int32(min(1000, (deadline - now) / 1_000_000 + 1))) > 0 else { continue }
      for index in open.indices where open[index].fd >= 0 && open[index].revents != 0 {
        let count = read(open[index].fd, &buffer, buffer.count)
        if count > 0 {
          contents[index].append(contentsOf: buffer[..<count])
        } else if count == 0 || errno != EINTR {
          open[index].fd = -1
        }
      }
    }
    return contents.map { String(decoding: $0, as: UTF8.self) }
  }
}

private final class Pipe {
  let readEnd: Int32
  /// What the kernel calls the pipe.
  private let number: ino_t
  private(set) var writeEnd: Int32

  init() {
    guard let ends = Kernel.closeOnExecPipe() else { preconditionFailure("no pipe") }
    (readEnd, writeEnd) = ends
    number = Self.number(of: ends.readEnd)
  }

  /// Whether nobody has closed the end that is read, or given its number to something else.
  var isWhole: Bool { Self.number(of: readEnd) == number }

  private static func number(of descriptor: Int32) -> ino_t {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? status.st_ino : 0
  }

  func closeWriteEnd() {
    close(writeEnd)
    writeEnd = -1
  }

  deinit {
    close(readEnd)
    if writeEnd >= 0 { close(writeEnd) }
  }
}

private final class CStrings {
  let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  private let count: Int

  init(_ strings: [String]) {
    count = strings.count
    pointers = .allocate(capacity: count + 1)
    for (index, string) in strings.enumerated() { (pointers + index).initialize(to: strdup(string)) }
    (pointers + count).initialize(to: nil)
  }

  deinit {
    for index in 0..<count { free(pointers[index]) }
    pointers.deallocate()
  }
}
