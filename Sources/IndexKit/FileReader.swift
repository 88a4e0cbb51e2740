// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// What reading one file has found.
package struct FileRecord: Sendable {
  package let path: Path
  package var bytes = 0
  package var words: UInt64 = 0
  package var overlongWords: UInt64 = 0
  package var isBinary = false
  package var isUTF8 = true
  /// The fingerprint of the contents; nil if they could not be read to the end.
  package var hash: ContentHash?
  /// Which file it is, if it has other names as well.
  package var identity: FileIdentity?

  package init(path: Path) {
    self.path = path
  }
}

/// Tells whether two names are names of the same file.
package struct FileIdentity: Hashable, Sendable {
  package let device: UInt64
  package let number: UInt64
}

/// How reading one file has ended.
package enum FileOutcome: Sendable {
  case read(FileRecord)
  /// The record is of what could be read before that.
  case failed(FileRecord?, Problem)
  case skipped(SpecialFile)
  /// The record is of what had been read before that.
  case cancelled(FileRecord?)
}

/// Reads files one after the other: hashes their contents, counts their words. Keeps its buffer and its table of words
/// from file to file; used by one thread at a time.
package final class FileReader {
  private var counter: WordCounter
  private var hasher = ContentHasher()
  private let chunkSize: Int

  /// A file with a zero byte this near its beginning is binary.
  private static let binaryProbe = 8000

  package init(chunkSize: Int = 256 * 1024) {
    self.chunkSize = chunkSize
    counter = WordCounter(chunkSize: chunkSize)
  }

  /// Hands over the words of all files read so far.
  package func takeTable() -> WordTable { counter.takeTable() }

  /// Reads the file at `path`, calling `progress` with the size of every chunk.
  package func read(
    _ path: Path, isCancelled: () -> Bool = { false }, progress: (Int) -> Void = { _ in }
  ) -> FileOutcome {
    // Not to block on a FIFO that has taken the file's place since it was seen, nor to follow a link.
    let descriptor = path.withCString { open($0, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW) }
    guard descriptor >= 0 else { return .failed(nil, Problem(path: path, code: errno)) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return .failed(nil, Problem(path: path, code: errno)) }
    switch status.st_mode & S_IFMT {
    case S_IFREG: break
    case S_IFDIR: return .failed(nil, Problem(path: path, code: EISDIR))
    default: return .skipped(SpecialFile(mode: status.st_mode))
    }
    return contents(of: descriptor, FileRecord(path: path, status), isCancelled: isCancelled, progress: progress)
  }

  private func contents(
    of descriptor: Int32, _ start: FileRecord, isCancelled: () -> Bool, progress: (Int) -> Void
  ) -> FileOutcome {
    var record = start
    hasher.reset()
    counter.begin()
    while !isCancelled() {
      let space = counter.space
      let count = Glibc.read(descriptor, space.baseAddress, min(space.count, chunkSize))
      if count < 0, errno == EINTR { continue }
      if count <= 0 {
        let code = errno
        finish(&record)
        guard count == 0 else { return .failed(record, Problem(path: record.path, code: code)) }
        record.hash = hasher.finish()
        return .read(record)
      }
      // unsafe: `space` is not empty, and `count` bytes of it have just been filled.
      let bytes = UnsafeRawPointer(space.baseAddress!)
      if record.bytes == 0 { record.isBinary = memchr(bytes, 0, min(count, Self.binaryProbe)) != nil }
      record.bytes += count
      hasher.update(bytes, count: count)
      if !record.isBinary { counter.consume(count) }
      progress(count)
    }
    finish(&record)
    return .cancelled(record)
  }

  private func finish(_ record: inout FileRecord) {
    guard !record.isBinary else { return }
    counter.finish()
    record.words = counter.words
    record.overlongWords = counter.overlongWords
    record.isUTF8 = counter.isUTF8
  }
}

extension FileRecord {
  fileprivate init(path: Path, _ status: stat) {
    self.init(path: path)
    if status.st_nlink > 1 {
      identity = FileIdentity(device: UInt64(status.st_dev), number: UInt64(status.st_ino))
    }
  }
}
