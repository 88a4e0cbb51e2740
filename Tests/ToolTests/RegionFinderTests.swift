// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import gcd

@Suite("The finder of regions")
struct RegionFinderTests {
  @Test("a region that another process has made of a page is found only where those of others are asked for")
  func others() throws {
    let own = KernelReading.ownNumber(ofStatus: KernelReading.text("/proc/self/status")).number
    // A kernel that does not tell cannot be tested.
    guard own == getpid() else { return }
    let files = [MadeUpRegion(process: own), MadeUpRegion(process: getppid())].map { $0.file() }
    defer { for file in files { close(file) } }
    let identities = files.map { file -> UInt64 in
      var status = stat()
      fstat(file, &status)
      return UInt64(status.st_ino)
    }
    func found(ofOthers: Bool) throws -> [Bool] {
      let regions = Set(try RegionFinder.regions(of: own, ofOthers: ofOthers).map { $0.memory.identity })
      return identities.map { regions.contains($0) }
    }
    #expect(try found(ofOthers: false) == [true, false])
    #expect(try found(ofOthers: true) == [true, true])
  }
}
