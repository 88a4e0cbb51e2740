// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Runs the commands of a file, each as soon as those that it needs have ended, and prints what they say, in the order of the file.
//
//   swift run job-runner FILE [AT-A-TIME]
//
//   fetch  :                           : curl -s example.org >page       name : options : command
//   count  : after fetch               : wc -w page
//   index  : after fetch, on disk      : sort page >sorted               no two "on disk" at a time
//   report : after count index, urgent : paste sorted page               or "background"
//
// A job names only jobs above it, so nothing waits in a circle. What needs a job that fails is skipped.
//
// Shows: a group for each job, which is empty when all that the job needs has ended; a pool of queues for each priority, which
// bounds how many commands run at a time; and a pool that gives equal keys the same queue, so a resource has one user.

import Glibc

#if TWIN
  import Dispatch
#else
  import GrandCentral
#endif

@main
enum JobRunner {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count == 2 || arguments.count == 3, let file = fopen(arguments[1], "r") else {
      print("usage: job-runner FILE [AT-A-TIME]")
      exit(2)
    }
    let text = allText(of: file)
    fclose(file)
    let atATime = arguments.count == 3 ? Int(arguments[2]) ?? 4 : 4
    let runner = Runner(atATime: atATime)
    for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if line.isEmpty || line.first == "#" { continue }
      if let problem = runner.add(line) {
        print("\(arguments[1]):\(number + 1): \(problem)")
        exit(2)
      }
    }
    exit(runner.run() ? EXIT_SUCCESS : EXIT_FAILURE)
  }
}

/// Everything that can be read, as text.
func allText(of file: UnsafeMutablePointer<FILE>) -> String {
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 1 << 14)
  while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
  return String(decoding: bytes, as: UTF8.self)
}

/// A command, and what has become of it. The end is written once, before the job leaves the groups of those that wait for it.
final class Job: @unchecked Sendable {  // why: see above; all else is set before anything runs
  enum End {
    case output(String, status: Int32)
    case skipped(because: String)
  }

  let name: String
  let command: String
  fileprivate(set) var needs: [Job] = []
  fileprivate(set) var resource: String?
  fileprivate(set) var qos = DispatchQoS.QoSClass.utility
  /// Entered once for each job that this one needs.
  let needed = DispatchGroup()
  fileprivate(set) var end: End?

  init(name: String, command: String) {
    self.name = name
    self.command = command
  }

  var hasSucceeded: Bool {
    if case .output(_, status: 0) = end { true } else { false }
  }

  /// Runs the command, and waits for its end. A thread that waits so costs no processor; the library adds another one.
  func run() {
    if let failed = needs.first(where: { !$0.hasSucceeded }) { return end = .skipped(because: failed.name) }
    guard let pipe = popen(command, "r") else {
      return end = .output("\(String(cString: strerror(errno)))\n", status: -1)
    }
    let output = allText(of: pipe)
    end = .output(output, status: pclose(pipe) >> 8)
  }
}

final class Runner {
  private var jobs: [Job] = []
  private let pools: [DispatchQoS.QoSClass: DispatchQueuePool]
  private let resources: DispatchQueuePool

  init(atATime: Int) {
    let priorities: [DispatchQoS.QoSClass] = [.userInitiated, .utility, .background]
    pools = Dictionary(
      uniqueKeysWithValues: priorities.map {
        ($0, DispatchQueuePool(name: "job-runner.\($0)", queueCount: atATime, qos: $0))
      })
    resources = DispatchQueuePool(name: "job-runner.resources", queueCount: atATime, qos: .utility)
  }

  /// Adds the job of a line; says what is wrong with it.
  func add(_ line: Substring) -> String? {
    let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return "a line is NAME : OPTIONS : COMMAND" }
    let names = parts[0].split(separator: " ")
    guard names.count == 1 else { return "a job has one name" }
    let job = Job(name: String(names[0]), command: String(parts[2]))
    for option in parts[1].split(separator: ",") {
      let words = option.split(separator: " ").map(String.init)
      switch words.first {
      case "after":
        for word in words.dropFirst() {
          guard let other = jobs.first(where: { $0.name == word }) else { return "\(word) is no job above" }
          job.needs.append(other)
        }
      case "on" where words.count == 2: job.resource = words[1]
      case "urgent": job.qos = .userInitiated
      case "background": job.qos = .background
      case nil: break
      default: return "an option is after JOB…, on RESOURCE, urgent, or background, not \(words.joined(separator: " "))"
      }
    }
    jobs.append(job)
    return nil
  }

  /// Runs all jobs; says whether all have succeeded.
  func run() -> Bool {
    let all = DispatchGroup()
    var waiting: [ObjectIdentifier: [DispatchGroup]] = [:]
    for job in jobs {
      for need in job.needs {
        job.needed.enter()
        waiting[ObjectIdentifier(need), default: []].append(job.needed)
      }
    }
    for job in jobs {
      all.enter()
      let queue = queue(for: job)
      // Of a group that nobody has entered, the notification comes at once.
      job.needed.notify(qos: DispatchQoS(qosClass: job.qos, relativePriority: 0), queue: queue) {
        [waiting = waiting[ObjectIdentifier(job)] ?? []] in
        job.run()
        for group in waiting { group.leave() }
        all.leave()
      }
    }
    all.wait()
    for job in jobs { report(job) }
    return jobs.allSatisfy(\.hasSucceeded)
  }

  private func queue(for job: Job) -> DispatchQueue {
    if let resource = job.resource { return resources.queue(forKey: resource) }
    return pools[job.qos]!.queue
  }

  private func report(_ job: Job) {
    switch job.end! {
    case .skipped(let name): print("\(job.name): skipped, for \(name) has not succeeded")
    case .output(let text, status: let status):
      print("\(job.name): \(status == 0 ? "done" : "failed, status \(status)")")
      for line in text.split(separator: "\n") { print("  \(line)") }
    }
  }
}

#if TWIN
  /// What the toolchain's library has no pool for: as much of one as this program needs.
  final class DispatchQueuePool {
    private let queues: [DispatchQueue]
    private var next = 0

    init(name: String, queueCount: Int, qos: DispatchQoS.QoSClass) {
      let qos = DispatchQoS(qosClass: qos, relativePriority: 0)
      queues = (0..<max(1, queueCount)).map { _ in DispatchQueue(label: name, qos: qos) }
    }

    var queue: DispatchQueue {
      next += 1
      return queues[next % queues.count]
    }

    func queue(forKey key: String) -> DispatchQueue {
      queues[Int(UInt(bitPattern: key.hashValue) % UInt(queues.count))]
    }
  }
#endif
