// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import IndexKit

@Suite("A file reader")
struct FileReaderTests {
  @Test("counts bytes and words, and hashes the contents")
  func text() throws {
    let folder = TemporaryFolder()
    folder.file("a", "one two three")
    folder.file("b", "one two three")
    folder.file("c", "one two four")
    let reader = FileReader()
    let records = try ["a", "b", "c"].map { try #require(reader.record(folder.path + "/" + $0)) }
    #expect(records.map(\.bytes) == [13, 13, 12])
    #expect(records.map(\.words) == [3, 3, 3])
    #expect(records[0].hash == records[1].hash)
    #expect(records[0].hash != records[2].hash)
    #expect(WordCounterTests.dictionary(reader.takeTable()) == ["one": 3, "two": 3, "three": 2, "four": 1])
  }

  @Test("finds words that lie across the borders of chunks")
  func borders() throws {
    let folder = TemporaryFolder()
    let text = (0..<5000).map { "wörd\($0)" }.joined(separator: " ")
    folder.file("big", text)
    for size in [128, 1000, 4096, 1 << 20] {
      let reader = FileReader(chunkSize: size)
      let record = try #require(reader.record(folder.path + "/big"))
      #expect(record.words == 5000, "chunks of \(size)")
      #expect(record.isUTF8)
      #expect(reader.takeTable().distinct == 5000, "chunks of \(size)")
    }
  }

  @Test("hashes binary files, but does not count their words")
  func binary() throws {
    let folder = TemporaryFolder()
    folder.file("binary", Array("ELF words".utf8) + [0, 1, 2])
    let record = try #require(FileReader().record(folder.path + "/binary"))
    #expect(record.isBinary)
    #expect(record.words == 0)
    #expect(record.bytes == 12)
    #expect(record.hash != nil)
  }

  @Test("tells files that are not UTF-8, and counts what it can")
  func latin1() throws {
    let folder = TemporaryFolder()
    folder.file("latin1", Array("caf".utf8) + [0xe9] + Array(" olé".utf8))
    let record = try #require(FileReader().record(folder.path + "/latin1"))
    #expect(!record.isUTF8)
    #expect(record.words == 2)
  }

  @Test("says why a file cannot be opened")
  func failures() {
    let folder = TemporaryFolder()
    folder.link("link", to: "/etc/hostname")
    #expect(failure(folder.path + "/missing") == ENOENT)
    #expect(failure(folder.path) == EISDIR)
    #expect(failure(folder.path + "/link") == ELOOP)
  }

  @Test("keeps what it has read when reading fails, and claims no hash")
  func partial() {
    // The memory of a process is a file whose first page cannot be read, not even by its owner.
    guard case .failed(let record?, let problem) = FileReader().read(Path("/proc/self/mem")) else {
      Issue.record("reading address zero succeeded")
      return
    }
    #expect(problem.code == EIO)
    #expect(record.bytes == 0)
    #expect(record.hash == nil)
  }

  @Test("does not wait for a writer if a FIFO has taken the file's place")
  func fifo() {
    let folder = TemporaryFolder()
    folder.fifo("pipe")
    guard case .skipped(.fifo) = FileReader().read(Path(folder.path + "/pipe")) else {
      Issue.record("a FIFO was read")
      return
    }
  }

  @Test("stops between two chunks when it is told to")
  func cancel() {
    let folder = TemporaryFolder()
    folder.sparseFile("huge", size: 1 << 40)
    var read = 0
    let outcome = FileReader().read(
      Path(folder.path + "/huge"), isCancelled: { read >= 1 << 20 }, progress: { read += $0 })
    guard case .cancelled(let record?) = outcome else {
      Issue.record("not cancelled: \(outcome)")
      return
    }
    #expect(record.bytes == read)
    #expect(record.hash == nil)
  }

  @Test("knows two names of one file")
  func hardLinks() throws {
    let folder = TemporaryFolder()
    folder.file("a", "x")
    folder.hardLink("b", to: "a")
    folder.file("c", "x")
    let reader = FileReader()
    let identities = try ["a", "b", "c"].map { try #require(reader.record(folder.path + "/" + $0)).identity }
    #expect(identities[0] != nil)
    #expect(identities[0] == identities[1])
    #expect(identities[2] == nil)
  }

  private func failure(_ path: String) -> Int32? {
    if case .failed(_, let problem) = FileReader().read(Path(path)) { return problem.code }
    return nil
  }
}
