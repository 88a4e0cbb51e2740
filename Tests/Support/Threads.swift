// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// A plain POSIX thread, no part of any pool.
public struct PlainThread: Sendable {
  private let handle: pthread_t

  public init(_ body: @escaping @Sendable () -> Void) {
    let box = Unmanaged.passRetained(Body(body))
    var handle = pthread_t()
    let code = pthread_create(
      &handle, nil,
      { argument in
        Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
        return nil
      }, box.toOpaque())
    precondition(code == 0, "pthread_create: \(code)")
    self.handle = handle
  }

  public func join() { pthread_join(handle, nil) }

  /// Runs `body(0)` … `body(count - 1)`, each on a thread of its own, and waits for all.
  public static func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let threads = (0..<count).map { index in PlainThread { body(index) } }
    for thread in threads { thread.join() }
  }

  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
}

public var isMainThread: Bool { Kernel.threadID == getpid() }

/// What the kernel knows about the threads of this process.
public enum ProcessThreads {
  public struct Record: Sendable, Equatable {
    public let id: pid_t
    public let name: String
    /// One letter: R running, S asleep, …
    public let state: String
    public let contextSwitches: Int
  }

  public static func record(of id: pid_t) -> Record? {
    guard let text = readText("/proc/self/task/\(id)/status") else { return nil }
    var fields: [String: String] = [:]
    for line in text.split(separator: "\n") {
      guard let colon = line.firstIndex(of: ":") else { continue }
      let value = line[line.index(after: colon)...].drop { $0 == "\t" || $0 == " " }
      fields[String(line[..<colon])] = String(value)
    }
    let switches = Int(fields["voluntary_ctxt_switches"] ?? "") ?? 0
    let forced = Int(fields["nonvoluntary_ctxt_switches"] ?? "") ?? 0
    return Record(
      id: id, name: fields["Name"] ?? "", state: String((fields["State"] ?? "").prefix(1)),
      contextSwitches: switches + forced)
  }

  public static func all() -> [Record] {
    guard let folder = opendir("/proc/self/task") else { return [] }
    defer { closedir(folder) }
    var records: [Record] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if let id = pid_t(name), let record = record(of: id) { records.append(record) }
    }
    return records
  }

  /// Pool threads: contract E8 names them `gc-<band>-<n>`.
  public static var workers: [Record] { all().filter { $0.name.hasPrefix("gc-") && $0.name != "gc-monitor" } }
}

/// The whole of a small file; nil when it cannot be read.
public func readText(_ path: String) -> String? {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  return String(decoding: readToEnd(descriptor), as: UTF8.self)
}

func readToEnd(_ descriptor: Int32) -> [UInt8] {
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 4096)
  while true {
    let count = read(descriptor, &buffer, buffer.count)
    if count < 0, errno == EINTR { continue }
    guard count > 0 else { return bytes }
    bytes.append(contentsOf: buffer[..<count])
  }
}

/// A thread that is expected to block in what it does first.
public struct BlockedThread: Sendable {
  private let thread: PlainThread
  private let identity: Guarded<pid_t?>

  public init(_ body: @escaping @Sendable () -> Void) {
    let identity = Guarded<pid_t?>(nil)
    self.identity = identity
    thread = PlainThread {
      identity.with { $0 = Kernel.threadID }
      body()
    }
  }

  /// Waits until the kernel has put the thread to sleep, twice in a row, so that a short stop on the way does not count.
  public func isAsleep() -> Bool {
    eventually { asleepSwitches() != nil && asleepSwitches() == asleepSwitches() }
  }

  private func asleepSwitches() -> Int? {
    guard let id = identity.with({ $0 }), let record = ProcessThreads.record(of: id), record.state == "S" else {
      return nil
    }
    return record.contextSwitches
  }

  public func join() { thread.join() }
}
