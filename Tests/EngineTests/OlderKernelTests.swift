// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import Testing

/// The rows of Documentation/Platforms.md that are not of Documentation/Exhaustion.md.
@Suite("What an older kernel does not know is done in another way")
struct OlderKernelTests {
  /// Runs a scenario to its good end, without a line from the library.
  private func run(_ scenario: String, _ error: Int32, _ environment: [String: String] = [:]) -> ProbeResult? {
    let settings = ["ASAN_OPTIONS": "detect_leaks=0", "GC_ERROR": "\(error)"]
    let result = Probe.run(scenario, environment: environment.merging(settings) { $1 })
    #expect(result.ended, "\(result)")
    if result.skipped != nil { return nil }
    #expect(!result.errors.contains("GrandCentral"), "\(result)")
    return result
  }

  // A container's filter answers so, as glibc then goes the older way.
  @Test("E6: without clone3 threads are started by clone")
  func threads() { if !Kernel.isThreadSanitized { _ = run("without-clone3", ENOSYS) } }

  @Test("E6: without MADV_POPULATE_WRITE memory comes page by page")
  func populate() { _ = run("without-populate", EINVAL) }

  @Test("I7: without RWF_NOSIGNAL a broken pipe ends the write, and not the process", arguments: [EOPNOTSUPP, EINVAL])
  func brokenPipe(error: Int32) { #expect(run("without-nosignal", error)?.number("error") ?? Int(EPIPE) == Int(EPIPE)) }

  @Test("E6: without RWF_NOWAIT files and pipes are read and written")
  func asking() { #expect(run("without-nowait", EOPNOTSUPP)?.number("bytes") ?? 200_100 == 200_100) }

  @Test("I2: where a file that must not wait says its end in the midst, as in Linux 5.9 and 5.10, all of it is read")
  func earlyEnd() {
    for release in ["5.9.16", "5.10.0-29-amd64"] {
      #expect(run("early-end", 0, ["GC_RELEASE": release])?.number("bytes") ?? 300_000 == 300_000)
    }
    // The end of what is not such a kernel's is one.
    #expect(run("early-end", 0, ["GC_RELEASE": "5.11.0"])?.number("bytes") ?? 0 == 0)
  }

  @Test(
    "E6: without the record of an end, ends of processes that are no children are heard of",
    arguments: [ENOTTY, EINVAL])
  func end(error: Int32) { #expect(run("without-recorded-end", error)?.number("known") ?? 0 == 0) }

  @Test("E6: without memory files tools see nothing, and the program runs", arguments: [ENOSYS, EPERM, EACCES])
  func memoryFiles(error: Int32) {
    for setting in ["GRANDCENTRAL_INSPECT": "1", "GRANDCENTRAL_RECORD": "ring"] {
      #expect(run("without-memory-files", error, [setting.key: setting.value])?.number("files") ?? 0 == 0)
    }
  }

  @Test("E6: without kcmp descriptors of one file are known by the file", arguments: [ENOSYS, EPERM, EACCES])
  func comparison(error: Int32) {
    guard let result = run("without-comparison", error) else { return }
    #expect(result["blocks"] == "no,yes", "\(result)")
  }

  @Test(
    "E6: without membarrier a report names no queues, and iterations that wait for later ones end",
    arguments: [ENOSYS, EPERM, EACCES])
  func barrier(error: Int32) {
    let few = ["GRANDCENTRAL_THREAD_BUDGET": "4", "GRANDCENTRAL_THREADS": "2"]
    guard let result = run("without-barrier", error, few) else { return }
    #expect(result["line"]?.contains("(nothing that has a name)") == true, "\(result)")
  }

  @Test("E9: a process registers for membarrier before it has a second thread, when that takes no time")
  func earlyBarrier() {
    let result = Probe.run("barrier-is-ready")
    #expect(result.ended, "\(result)")
    if result.skipped == nil { #expect(result.number("before") == 0 && result.number("after") == 1, "\(result)") }
  }

  @Test("E6: without the process connector, exit is the only event of processes", arguments: [EPERM, EACCES])
  func listening(error: Int32) { #expect(run("without-listening", error)?.number("exitOnly") ?? 1 == 1) }
}
