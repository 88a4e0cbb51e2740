// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral

/// Counts what is watched: when all of it has begun, when all of it has ended, and whether there is room for more.
final class WatchLedger: @unchecked Sendable {  // why: touched on `queue` only
  let queue = DispatchQueue(label: "gcd.watch")
  /// Entered by each source, left in its cancel handler.
  let sources = DispatchGroup()
  private let limit: Int
  private var beginning = 0
  private var whenAllWatch: (() -> Void)?
  private(set) var files = 0
  private(set) var folders = 0
  /// Folders that were not asked for.
  private var places = 0
  /// Nothing more is watched.
  private(set) var isClosed = false
  /// What the kernel does not let us watch.
  var unreadable = 0

  init(limit: Int) {
    self.limit = limit
  }

  var isFull: Bool { files + folders + places >= limit }

  func close() { isClosed = true }

  /// Calls `body` once, when nothing is on its way any more.
  func whenAllWatch(_ body: @escaping () -> Void) {
    whenAllWatch = body
    announce()
  }

  fileprivate func begin(_ file: OpenFile, isPlace: Bool) {
    sources.enter()
    beginning += 1
    count(file, isPlace, 1)
  }

  fileprivate func hasBegun() {
    beginning -= 1
    announce()
  }

  fileprivate func end(_ file: OpenFile, isPlace: Bool) {
    count(file, isPlace, -1)
    sources.leave()
  }

  private func count(_ file: OpenFile, _ isPlace: Bool, _ difference: Int) {
    if isPlace {
      places += difference
    } else if file.kind == .folder {
      folders += difference
    } else {
      files += difference
    }
  }

  private func announce() {
    guard beginning == 0, let body = whenAllWatch else { return }
    whenAllWatch = nil
    body()
  }
}

/// One event source for one open file, which it closes when it has ended.
final class FileWatcher: @unchecked Sendable {  // why: touched on the ledger's queue only
  let file: OpenFile
  private let ledger: WatchLedger
  private let source: any DispatchSourceFileSystemObject
  private var hasSettled = false
  private(set) var isCancelled = false

  /// Calls `begun` once, with whether the kernel watches the file, and then `happened` each time; neither of them after
  /// `cancel()`. `isPlace`: a folder that was not asked for.
  init(
    _ file: OpenFile, _ events: DispatchSource.FileSystemEvent, _ ledger: WatchLedger, isPlace: Bool = false,
    begun: @escaping @Sendable (Bool) -> Void, happened: @escaping @Sendable (DispatchSource.FileSystemEvent) -> Void
  ) {
    self.file = file
    self.ledger = ledger
    source = DispatchSource.makeFileSystemObjectSource(
      fileDescriptor: file.descriptor, eventMask: events, queue: ledger.queue)
    ledger.begin(file, isPlace: isPlace)
    source.setRegistrationHandler { self.settle(begun, true) }
    source.setEventHandler { if !self.isCancelled { happened(self.source.data) } }
    source.setCancelHandler {
      self.settle(begun, false)
      file.close()
      ledger.end(file, isPlace: isPlace)
    }
    source.activate()
  }

  func cancel() {
    if isCancelled { return }
    isCancelled = true
    source.cancel()
  }

  private func settle(_ begun: (Bool) -> Void, _ isWatched: Bool) {
    if hasSettled { return }
    hasSettled = true
    // What is found in a folder begins before the folder has begun: the count does not come to zero in between.
    if !isCancelled { begun(isWatched) }
    ledger.hasBegun()
  }
}
