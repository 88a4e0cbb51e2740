// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

/// A file that is gone leaves its number to the next one.
@Suite("A file's number that is used again")
struct ReusedFileTests {
  /// A file of its own, which has no name: what gets its number later is another one.
  private func make() -> Int32 {
    var template = Array("/tmp/gc-reused-XXXXXX".utf8CString)
    let file = mkstemp(&template)
    precondition(file >= 0 && write(file, "abc", 3) == 3 && lseek(file, 0, SEEK_SET) == 0)
    unlink(template)
    return file
  }

  @Test(
    "S10: a regular file closed under its source: no handler for another file, nor for none", arguments: [false, true])
  func closedFile(isReused: Bool) {
    let (file, ends) = (make(), Ends.pipe())
    expectNoEvent(of: file) {
      if isReused { #expect(dup2(ends.reading, file) == file) } else { close(file) }
    }
    if isReused { close(file) }
    ends.close()
  }

  @Test(
    "S10: a regular file that is gone, and a new one with its descriptor and its number: no handler for the new one")
  func reusedFile() {
    func changed(_ file: Int32) -> Int {
      var status = stat()
      precondition(fstat(file, &status) == 0)
      return status.st_ctim.tv_sec * 1_000_000_000 + status.st_ctim.tv_nsec
    }
    // This holds the descriptor's place while the old file is gone and the new one is not yet made: another test
    // that opens a file could have the place otherwise.
    let keeper = open("/dev/null", O_RDONLY)
    defer { close(keeper) }
    for _ in 0..<20 {
      let file = make()
      // The clock of a file system moves every few milliseconds.
      func waitUntilYounger() {
        waitFor {
          let new = make()
          let isYounger = changed(new) != changed(file)
          close(new)
          return isYounger
        }
      }
      expectNoEvent(of: file, before: waitUntilYounger) {
        #expect(dup2(keeper, file) == file)
        let new = make()
        #expect(dup2(new, file) == file)
        close(new)
      }
      close(file)
    }
  }

  /// `change` takes the file away from under its source, which has fired: the source is cancelled, and does not fire
  /// again.
  private func expectNoEvent(of file: Int32, before: () -> Void = {}, change: () -> Void) {
    let queue = DispatchQueue(label: "source")
    let source = DispatchSource.makeReadSource(fileDescriptor: file, queue: queue)
    let (events, called, cancelled) = (Counter(), Latch(), Latch())
    source.setEventHandler {
      events.add()
      called.open()
    }
    source.setCancelHandler { cancelled.open() }
    source.activate()
    #expect(called.wait())
    before()
    let seen = queue.sync {
      change()
      return events.value
    }
    #expect(cancelled.wait())
    #expect(events.value == seen && source.isCancelled)
  }
}
