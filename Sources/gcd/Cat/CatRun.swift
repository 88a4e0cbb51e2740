// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import IndexKit

/// One run of `gcd cat`, from the names to the exit code.
final class CatRun: @unchecked Sendable {  // why: touched on `queue` only, once it has begun
  /// Names standard input.
  private static let input = Path("-")

  private let queue = DispatchQueue(label: "gcd.cat")
  private let files: [Path]
  private let output: DispatchIO
  private let progress = Progress()
  private let bar: ProgressBar?
  private var code = EXIT_SUCCESS
  private var next = 0

  /// Writes the files, and ends the process.
  static func start(_ files: [Path], showsProgress: Bool) -> Never {
    let run = CatRun(files, showsProgress: showsProgress)
    StopSignals.shared.listen { signal in run.queue.async { run.end(128 + signal) } }
    run.queue.async { run.begin() }
    dispatchMain()
  }

  private init(_ files: [Path], showsProgress: Bool) {
    self.files = files
    output = DispatchIO(type: .stream, fileDescriptor: STDOUT_FILENO, queue: queue) { _ in }
    // The files themselves are on the terminal: a bar would be drawn over them.
    let isVisible = showsProgress && Terminal.isTerminal(.error) && !Terminal.isTerminal(.output)
    bar = isVisible ? ProgressBar(of: progress) : nil
  }

  private func begin() {
    for file in files {
      var about = stat()
      let isFile = file != Self.input && file.withCString { stat($0, &about) } == 0 && about.st_mode & S_IFMT == S_IFREG
      progress.found(bytes: isFile ? Int(about.st_size) : 0)
    }
    progress.finishedWalk()
    bar?.start()
    writeNext()
  }

  private func writeNext() {
    guard next < files.count else { return end(code) }
    let file = files[next]
    next += 1
    guard let input = Self.channel(for: file, queue) else { return failed(file, errno) }
    Stream.run(
      input, on: queue,
      to: { piece, _, dealtWith in
        let count = piece.count
        self.output.write(offset: 0, data: piece, queue: self.queue) { done, _, error in
          if !done { return }
          if error == 0 { self.progress.read(bytes: count) }
          dealtWith(error)
        }
      },
      { result in
        input.close()
        self.finished(file, result)
      })
  }

  private static func channel(for file: Path, _ queue: DispatchQueue) -> DispatchIO? {
    if file == input { return DispatchIO(type: .stream, fileDescriptor: STDIN_FILENO, queue: queue) { _ in } }
    return AbsolutePath.of(file).withCString {
      DispatchIO(type: .stream, path: $0, oflag: O_RDONLY, mode: 0, queue: queue, cleanupHandler: { _ in })
    }
  }

  private func finished(_ file: Path, _ result: Result<Int, Stream.Failure>) {
    switch result {
    case .success:
      progress.finishedFile()
      writeNext()
    case .failure(.reading(let error)): failed(file, error)
    case .failure(.writing(let error)):
      // Nobody reads any more: as usual in a pipe, nothing is said.
      if error != EPIPE { tell(Path("standard output"), error) }
      end(EXIT_FAILURE)
    }
  }

  private func failed(_ file: Path, _ error: Int32) {
    tell(file, error)
    progress.finishedFile()
    code = EXIT_FAILURE
    writeNext()
  }

  private func tell(_ name: Path, _ error: Int32) {
    let problem = Problem(path: name, code: error)
    Terminal.write("gcd: \(name.shown): \(problem.reason)\n", to: .error)
  }

  private func end(_ code: Int32) {
    bar?.finish()
    DispatchQueue.main.async { exit(code) }
  }
}
