// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import IndexKit

/// Copies one file: the parts that have data, each by its offset, so that holes stay holes.
final class FileCopy: @unchecked Sendable {  // why: touched on `queue` only
  enum Failure: Error, Equatable {
    case source(Int32)
    case destination(Int32)
    /// It is shorter by now than it was when the copying began.
    case becameShorter
    case differs
    /// It has been copied, but not been read again.
    case notCompared
  }

  // SEEK_DATA and SEEK_HOLE, which Swift does not import.
  private static let seekData: Int32 = 3
  private static let seekHole: Int32 = 4

  private let file: CopyPlan.File
  private let verifies: Bool
  private let progress: Progress
  private let queue = DispatchQueue(label: "gcd.copy.file")
  private let end: @Sendable (Failure?) -> Void
  private var input: DispatchIO?
  private var output: DispatchIO?
  private var size = 0
  private var failure: Failure?
  private var comparison: FileComparison?
  /// The descriptors, the channels' until those are closed.
  private var descriptors: (source: Int32, destination: Int32) = (-1, -1)

  /// Calls `end` on some queue.
  init(_ file: CopyPlan.File, verifies: Bool, progress: Progress, _ end: @escaping @Sendable (Failure?) -> Void) {
    self.file = file
    self.verifies = verifies
    self.progress = progress
    self.end = end
  }

  func start() { queue.async { self.begin() } }

  /// Stops in the middle: the copy stays incomplete.
  func stop() {
    queue.async {
      // Whichever channel comes to its end first.
      if self.failure == nil { self.failure = .destination(ECANCELED) }
      self.input?.close(flags: .stop)
      self.output?.close(flags: .stop)
      self.comparison?.stop()
    }
  }

  private func begin() {
    // A pipe without a writer would keep us here; the channel waits for one.
    let waits: Int32 = file.about.st_mode & S_IFMT == S_IFREG ? 0 : O_NONBLOCK
    let source = file.source.withCString { open($0, O_RDONLY | O_CLOEXEC | waits) }
    guard source >= 0 else { return end(.source(errno)) }
    var about = stat()
    fstat(source, &about)
    let flags = O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC
    let mode = file.about.st_mode & 0o700 | 0o600
    let destination = file.destination.withCString { open($0, flags, mode) }
    guard destination >= 0 else {
      let error = errno
      close(source)
      return end(.destination(error))
    }
    descriptors = (source, destination)
    size = Int(about.st_size)
    var target = stat()
    fstat(destination, &target)
    let areFiles = about.st_mode & S_IFMT == S_IFREG && target.st_mode & S_IFMT == S_IFREG
    // Files of the kernel's own say that they are empty.
    let isSeekable = areFiles && size > 0
    let type: DispatchIO.StreamType = isSeekable ? .random : .stream
    input = DispatchIO(type: type, fileDescriptor: source, queue: queue) { _ in close(source) }
    output = DispatchIO(type: type, fileDescriptor: destination, queue: queue) { _ in self.written() }
    if !isSeekable { return copy(from: 0, length: .max) { _ in self.finish(nil) } }
    guard ftruncate(destination, about.st_size) == 0 else { return finish(.destination(errno)) }
    copyParts(from: 0)
  }

  /// The next part that has data, and so on.
  private func copyParts(from offset: Int) {
    let from = lseek(descriptors.source, offset, Self.seekData)
    if from < 0 {
      // ENXIO: a hole up to the end. Anything else: the file system does not tell, and all is data.
      let isOver = errno == ENXIO || offset >= size
      if isOver { skip(size - offset) }
      return isOver ? finish(nil) : copyPart(offset, size) { self.finish(nil) }
    }
    skip(from - offset)
    let to = lseek(descriptors.source, from, Self.seekHole)
    let end = to < 0 ? size : min(to, size)
    copyPart(from, end) { end < self.size ? self.copyParts(from: end) : self.finish(nil) }
  }

  private func copyPart(_ from: Int, _ to: Int, _ then: @escaping @Sendable () -> Void) {
    if from >= to { return then() }
    copy(from: from, length: to - from) { count in count < to - from ? self.finish(.becameShorter) : then() }
  }

  private func skip(_ count: Int) { progress.skipped(bytes: max(0, count)) }

  private func copy(from offset: Int, length: Int, _ then: @escaping @Sendable (Int) -> Void) {
    guard let input, let output else { return }
    Stream.run(
      input, from: offset, length: length, on: queue,
      to: { [queue, progress] piece, offset, dealtWith in
        let count = piece.count
        output.write(offset: offset, data: piece, queue: queue) { done, _, error in
          if !done { return }
          if error == 0 { progress.read(bytes: count) }
          dealtWith(error)
        }
      },
      { result in
        switch result {
        case .success(let count): then(count)
        case .failure(.reading(let error)): self.finish(.source(error))
        case .failure(.writing(let error)): self.finish(.destination(error))
        }
      })
  }

  private func finish(_ failure: Failure?) {
    if self.failure == nil { self.failure = failure }
    input?.close()
    output?.close()
    // The cleanup handlers keep what they need.
    input = nil
    output = nil
  }

  /// The channel has let go of the destination.
  private func written() {
    let destination = descriptors.destination
    var failure = failure
    if failure == nil {
      fchmod(destination, file.about.st_mode & 0o7777)
      var times = [file.about.st_atim, file.about.st_mtim]
      futimens(destination, &times)
    }
    if failure == nil, verifies {
      // What has reached the disk can be read back from there.
      if fsync(destination) != 0, errno != EINVAL { failure = .destination(errno) }
      posix_fadvise(destination, 0, 0, POSIX_FADV_DONTNEED)
    }
    close(destination)
    guard failure == nil, verifies else { return end(failure) }
    compare()
  }

  private func compare() {
    let comparison = FileComparison(file.source, file.destination, on: queue, progress: progress) { failure in
      self.comparison = nil
      self.end(failure)
    }
    self.comparison = comparison
    comparison.start()
  }
}
