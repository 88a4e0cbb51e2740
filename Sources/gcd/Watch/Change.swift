// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral

/// What has happened to a path.
struct Change: Sendable {
  enum Event: String, Sendable {
    case create, write, extend, attrib, link, rename, delete, revoke
  }

  let path: Path
  let events: [Event]
  /// Of a rename: the path before.
  var former: Path?
  /// Of a rename to a place that is not watched: the path afterwards.
  var latter: Path?

  init(_ path: Path, _ events: [Event], former: Path? = nil, latter: Path? = nil) {
    self.path = path
    self.events = events
    self.former = former
    self.latter = latter
  }

  /// What a source says.
  init(_ path: Path, _ data: DispatchSource.FileSystemEvent) {
    self.init(path, Self.names.filter { data.contains($0.0) }.map { $0.1 })
  }

  private static let names: [(DispatchSource.FileSystemEvent, Event)] = [
    (.write, .write), (.extend, .extend), (.attrib, .attrib), (.link, .link), (.rename, .rename), (.delete, .delete),
    (.revoke, .revoke),
  ]
}
