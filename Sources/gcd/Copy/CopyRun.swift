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
  /// What there is a place for.
  private var folders: [CopyPlan.File]
  private var files: [CopyPlan.File]
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
  private static func target(of options: CopyOptions) -> Path {
    guard let about = options.destination.status(), about.st_mode & S_IFMT == S_IFDIR,
      let name = AbsolutePath.name(of: AbsolutePath.of(options.source))
    else { return options.destination }
    return options.destination.appending(name: name)
  }

  /// Why nothing can be copied.
  private static func obstacle(_ plan: CopyPlan, _ destination: Path) -> String? {
    if let about = destination.status() {
      for file in plan.files + plan.folders where FileIdentity(file.about) == FileIdentity(about) {
        return "\(file.source.shown): is \(destination.shown) itself"
      }
    } else if !plan.isEmpty, let folder = AbsolutePath.folder(of: AbsolutePath.of(destination)), folder.status() == nil
    {
      let problem = Problem(path: AbsolutePath.folder(of: destination) ?? folder, code: errno)
      return "\(problem.path.shown): \(problem.reason)"
    }
    guard let root = plan.folders.first else { return nil }
    // The folder that the copy goes to, and those above it, must not be the one that is copied.
    var folder = AbsolutePath.of(destination)
    while let above = AbsolutePath.folder(of: folder) {
      folder = above
      if let about = folder.status(), FileIdentity(root.about) == FileIdentity(about) {
        return "\(destination.shown): is inside \(root.source.shown)"
      }
    }
    return nil
  }

  private init(_ options: CopyOptions, _ plan: CopyPlan) {
    self.options = options
    self.plan = plan
    (folders, files) = ([], [])
    bar = options.showsProgress && Terminal.isTerminal(.error) ? ProgressBar(of: progress) : nil
  }

  // MARK: The work

  private func begin() {
    for problem in plan.problems { tell(problem) }
    let links = makeFolders()
    for file in files {
      let size = Int(file.about.st_size)
      // Both sides are read again.
      progress.found(bytes: size, toCheck: options.verifies ? 2 * size : 0)
    }
    progress.finishedWalk()
    bar?.start()
    for link in links { copy(link: link) }
    goOn()
  }

  /// Makes the folders. What belongs into one that cannot be made is not tried; the folder's error says it for all.
  /// - Returns: The links that there is a place for.
  private func makeFolders() -> [CopyPlan.File] {
    var missing: Set<Path> = []
    func hasPlace(_ file: CopyPlan.File) -> Bool {
      missing.isEmpty || !(AbsolutePath.folder(of: file.destination).map(missing.contains) ?? false)
    }
    for folder in plan.folders {
      let code = hasPlace(folder) ? make(folder) : nil
      if code == 0 {
        folders.append(folder)
      } else {
        missing.insert(folder.destination)
        if let code { tell(Problem(path: folder.destination, code: code)) }
      }
    }
    files = plan.files.filter(hasPlace)
    return plan.links.filter(hasPlace)
  }

  /// The error number, or 0.
  private func make(_ folder: CopyPlan.File) -> Int32 {
    if folder.destination.withCString({ mkdir($0, 0o700) }) == 0 { return 0 }
    let code = errno
    guard code == EEXIST, let about = folder.destination.status() else { return code }
    return about.st_mode & S_IFMT == S_IFDIR ? 0 : ENOTDIR
  }

  private func copy(link: CopyPlan.File) {
    var target = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    guard link.source.withCString({ readlink($0, &target, target.count - 1) }) >= 0 else {
      return tell(Problem(path: link.source, code: errno))
    }
    // What is there gives way, as a file would.
    let isMade = link.destination.withCString {
      unlink($0)
      return symlink(target, $0) == 0
    }
    if !isMade { tell(Problem(path: link.destination, code: errno)) }
  }

  /// Starts as many copies as may be under way.
  private func goOn() {
    while signal == nil, copies.count < options.jobs, next < files.count {
      let place = next
      next += 1
      let copy = FileCopy(files[place], verifies: options.verifies, progress: progress) { failure in
        self.queue.async { self.finished(place, failure) }
      }
      copies[place] = copy
      copy.start()
    }
    if copies.isEmpty { end() }
  }

  private func finished(_ place: Int, _ failure: FileCopy.Failure?) {
    copies[place] = nil
    let file = files[place]
    switch failure {
    case nil: copied += 1
    // The user has asked for it.
    case .source(ECANCELED), .destination(ECANCELED): tell(file.destination, "is incomplete")
    case .source(let error): tell(Problem(path: file.source, code: error))
    case .destination(let error): tell(Problem(path: file.destination, code: error))
    case .becameShorter: tell(file.source, "became shorter while it was copied")
    case .notCompared: tell(file.destination, "is copied, but not compared")
    case .differs: tell(file.destination, "differs from \(file.source.shown)")
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
    tell(problem.path, problem.reason)
  }

  private func tell(_ name: Path, _ reason: String) {
    problems += 1
    Terminal.write("gcd: \(name.shown): \(reason)\n", to: .error)
  }

  private func end() {
    // From the innermost on: what is written into a folder changes its times.
    for folder in folders.reversed() {
      var times = [folder.about.st_atim, folder.about.st_mtim]
      folder.destination.withCString {
        chmod($0, folder.about.st_mode & 0o7777)
        utimensat(AT_FDCWD, $0, &times, 0)
      }
    }
    bar?.finish()
    let seconds = stopwatch.seconds
    let (bytes, holes) = (progress.snapshot.readBytes, progress.snapshot.skippedBytes)
    let rate = NumberFormat.bytes(seconds > 0 ? Int(Double(bytes) / seconds) : 0)
    let sparse = holes > 0 ? " and \(NumberFormat.bytes(holes)) of holes" : ""
    // What could not even be looked at was asked for as well.
    let all = NumberFormat.grouped(plan.files.count + plan.problems.count)
    let verified = options.verifies && problems == 0 && signal == nil ? ", verified" : ""
    Terminal.write(
      "gcd: \(NumberFormat.grouped(copied)) of \(all) files, "
        + "\(NumberFormat.bytes(bytes))\(sparse) in \(NumberFormat.duration(seconds)), \(rate)/s\(verified)\n",
      to: .error)
    let code = signal.map { 128 + $0 } ?? (problems == 0 ? EXIT_SUCCESS : EXIT_FAILURE)
    DispatchQueue.main.async { exit(code) }
  }
}
