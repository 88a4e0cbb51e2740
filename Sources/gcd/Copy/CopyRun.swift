// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import IndexKit

/// One run of `gcd copy`, from the options to the exit code.
final class CopyRun: @unchecked Sendable {  // why: touched on `queue` only, once it has begun
  private let options: CopyOptions
  private let queue = DispatchQueue(label: "gcd.copy")
  private let progress = Progress()
  private let bar: ProgressBar?
  private let stopwatch = Stopwatch()
  private let plan: CopyPlan
  private var next = 0
  /// The copies under way, by their place in the plan.
  private var copies: [Int: FileCopy] = [:]
  private var copied = 0
  private var problems = 0
  private var signal: Int32?

  /// Copies, and ends the process.
  static func start(_ options: CopyOptions) -> Never {
    let destination = target(of: options)
    let plan = CopyPlan(source: options.source, destination: destination)
    if let obstacle = obstacle(plan, destination) {
      Terminal.write("gcd: \(obstacle)\n", to: .error)
      exit(EXIT_FAILURE)
    }
    let run = CopyRun(options, plan)
    StopSignals.shared.listen { signal in run.queue.async { run.stop(signal) } }
    run.queue.async { run.begin() }
    dispatchMain()
  }

  /// The name of the copy.
  private static func target(of options: CopyOptions) -> String {
    var about = stat()
    guard stat(options.destination, &about) == 0, about.st_mode & S_IFMT == S_IFDIR,
      let name = AbsolutePath.name(of: AbsolutePath.of(options.source))
    else { return options.destination }
    return options.destination + "/" + name
  }

  /// Why nothing can be copied.
  private static func obstacle(_ plan: CopyPlan, _ destination: String) -> String? {
    var about = stat()
    let exists = stat(destination, &about) == 0
    for file in plan.files + plan.folders where exists {
      if (file.about.st_dev, file.about.st_ino) == (about.st_dev, about.st_ino) {
        return "\(TextLayout.printable(file.source)): is \(TextLayout.printable(destination)) itself"
      }
    }
    guard let root = plan.folders.first else { return nil }
    // The folder that the copy goes to, and those above it, must not be the one that is copied.
    var folder = AbsolutePath.of(destination)
    while let slash = folder.lastIndex(of: "/") {
      folder = String(folder[..<slash])
      guard stat(folder.isEmpty ? "/" : folder, &about) == 0 else { continue }
      if (root.about.st_dev, root.about.st_ino) == (about.st_dev, about.st_ino) {
        return "\(TextLayout.printable(destination)): is inside \(TextLayout.printable(root.source))"
      }
    }
    return nil
  }

  private init(_ options: CopyOptions, _ plan: CopyPlan) {
    self.options = options
    self.plan = plan
    bar = options.showsProgress && Terminal.isTerminal(.error) ? ProgressBar(of: progress) : nil
  }

  // MARK: The work

  private func begin() {
    for problem in plan.problems { tell(problem) }
    for file in plan.files { progress.found(bytes: Int(file.about.st_size)) }
    progress.finishedWalk()
    bar?.start()
    for folder in plan.folders where mkdir(folder.destination, 0o700) != 0 && errno != EEXIST {
      tell(Problem(path: Path(folder.destination), code: errno))
    }
    for link in plan.links { copy(link: link) }
    goOn()
  }

  private func copy(link: CopyPlan.File) {
    var target = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    guard readlink(link.source, &target, target.count - 1) >= 0 else {
      return tell(Problem(path: Path(link.source), code: errno))
    }
    // What is there gives way, as a file would.
    unlink(link.destination)
    if symlink(target, link.destination) != 0 { tell(Problem(path: Path(link.destination), code: errno)) }
  }

  /// Starts as many copies as may be under way.
  private func goOn() {
    while signal == nil, copies.count < options.jobs, next < plan.files.count {
      let place = next
      next += 1
      let copy = FileCopy(plan.files[place], verifies: options.verifies, progress: progress) { failure in
        self.queue.async { self.finished(place, failure) }
      }
      copies[place] = copy
      copy.start()
    }
    if copies.isEmpty { end() }
  }

  private func finished(_ place: Int, _ failure: FileCopy.Failure?) {
    copies[place] = nil
    let file = plan.files[place]
    switch failure {
    case nil: copied += 1
    // The user has asked for it.
    case .source(ECANCELED), .destination(ECANCELED): tell(file.destination, "is incomplete")
    case .source(let error): tell(Problem(path: Path(file.source), code: error))
    case .destination(let error): tell(Problem(path: Path(file.destination), code: error))
    case .becameShorter: tell(file.source, "became shorter while it was copied")
    case .differs: tell(file.destination, "differs from \(TextLayout.printable(file.source))")
    }
    progress.finishedFile()
    goOn()
  }

  private func stop(_ signal: Int32) {
    self.signal = signal
    for copy in copies.values { copy.stop() }
    if copies.isEmpty { end() }
  }

  // MARK: The end

  private func tell(_ problem: Problem) {
    tell(String(decoding: problem.path.bytes, as: UTF8.self), problem.reason)
  }

  private func tell(_ name: String, _ reason: String) {
    problems += 1
    Terminal.write("gcd: \(TextLayout.printable(name)): \(reason)\n", to: .error)
  }

  private func end() {
    // From the innermost on: what is written into a folder changes its times.
    for folder in plan.folders.reversed() {
      chmod(folder.destination, folder.about.st_mode & 0o7777)
      var times = [folder.about.st_atim, folder.about.st_mtim]
      utimensat(AT_FDCWD, folder.destination, &times, 0)
    }
    bar?.finish()
    let seconds = stopwatch.seconds
    let bytes = progress.snapshot.readBytes
    let rate = NumberFormat.bytes(seconds > 0 ? Int(Double(bytes) / seconds) : 0)
    let verified = options.verifies && problems == 0 && signal == nil ? ", verified" : ""
    Terminal.write(
      "gcd: \(NumberFormat.grouped(copied)) of \(NumberFormat.grouped(plan.files.count)) files, "
        + "\(NumberFormat.bytes(bytes)) in \(NumberFormat.duration(seconds)), \(rate)/s\(verified)\n", to: .error)
    let code = signal.map { 128 + $0 } ?? (problems == 0 ? EXIT_SUCCESS : EXIT_FAILURE)
    DispatchQueue.main.async { exit(code) }
  }
}
