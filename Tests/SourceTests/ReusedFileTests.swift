// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral
import Testing

/// A file that is gone leaves its number to the next one.
@Suite("A file's number that is used again")
struct ReusedFileTests {
  @Test(
    "S10: a regular file that is gone, and a new one with its descriptor and its number: no handler for the new one")
  func reusedFile() {
    func make() -> Int32 {
      var template = Array("/tmp/gc-reused-XXXXXX".utf8CString)
      let file = mkstemp(&template)
      precondition(file >= 0 && write(file, "abc", 3) == 3 && lseek(file, 0, SEEK_SET) == 0)
      unlink(template)
      return file
    }
    func changed(_ file: Int32) -> Int {
      var status = stat()
      precondition(fstat(file, &status) == 0)
      return status.st_ctim.tv_sec * 1_000_000_000 + status.st_ctim.tv_nsec
    }
    for _ in 0..<20 {
      let (file, queue) = (make(), DispatchQueue(label: "source"))
      let source = DispatchSource.makeReadSource(fileDescriptor: file, queue: queue)
      let (events, called, cancelled) = (Counter(), Latch(), Latch())
      source.setEventHandler {
        events.add()
        called.open()
      }
      source.setCancelHandler { cancelled.open() }
      source.activate()
      #expect(called.wait())
      // The clock of a file system moves every few milliseconds.
      waitFor {
        let new = make()
        let isYounger = changed(new) != changed(file)
        close(new)
        return isYounger
      }
      let before = queue.sync {
        close(file)
        let new = make()
        if new != file {
          #expect(dup2(new, file) == file)
          close(new)
        }
        return events.value
      }
      #expect(cancelled.wait())
      #expect(events.value == before)
      close(file)
    }
  }
}
