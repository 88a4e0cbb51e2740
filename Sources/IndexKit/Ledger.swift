// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Adds up what the files have in them. The order in which things are added makes no difference to the report.
package final class Ledger {
  private var totals = IndexTotals()
  private var problems: [Problem] = []
  private var hashed: [HashedFile] = []
  private var table = WordTable()

  package init() {}

  /// Adds what reading a file has found.
  package func add(_ outcome: FileOutcome) {
    switch outcome {
    case .read(let record): add(record)
    case .failed(let record, let problem):
      problems.append(problem)
      if let record { add(record) }
    case .skipped(let kind): add(kind)
    case .cancelled(let record):
      if let record { add(record) }
    }
  }

  /// Adds something that is not read.
  package func add(_ kind: SpecialFile) { totals.skipped[kind, default: 0] += 1 }

  /// Adds something that could not be read.
  package func add(_ problem: Problem) { problems.append(problem) }

  /// Adds the words that a reader has counted over all its files.
  package func merge(_ words: consuming WordTable) { table.merge(words) }

  private func add(_ record: FileRecord) {
    totals.files += 1
    totals.bytes += record.bytes
    totals.words += record.words
    totals.overlongWords += record.overlongWords
    if record.isBinary { totals.binaryFiles += 1 }
    if !record.isUTF8 { totals.filesNotUTF8 += 1 }
    if record.bytes == 0 { totals.emptyFiles += 1 }
    if let hash = record.hash, record.bytes > 0 {
      hashed.append(HashedFile(hash: hash, bytes: record.bytes, path: record.path, identity: record.identity))
    }
  }

  /// Everything in its final order.
  package func report(root: Path, top: Int, performance: Performance, isComplete: Bool) -> IndexReport {
    var totals = totals
    totals.distinctWords = table.distinct
    return IndexReport(
      root: root, isComplete: isComplete, totals: totals, topWords: table.mostFrequent(top),
      duplicates: DuplicateSet.find(in: hashed), problems: problems.sorted(), performance: performance)
  }
}

/// A file whose contents are known.
package struct HashedFile: Sendable {
  package let hash: ContentHash
  package let bytes: Int
  package let path: Path
  package let identity: FileIdentity?

  package init(hash: ContentHash, bytes: Int, path: Path, identity: FileIdentity? = nil) {
    self.hash = hash
    self.bytes = bytes
    self.path = path
    self.identity = identity
  }
}

/// Names of files with the same contents.
package struct DuplicateSet: Sendable {
  package let hash: ContentHash
  package let bytes: Int
  package let paths: [Path]
  /// How many files the names stand for: names of one and the same file take no room twice.
  package let copies: Int

  /// What keeping one copy would free.
  package var wasted: Int { bytes * (copies - 1) }

  /// All sets of two names or more; those that waste most come first.
  package static func find(in files: [HashedFile]) -> [DuplicateSet] {
    let sorted = files.sorted { left, right in (left.bytes, left.hash) < (right.bytes, right.hash) }
    var sets: [DuplicateSet] = []
    var start = 0
    while start < sorted.count {
      var end = start + 1
      while end < sorted.count, sorted[end].hash == sorted[start].hash, sorted[end].bytes == sorted[start].bytes {
        end += 1
      }
      if end - start > 1 { sets.append(DuplicateSet(sorted[start..<end])) }
      start = end
    }
    return sets.sorted { ($1.wasted, $0.paths[0]) < ($0.wasted, $1.paths[0]) }
  }

  private init(_ files: ArraySlice<HashedFile>) {
    let first = files[files.startIndex]
    hash = first.hash
    bytes = first.bytes
    paths = files.map(\.path).sorted()
    let linked = files.compactMap(\.identity)
    copies = files.count - linked.count + Set(linked).count
  }
}
