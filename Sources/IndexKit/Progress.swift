// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How far the work has got: written by all readers, read by whoever draws.
package final class Progress: Sendable {
  private let foundFiles = Atomic<Int>(0)  // A
  private let foundBytes = Atomic<Int>(0)  // A
  private let readFiles = Atomic<Int>(0)  // A
  private let readBytes = Atomic<Int>(0)  // A
  private let skippedBytes = Atomic<Int>(0)  // A
  private let bytesToCheck = Atomic<Int>(0)  // A
  private let checkedBytes = Atomic<Int>(0)  // A
  private let isWalking = Atomic<Bool>(true)  // A

  package init() {}

  // relaxed: the counters are for show; nothing is read because of their values.
  /// A file; `toCheck` are the bytes that will be read once more, to be compared.
  package func found(bytes: Int, toCheck: Int = 0) {
    foundFiles.wrappingAdd(1, ordering: .relaxed)
    // relaxed: as above.
    foundBytes.wrappingAdd(bytes, ordering: .relaxed)
    // relaxed: as above.
    bytesToCheck.wrappingAdd(toCheck, ordering: .relaxed)
  }

  package func read(bytes: Int) {
    // relaxed: as above.
    readBytes.wrappingAdd(bytes, ordering: .relaxed)
  }

  /// Bytes that need not be read: holes.
  package func skipped(bytes: Int) {
    // relaxed: as above.
    skippedBytes.wrappingAdd(bytes, ordering: .relaxed)
  }

  /// Bytes that have been read once more.
  package func checked(bytes: Int) {
    // relaxed: as above.
    checkedBytes.wrappingAdd(bytes, ordering: .relaxed)
  }

  package func finishedFile() {
    // relaxed: as above.
    readFiles.wrappingAdd(1, ordering: .relaxed)
  }

  package func finishedWalk() {
    // relaxed: as above.
    isWalking.store(false, ordering: .relaxed)
  }

  /// The counters at about this time.
  package var snapshot: Snapshot {
    // relaxed: as above; values of slightly different instants do no harm.
    Snapshot(
      isWalking: isWalking.load(ordering: .relaxed),
      foundFiles: foundFiles.load(ordering: .relaxed),
      foundBytes: foundBytes.load(ordering: .relaxed),
      readFiles: readFiles.load(ordering: .relaxed),
      readBytes: readBytes.load(ordering: .relaxed),
      skippedBytes: skippedBytes.load(ordering: .relaxed),
      bytesToCheck: bytesToCheck.load(ordering: .relaxed),
      checkedBytes: checkedBytes.load(ordering: .relaxed))
  }

  package struct Snapshot: Sendable {
    package var isWalking: Bool
    package var foundFiles: Int
    package var foundBytes: Int
    package var readFiles: Int
    package var readBytes: Int
    package var skippedBytes: Int
    package var bytesToCheck: Int
    package var checkedBytes: Int

    package init(
      isWalking: Bool, foundFiles: Int, foundBytes: Int, readFiles: Int, readBytes: Int, skippedBytes: Int = 0,
      bytesToCheck: Int = 0, checkedBytes: Int = 0
    ) {
      self.isWalking = isWalking
      self.foundFiles = foundFiles
      self.foundBytes = foundBytes
      self.readFiles = readFiles
      self.readBytes = readBytes
      self.skippedBytes = skippedBytes
      self.bytesToCheck = bytesToCheck
      self.checkedBytes = checkedBytes
    }

    /// The part of the work that is done, if the whole is known.
    package var fraction: Double? {
      if isWalking || foundFiles == 0 { return nil }
      let files = Double(readFiles) / Double(foundFiles)
      // Files may grow, or say they are empty and be not: the bytes alone could overshoot.
      let (done, all) = (readBytes + skippedBytes + checkedBytes, foundBytes + bytesToCheck)
      return min(1, all > 0 ? Double(done) / Double(all) : files)
    }
  }
}

/// The progress as one line of a terminal.
package enum ProgressLine {
  private static let barColumns = 24

  package static func render(_ now: Progress.Snapshot, seconds: Double, style: Style) -> String {
    let files = "\(NumberFormat.grouped(now.readFiles)) of \(NumberFormat.grouped(now.foundFiles)) files"
    let moved = now.readBytes + now.checkedBytes
    let speed = "\(NumberFormat.significant(seconds > 0 ? Double(moved) / seconds / 1e6 : 0)) MB/s"
    var facts = "\(files), \(NumberFormat.bytes(now.readBytes)), "
    if now.checkedBytes > 0 { facts += "\(NumberFormat.bytes(now.checkedBytes)) compared, " }
    facts += speed
    let columns = (style.columns ?? 80) - 1
    // At the beginning it would be a guess.
    if let fraction = now.fraction, fraction > 0.02, fraction < 1 {
      facts += ", \(NumberFormat.duration(seconds * (1 - fraction) / fraction)) left"
    }
    guard let fraction = now.fraction else { return fitted("Looking around  ", facts, columns, style) }
    let percent = TextLayout.right("\(Int(fraction * 100))", 3) + " %  "
    let filled = style.bar(fraction, columns: barColumns)
    let rest = String(repeating: style.usesUnicode ? "░" : ".", count: barColumns - TextLayout.width(filled))
    guard columns > barColumns + TextLayout.width(percent) + 20 else { return fitted(percent, facts, columns, style) }
    let head = style.accent(filled) + style.dim(rest) + " "
    return head + fitted(percent, facts, columns - barColumns - 1, style)
  }

  private static func fitted(_ head: String, _ facts: String, _ columns: Int, _ style: Style) -> String {
    let room = columns - TextLayout.width(head)
    if TextLayout.width(facts) <= room { return head + style.dim(facts) }
    return String((head + facts).prefix(max(0, columns)))
  }
}
