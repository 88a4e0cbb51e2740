// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral

/// A path that was asked for: what it leads to is watched, whatever file that is. The folder it lies in is watched as
/// well, quietly, and tells when another file has got the name.
final class WatchedPath: @unchecked Sendable {  // why: touched on the ledger's queue only
  let path: Path
  private let ledger: WatchLedger
  private let complain: @Sendable (Problem) -> Void
  private let report: @Sendable (Change) -> Void
  /// Called once, when nothing will be seen of the path any more.
  private let lost: @Sendable () -> Void
  private var tree: WatchTree?
  private var object: WatchedObject?
  private var folder: FileWatcher?
  private var isOver = false

  init(
    _ path: Path, _ ledger: WatchLedger, report: @escaping @Sendable (Change) -> Void,
    complain: @escaping @Sendable (Problem) -> Void, lost: @escaping @Sendable () -> Void
  ) {
    self.path = path
    self.ledger = ledger
    self.report = report
    self.complain = complain
    self.lost = lost
  }

  func begin(isRecursive: Bool, isFull: @escaping @Sendable () -> Void) {
    tree = WatchTree(
      ledger, isRecursive: isRecursive,
      WatchTree.Listener(
        report: report, topHappened: { self.topHappened($0) }, topFailed: { self.end() }, isFull: isFull))
    open(news: [])
    // A path that leads nowhere from the start is more likely a mistake than something to wait for.
    guard object != nil else { return end() }
    guard let name = path.folder, let opened = try? OpenFile(name) else { return }
    guard opened.isReadable else { return opened.close() }
    folder = FileWatcher(
      opened, [.write, .delete], ledger, isPlace: true, begun: { _ in self.follow() },
      happened: { self.folderHappened($0) })
  }

  /// Ends all sources.
  func cancel() {
    isOver = true
    folder?.cancel()
    if let object { tree?.drop(object) }
    object = nil
    tree = nil
  }

  private func end() {
    if isOver { return }
    cancel()
    lost()
  }

  private func open(news: [Change.Event]) {
    if ledger.isClosed { return }
    do throws(Problem) {
      let file = try OpenFile(path)
      guard file.isReadable else {
        file.close()
        throw Problem(path: path, code: EACCES)
      }
      object = tree?.watch(top: path, file, news: news)
    } catch {
      complain(error)
    }
  }

  // MARK: Events

  private func topHappened(_ data: DispatchSource.FileSystemEvent) {
    guard let object, let tree else { return }
    let isFolder = object.file.kind == .folder
    let content: DispatchSource.FileSystemEvent = isFolder ? [] : [.write, .extend]
    if !data.isDisjoint(with: [.delete, .rename, .link]), FileIdentity(at: path) != object.file.identity {
      tree.tell(object, data.intersection(content))
      return follow()
    }
    tree.tell(object, isFolder ? data.intersection([.attrib, .rename, .revoke]) : data.subtracting(.delete))
  }

  private func folderHappened(_ data: DispatchSource.FileSystemEvent) {
    follow()
    guard data.contains(.delete) else { return }
    folder?.cancel()
    folder = nil
    if object == nil { end() }
  }

  /// Watches what the path leads to now, if it is not what is watched.
  private func follow() {
    guard let tree, !isOver else { return }
    let identity = FileIdentity(at: path)
    if identity == object?.file.identity { return }
    var events: [Change.Event] = []
    var latter: Path?
    if let object {
      latter = object.file.currentPath
      tree.tellNews(of: object)
      // What was in it was deleted first.
      if latter == nil { tree.compare(object, isQuiet: false) }
      events = [latter == nil ? .delete : .rename]
      tree.drop(object)
      self.object = nil
    }
    if identity != nil { open(news: events + [.create]) }
    if object == nil, !events.isEmpty { report(Change(path, events, latter: latter)) }
    if object == nil, folder == nil { end() }
  }
}
