// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral
import IndexKit

/// Reads two files through channels, one after the other, and compares their hashes.
final class FileComparison: @unchecked Sendable {  // why: touched on `queue` only
  private let source: Path
  private let destination: Path
  private let queue: DispatchQueue
  private let progress: Progress
  private let end: @Sendable (FileCopy.Failure?) -> Void
  private var channel: DispatchIO?
  private var isStopped = false

  /// Calls `end` on `queue`.
  init(
    _ source: Path, _ destination: Path, on queue: DispatchQueue, progress: Progress,
    _ end: @escaping @Sendable (FileCopy.Failure?) -> Void
  ) {
    self.source = source
    self.destination = destination
    self.queue = queue
    self.progress = progress
    self.end = end
  }

  func start() {
    hash(source) { one in
      switch one {
      case .failure(let error): self.end(self.isStopped ? .notCompared : .source(error.code))
      case .success(let one):
        self.hash(self.destination) { other in
          switch other {
          case .failure(let error): self.end(self.isStopped ? .notCompared : .destination(error.code))
          case .success(let other): self.end(one == other ? nil : .differs)
          }
        }
      }
    }
  }

  func stop() {
    isStopped = true
    channel?.close(flags: .stop)
  }

  private struct Failure: Error {
    let code: Int32
  }

  private final class State: @unchecked Sendable {  // why: touched on `queue` only
    var hasher = ContentHasher()
  }

  private func hash(_ path: Path, _ end: @escaping @Sendable (Result<ContentHash, Failure>) -> Void) {
    if isStopped { return end(.failure(Failure(code: ECANCELED))) }
    let state = State()
    let opened = AbsolutePath.of(path).withCString {
      DispatchIO(type: .stream, path: $0, oflag: O_RDONLY, mode: 0, queue: queue, cleanupHandler: { _ in })
    }
    guard let opened else { return end(.failure(Failure(code: EINVAL))) }
    channel = opened
    // Pieces that come often: the progress is seen, and little waits to be hashed.
    opened.setLimit(highWater: 4 << 20)
    opened.read(offset: 0, length: .max, queue: queue) { done, data, error in
      if let data, !data.isEmpty, !self.isStopped {
        data.enumerateBytes { bytes, _, _ in
          if let base = bytes.baseAddress { state.hasher.update(base, count: bytes.count) }
        }
        self.progress.checked(bytes: data.count)
      }
      if !done { return }
      opened.close()
      self.channel = nil
      end(error == 0 ? .success(state.hasher.finish()) : .failure(Failure(code: error)))
    }
  }
}
