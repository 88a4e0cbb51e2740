// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import IndexKit

@Suite("A folder walker")
struct FolderWalkerTests {
  @Test("finds every file at every depth, with its size")
  func files() {
    let folder = TemporaryFolder()
    folder.file("a", "12345")
    folder.folder("sub")
    folder.file("sub/b", "")
    folder.folder("sub/deeper")
    folder.file("sub/deeper/.hidden", "1")
    let found = walk(folder.path)
    #expect(found.files == ["a": 5, "sub/b": 0, "sub/deeper/.hidden": 1])
    #expect(found.problems.isEmpty)
  }

  @Test("does not run in circles along links, and reads nothing twice")
  func links() {
    let folder = TemporaryFolder()
    folder.folder("sub")
    folder.file("sub/file", "x")
    folder.link("sub/up", to: "..")
    folder.link("alias", to: "sub/file")
    let found = walk(folder.path)
    #expect(found.files == ["sub/file": 1])
    #expect(found.skipped == [.link: 2])
    #expect(found.problems.isEmpty)
  }

  @Test("names links that lead nowhere, or round in a circle")
  func brokenLinks() {
    let folder = TemporaryFolder()
    folder.link("dangling", to: "nothing")
    folder.link("circle", to: "circle")
    let found = walk(folder.path)
    #expect(found.problems == ["circle": ELOOP, "dangling": ENOENT])
    #expect(found.skipped.isEmpty)
  }

  @Test("leaves FIFOs and devices alone")
  func special() {
    let folder = TemporaryFolder()
    folder.fifo("pipe")
    #expect(walk(folder.path).skipped == [.fifo: 1])
    #expect(walk("/dev/null").skipped == [.device: 1])
  }

  @Test("follows a link to the folder that is asked for, and takes a file for one")
  func root() {
    let folder = TemporaryFolder()
    folder.folder("real")
    folder.file("real/file", "abc")
    folder.link("alias", to: "real")
    #expect(walk(folder.path + "/alias").files == ["file": 3])
    #expect(walk(folder.path + "/real/file").files == ["": 3])
  }

  @Test("says why it cannot begin")
  func obstacles() {
    let folder = TemporaryFolder()
    #expect(FolderWalker.obstacle(at: Path(folder.path)) == nil)
    #expect(FolderWalker.obstacle(at: Path(folder.path + "/missing"))?.code == ENOENT)
    #expect(walk(folder.path + "/missing").problems == ["": ENOENT])
  }

  @Test("goes on where a folder has vanished since it was seen")
  func vanished() {
    let folder = TemporaryFolder()
    folder.folder("gone")
    folder.file("stays", "1")
    var files = 0
    var problems: [Int32] = []
    FolderWalker.walk(Path(folder.path)) { event in
      // The walker looks into a folder after it has listed the one above.
      rmdir(folder.path + "/gone")
      switch event {
      case .file: files += 1
      case .problem(let problem): problems.append(problem.code)
      case .skipped: break
      }
    }
    #expect(files == 1)
    #expect(problems == [ENOENT])
  }

  @Test("copes with names that are not text")
  func names() throws {
    let folder = TemporaryFolder()
    let name: [UInt8] = Array((folder.path + "/").utf8) + [0xff, 0xfe, 0x0a]
    let descriptor = Path(bytes: name).withCString { open($0, O_CREAT | O_WRONLY | O_CLOEXEC, 0o644) }
    try #require(descriptor >= 0)
    write(descriptor, "words", 5)
    close(descriptor)
    var seen: [Path] = []
    FolderWalker.walk(Path(folder.path)) { event in
      if case .file(let path, _) = event { seen.append(path) }
    }
    #expect(seen.map(\.bytes) == [name])
    let outcome = FileReader().read(seen[0])
    guard case .read(let record) = outcome else {
      Issue.record("not read: \(outcome)")
      return
    }
    #expect(record.words == 1)
  }

  @Test("stops when it is told to")
  func cancel() {
    let folder = TemporaryFolder()
    for index in 0..<100 { folder.file("f\(index)", "") }
    var count = 0
    FolderWalker.walk(Path(folder.path), isCancelled: { count >= 10 }) { _ in count += 1 }
    #expect(count == 10)
  }

  private struct Found {
    var files: [String: Int] = [:]
    var skipped: [SpecialFile: Int] = [:]
    var problems: [String: Int32] = [:]
  }

  private func walk(_ root: String) -> Found {
    var found = Found()
    func relative(_ path: Path) -> String { String(path.text.dropFirst(root.count + 1)) }
    FolderWalker.walk(Path(root)) { event in
      switch event {
      case .file(let path, let size): found.files[relative(path)] = size
      case .skipped(let kind): found.skipped[kind, default: 0] += 1
      case .problem(let problem): found.problems[relative(problem.path)] = problem.code
      }
    }
    return found
  }
}
