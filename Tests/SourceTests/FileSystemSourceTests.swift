// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import ContractSupport
import Glibc
import GrandCentral
import Testing

/// A folder that goes with the test.
private final class Folder: Sendable {
  let path: String

  init() {
    var template = Array("/tmp/gc-files-XXXXXX".utf8CString)
    precondition(mkdtemp(&template) != nil)
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    func empty(_ folder: String) {
      for name in Self.entries(folder) where unlink(folder + "/" + name) != 0 {
        empty(folder + "/" + name)
        rmdir(folder + "/" + name)
      }
    }
    empty(path)
    rmdir(path)
  }

  private static func entries(_ folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  func name(_ name: String) -> String { path + "/" + name }

  /// A new file with some content.
  func file(_ name: String, _ content: String = "content") -> Int32 {
    let descriptor = open(self.name(name), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    #expect(write(descriptor, content, content.utf8.count) == content.utf8.count)
    return descriptor
  }

  func folder(_ name: String) -> Int32 {
    #expect(mkdir(self.name(name), 0o700) == 0)
    return open(self.name(name), O_RDONLY | O_CLOEXEC)
  }
}

/// A source on a descriptor, which it closes in the end unless it is told not to, and what it has said.
private final class Watched: Sendable {
  typealias Event = DispatchSource.FileSystemEvent
  let descriptor: Int32
  let source: any DispatchSourceFileSystemObject
  let calls = Recorder<Event>()
  let queue = DispatchQueue(label: "files")
  private let ended = Latch()

  init(_ descriptor: Int32, _ mask: Event = .all, closes: Bool = true) {
    self.descriptor = descriptor
    source = DispatchSource.makeFileSystemObjectSource(fileDescriptor: descriptor, eventMask: mask, queue: queue)
    let (source, calls, ended) = (source, calls, ended)
    source.setEventHandler { [unowned source] in calls.note(source.data) }
    source.setCancelHandler {
      if closes { close(descriptor) }
      ended.open()
    }
    source.activate()
  }

  /// Everything so far.
  var seen: Event { calls.values.reduce(into: []) { $0.formUnion($1) } }

  /// Waits until something of `event` has been seen since the last time; then forgets.
  func hears(_ event: Event, since count: Int = 0, _ location: SourceLocation = #_sourceLocation) {
    waitFor(location) { calls.values.dropFirst(count).contains { !$0.isDisjoint(with: event) } }
  }

  func end(_ location: SourceLocation = #_sourceLocation) {
    source.cancel()
    #expect(ended.wait(), sourceLocation: location)
  }
}

@Suite("A source of a file or folder")
struct FileSystemSourceTests {
  @Test("S13: writing is an event, appending extends")
  func writing() {
    let folder = Folder()
    let file = Watched(folder.file("a"))
    #expect(pwrite(file.descriptor, "C", 1, 0) == 1)
    file.hears(.write)
    #expect(file.seen == .write)
    #expect(pwrite(file.descriptor, "more", 4, 7) == 4)
    file.hears(.extend)
    #expect(file.seen == [.write, .extend])
    #expect(file.source.handle == file.descriptor)
    #expect(file.source.mask == .all)
    file.end()
  }

  @Test("S13: truncation is a write, and extends nothing")
  func truncation() {
    let folder = Folder()
    let file = Watched(folder.file("a"))
    #expect(ftruncate(file.descriptor, 2) == 0)
    file.hears(.write)
    #expect(file.seen == .write)
    // Shorter than at first, longer than at last.
    #expect(pwrite(file.descriptor, "x", 1, 3) == 1)
    file.hears(.extend)
    file.end()
  }

  @Test("S13: permissions and times are attributes")
  func attributes() {
    let folder = Folder()
    let file = Watched(folder.file("a"))
    #expect(fchmod(file.descriptor, 0o640) == 0)
    file.hears(.attrib)
    #expect(futimens(file.descriptor, nil) == 0)
    file.hears(.attrib, since: 1)
    #expect(file.seen == .attrib)
    file.end()
  }

  @Test("S13: names that come and go are links; the last one's removal is a deletion, though the file is open")
  func links() {
    let folder = Folder()
    let file = Watched(folder.file("a"))
    #expect(link(folder.name("a"), folder.name("b")) == 0)
    file.hears(.link)
    file.queue.sync {}
    let before = file.calls.count
    #expect(unlink(folder.name("a")) == 0)
    file.hears(.link, since: before)
    #expect(!file.seen.contains(.delete))
    #expect(unlink(folder.name("b")) == 0)
    file.hears(.delete)
    // Without a name the file goes on.
    #expect(write(file.descriptor, "x", 1) == 1)
    file.hears(.write)
    #expect(file.calls.values.filter { $0.contains(.delete) }.count == 1)
    file.end()
  }

  @Test("S13: a renamed file is the same file, whatever takes its former name")
  func renaming() {
    let folder = Folder()
    let file = Watched(folder.file("a"))
    for (from, to) in [("a", "b"), ("b", "c")] {
      let before = file.calls.count
      #expect(rename(folder.name(from), folder.name(to)) == 0)
      file.hears(.rename, since: before)
      file.queue.sync {}
    }
    let before = file.calls.count
    close(folder.file("a", "another file"))
    #expect(fchmod(file.descriptor, 0o640) == 0)
    file.hears(.attrib, since: before)
    #expect(!file.calls.values.dropFirst(before).contains { $0.contains(.write) })
    file.end()
  }

  @Test("S13: an editor that saves by renaming deletes the file that was watched")
  func savingByRename() {
    let folder = Folder()
    let file = Watched(folder.file("a"))
    close(folder.file("a.new"))
    #expect(rename(folder.name("a.new"), folder.name("a")) == 0)
    file.hears(.delete)
    #expect(!file.seen.contains(.rename))
    file.end()
  }

  @Test("S13: a folder tells of entries that come, go and are renamed, not of what happens to them")
  func folderEntries() {
    let folder = Folder()
    let watched = Watched(folder.folder("d"))
    let inner = folder.file("d/a")
    watched.hears(.write)
    func settled() -> Int {
      // The event of this change comes after all others.
      let before = watched.calls.count
      #expect(fchmod(watched.descriptor, 0o710) == 0)
      watched.hears(.attrib, since: before)
      watched.queue.sync {}
      return watched.calls.count
    }
    var before = settled()
    #expect(write(inner, "x", 1) == 1)
    #expect(fchmod(inner, 0o640) == 0)
    let after = settled()
    #expect(watched.calls.values[before..<after].allSatisfy { $0 == .attrib })
    before = after
    #expect(rename(folder.name("d/a"), folder.name("d/b")) == 0)
    watched.hears(.write, since: before)
    before = settled()
    #expect(unlink(folder.name("d/b")) == 0)
    watched.hears(.write, since: before)
    #expect(watched.seen.isDisjoint(with: [.rename, .delete]))
    close(inner)
    watched.end()
  }

  @Test("S13: a removed folder is a deletion, though it is open and has been moved before")
  func folderRemoval() {
    let folder = Folder()
    close(folder.folder("outer"))
    let (first, moved) = (Watched(folder.folder("first")), Watched(folder.folder("moved")))
    #expect(rename(folder.name("moved"), folder.name("outer/moved")) == 0)
    moved.hears(.rename)
    #expect(rmdir(folder.name("first")) == 0)
    first.hears(.delete)
    #expect(!moved.seen.contains(.delete))
    #expect(rmdir(folder.name("outer/moved")) == 0)
    moved.hears(.delete)
    first.end()
    moved.end()
  }

  @Test("S13: several sources of one file, on one descriptor or more, all hear, and one may go")
  func sharing() {
    let folder = Folder()
    let first = folder.file("a")
    let sources = [first, dup(first), open(folder.name("a"), O_RDONLY), dup(first)].map { Watched($0) }
    let narrow = Watched(dup(first), .rename)
    #expect(pwrite(first, "x", 1, 0) == 1)
    for source in sources { source.hears(.write) }
    sources[1].end()
    narrow.end()
    for (index, source) in sources.enumerated() where index != 1 {
      let before = source.calls.count
      #expect(fchmod(first, 0o600 | mode_t(index)) == 0)
      source.hears(.attrib, since: before)
    }
    #expect(sources[1].seen == .write)
    #expect(narrow.calls.values == [])
    for (index, source) in sources.enumerated() where index != 1 { source.end() }
  }

  @Test("S13: only what the mask names is delivered")
  func masks() {
    let folder = Folder()
    let file = folder.file("a")
    let all = Watched(dup(file))
    let (attrib, rename) = (Watched(dup(file), .attrib), Watched(dup(file), [.rename]))
    #expect(write(file, "x", 1) == 1)
    #expect(fchmod(file, 0o640) == 0)
    #expect(Glibc.rename(folder.name("a"), folder.name("b")) == 0)
    all.hears(.rename)
    attrib.hears(.attrib)
    rename.hears(.rename)
    for source in [attrib, rename] { source.queue.sync {} }
    #expect(attrib.calls.values == [.attrib])
    #expect(rename.calls.values == [.rename])
    #expect(all.seen == [.write, .extend, .attrib, .rename])
    for source in [all, attrib, rename] { source.end() }
    close(file)
  }

  @Test("S13, S2: a suspended source delivers all that has happened in one call")
  func suspension() {
    let folder = Folder()
    let (file, witness) = (Watched(folder.file("a")), Watched(folder.file("b")))
    file.source.suspend()
    #expect(write(file.descriptor, "x", 1) == 1)
    #expect(fchmod(file.descriptor, 0o640) == 0)
    #expect(rename(folder.name("a"), folder.name("c")) == 0)
    // Events of all files come in order.
    #expect(fchmod(witness.descriptor, 0o640) == 0)
    witness.hears(.attrib)
    file.queue.sync {}
    #expect(file.calls.values == [])
    file.source.resume()
    file.hears(.rename)
    file.queue.sync {}
    #expect(file.calls.values == [[.write, .extend, .attrib, .rename]])
    file.end()
    witness.end()
  }

  @Test("S13: after cancellation the descriptor's number may serve another file")
  func descriptorReuse() {
    let folder = Folder()
    let (old, witness) = (folder.file("a"), Watched(folder.file("w")))
    let keeper = dup(old)
    let former = Watched(old, closes: false)
    former.end()
    // Replaced in one step: a number that is free may be another test's the next moment.
    let other = folder.file("b")
    #expect(dup2(other, old) == old)
    close(other)
    let next = Watched(old)
    #expect(fchmod(keeper, 0o640) == 0)
    #expect(fchmod(witness.descriptor, 0o640) == 0)
    witness.hears(.attrib)
    next.queue.sync {}
    #expect(next.calls.values == [])
    #expect(fchmod(old, 0o640) == 0)
    next.hears(.attrib)
    #expect(former.calls.values == [])
    close(keeper)
    next.end()
    witness.end()
  }

  @Test("S13: a descriptor that names no file cancels the source")
  func badDescriptor() {
    let watched = Watched(-1)
    waitFor { watched.source.isCancelled }
    watched.end()
    #expect(watched.calls.values == [])
  }

  @Test("S10, S13: a descriptor closed under its source is reported, and the source is cancelled")
  func closedDescriptor() {
    let result = Probe.run("files-closed")
    #expect(result.ended, "\(result)")
    #expect(result.errors.contains("was closed while a file system source watched it"), "\(result)")
  }

  @Test("S13: when events are lost, every source says that something may have happened")
  func overflow() {
    let result = Probe.run("files-overflow")
    #expect(result.ended, "\(result)")
    #expect(result.number("untouched") == Int(Watched.Event([.write, .attrib]).rawValue), "\(result)")
    #expect(result.errors.contains("fs.inotify.max_queued_events"), "\(result)")
  }

  @Test("S13, E5: a forked child watches files of its own, and leaves the parent's watches alone")
  func fork() {
    let result = Probe.run("files-fork")
    if result.skipped != nil { return }
    #expect(result.ended, "\(result)")
    #expect(result.number("child") == 0, "\(result)")
    #expect(result.number("parent") == 1, "\(result)")
  }

  @Test("S13: cancellation from many threads while files change loses nothing and crashes nothing")
  func turmoil() {
    let folder = Folder()
    let files = (0..<8).map { folder.file("f\($0)") }
    PlainThread.concurrently(4) { thread in
      for round in 0..<50 {
        let source = Watched(dup(files[(thread + round) % 8]), [.attrib, .write])
        #expect(fchmod(source.descriptor, 0o600 | mode_t(round & 7)) == 0)
        if round % 3 != 0 { source.hears(.attrib) }
        source.end()
      }
    }
    for file in files { close(file) }
  }
}
