// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral
import IndexKit

// How a folder is read at once:
//
//   walking (serial) --batches--> feeding (serial) --permits--> reading (concurrent) --outcomes--> merging (serial)
//                                                                                        group: all of it --^ notify
//
// 1. Walking never waits, so that the whole is soon known and the progress has a measure.
// 2. Feeding waits for a permit before it lets a batch be read. A batch has one file open at a time: there are never more
//    files open than permits.
// 3. Reading takes a reader, with its buffer and its table of words, from the pool. The one used last is taken first:
//    there are as many tables as there were batches read at once, not as many as there are permits.
// 4. Merging owns the ledger. The tables of words are added when the group is empty, when nobody writes to them any more.

/// Reads all files of a folder on a concurrent queue.
final class IndexPipeline: Sendable {
  private let root: Path
  private let progress: Progress
  private let walking = DispatchQueue(label: "gcd.index.walking")
  private let feeding = DispatchQueue(label: "gcd.index.feeding")
  private let reading = DispatchQueue(label: "gcd.index.reading", attributes: .concurrent)
  private let merging = DispatchQueue(label: "gcd.index.merging")
  private let permits: DispatchSemaphore
  private let work = DispatchGroup()
  private let readers = ReaderPool()
  private let ledger = Owned(Ledger())

  init(_ root: Path, jobs: Int, _ progress: Progress) {
    self.root = root
    self.progress = progress
    permits = DispatchSemaphore(value: jobs)
  }

  /// Begins; calls `completion` on `queue` when everything has been read, or what was begun before an interrupt.
  func start(notifying queue: DispatchQueue, _ completion: @escaping @Sendable (Ledger) -> Void) {
    walking.async(group: work) { self.walk() }
    work.notify(queue: merging) {
      for reader in self.readers.takeAll() { self.ledger.value.merge(reader.takeTable()) }
      queue.async { completion(self.ledger.value) }
    }
  }

  private func walk() {
    var batch = Batch()
    FolderWalker.walk(root, isCancelled: { Interrupt.isRequested }) { event in
      switch event {
      case .file(let path, let size):
        self.progress.found(bytes: size)
        batch.append(path, size: size)
        if batch.isFull {
          self.feed(batch.files)
          batch = Batch()
        }
      case .skipped(let kind): self.merging.async(group: self.work) { self.ledger.value.add(kind) }
      case .problem(let problem): self.merging.async(group: self.work) { self.ledger.value.add(problem) }
      }
    }
    feed(batch.files)
    if !Interrupt.isRequested { progress.finishedWalk() }
  }

  private func feed(_ files: [Path]) {
    feeding.async(group: work) {
      if files.isEmpty || Interrupt.isRequested { return }
      self.permits.wait()
      self.reading.async(group: self.work) {
        self.read(files)
        self.permits.signal()
      }
    }
  }

  private func read(_ files: [Path]) {
    let reader = readers.take()
    var outcomes: [FileOutcome] = []
    outcomes.reserveCapacity(files.count)
    for file in files {
      if Interrupt.isRequested { break }
      outcomes.append(reader.read(file, isCancelled: { Interrupt.isRequested }, progress: progress.read(bytes:)))
      progress.finishedFile()
    }
    readers.giveBack(reader)
    merging.async(group: work) { [outcomes] in
      for outcome in outcomes { self.ledger.value.add(outcome) }
    }
  }
}

/// A few small files, or a large one: enough work to be worth a visit to the queue.
private struct Batch {
  private static let enoughFiles = 16
  private static let enoughBytes = 256 * 1024

  private(set) var files: [Path] = []
  private var bytes = 0

  var isFull: Bool { files.count >= Self.enoughFiles || bytes >= Self.enoughBytes }

  mutating func append(_ path: Path, size: Int) {
    files.append(path)
    bytes += size
  }
}

/// Readers that wait for their next batch.
private final class ReaderPool: @unchecked Sendable {  // why: `idle` is touched on `queue` only
  private let queue = DispatchQueue(label: "gcd.index.readers")
  private var idle: [FileReader] = []

  func take() -> FileReader {
    queue.sync { idle.popLast() } ?? FileReader()
  }

  func giveBack(_ reader: FileReader) {
    queue.sync { idle.append(reader) }
  }

  func takeAll() -> [FileReader] {
    queue.sync {
      defer { idle = [] }
      return idle
    }
  }
}

/// Something that one queue after the other owns.
private struct Owned<Value>: @unchecked Sendable {  // why: the owner's queue orders all uses
  let value: Value

  init(_ value: Value) {
    self.value = value
  }
}
