// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@Suite("gcd index")
struct IndexToolTests {
  @Test("prints a table of what is in the folder")
  func table() {
    let folder = Self.sampleFolder()
    let result = ToolProcess.run(["index", folder.path])
    #expect(result.code == 0)
    #expect(result.error == "")
    let lines = result.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    func row(_ label: String) -> [String] {
      lines.first { $0.starts(with: label.split(separator: " ").map(String.init)) } ?? []
    }
    #expect(row("Files").dropFirst().first == "5")
    #expect(row("Bytes").dropFirst().first == "49")
    #expect(row("Words").dropFirst().first == "7")
    #expect(row("Distinct words").dropFirst(2).first == "3")
    #expect(row("MB/s").count > 1)
    #expect(row("Cores used").count > 2)
    #expect(row("1").starts(with: ["1", "apple", "4"]))
    #expect(row("Duplicates").starts(with: ["Duplicates", "2", "files", "in", "1", "set;"]))
    #expect(row("Not read") == ["Not", "read", "1", "FIFO"])
    #expect(result.output.contains("No such file or directory  \(folder.path)/dangling"))
    #expect(!result.output.contains("\u{1B}"))
  }

  @Test("indexes the current folder if none is named")
  func currentFolder() throws {
    let folder = Self.sampleFolder()
    let result = ToolProcess.run(["index", "--json"], folder: folder.path)
    let report = try JSON.parse(result.output)
    #expect(report["root"]?.string == ".")
    #expect(report["files"]?.number == 5)
    #expect(report["unreadable"]?.array?.first?["path"]?.string == "dangling")
  }

  @Test("prints JSON with everything in it")
  func json() throws {
    let folder = Self.sampleFolder()
    let result = ToolProcess.run(["index", folder.path, "--json", "--top", "2"])
    #expect(result.code == 0)
    let report = try JSON.parse(result.output)
    #expect(report["complete"]?.bool == true)
    #expect(report["bytes"]?.number == 49)
    #expect(report["words"]?.number == 7)
    #expect(report["distinctWords"]?.number == 3)
    #expect(report["binaryFiles"]?.number == 1)
    #expect(report["emptyFiles"]?.number == 1)
    #expect(report["skipped"]?["fifo"]?.number == 1)
    #expect(report["topWords"]?.array?.compactMap { $0["word"]?.string } == ["apple", "pear"])
    #expect(report["duplicates"]?.array?.first?["paths"]?.array?.count == 2)
    #expect(report["duplicateBytes"]?.number == 11)
    #expect(report["unreadable"]?.array?.first?["errno"]?.number == Double(ENOENT))
    #expect(report["performance"]?["mode"]?.string == "parallel")
  }

  @Test("finds the same at once as one after the other, with any number of jobs")
  func sameAsSerial() throws {
    let folder = TemporaryFolder()
    var random = SeededGenerator.fresh("gcd index")
    for index in 0..<300 {
      if index.isMultiple(of: 50) { folder.folder("sub\(index)") }
      let words = (0..<Int.random(in: 0...400, using: &random)).map { _ in
        "word\(Int.random(in: 0...2000, using: &random))"
      }
      folder.file("sub\(index / 50 * 50)/\(index).txt", words.joined(separator: " "))
    }
    let serial = try JSON.parse(ToolProcess.run(["index", folder.path, "--json", "--serial"]).output)
    #expect(serial["files"]?.number == 300)
    #expect(serial["performance"]?["mode"]?.string == "serial")
    for jobs in ["1", "2", "7", "64"] {
      let parallel = try JSON.parse(ToolProcess.run(["index", folder.path, "--json", "--jobs", jobs]).output)
      #expect(parallel.without("performance") == serial.without("performance"), "\(jobs) jobs")
    }
  }

  @Test("never has more files open than permits")
  func descriptors() throws {
    let folder = TemporaryFolder()
    for index in 0..<400 { folder.file("\(index)", "file \(index)") }
    // Eight files, the folder, and what the process itself needs.
    let process = ToolProcess(
      ["index", folder.path, "--json", "--jobs", "8"], shell: "ulimit -n 32; exec \"$0\" \"$@\"")
    let report = try JSON.parse(process.wait().output)
    #expect(report["files"]?.number == 400)
    #expect(report["unreadable"]?.array?.isEmpty == true)
  }

  @Test("stops at Ctrl-C, tells how far it got, and leaves nothing half written", arguments: [[], ["--serial"]])
  func interrupt(extra: [String]) {
    let folder = TemporaryFolder()
    folder.file("small", "a few words")
    folder.sparseFile("endless", size: 1 << 40)
    let process = ToolProcess(["index", folder.path] + extra)
    #expect(process.waitUntilOpen("endless"))
    kill(process.identifier, SIGINT)
    let result = process.wait()
    #expect(result.code == 130)
    #expect(result.output == "")
    #expect(result.error.hasPrefix("gcd: interrupted after "))
    #expect(result.error.contains(": read ") && result.error.contains(" files"))
    #expect(result.error.split(separator: "\n").count == 1)
  }

  @Test("prints valid JSON at Ctrl-C, marked as incomplete; ends with 143 when it is terminated")
  func terminate() throws {
    let folder = TemporaryFolder()
    folder.sparseFile("endless", size: 1 << 40)
    let process = ToolProcess(["index", folder.path, "--json"])
    #expect(process.waitUntilOpen("endless"))
    kill(process.identifier, SIGTERM)
    let result = process.wait()
    #expect(result.code == 143)
    #expect(result.error.hasPrefix("gcd: terminated after "))
    #expect(try JSON.parse(result.output)["complete"]?.bool == false)
  }

  @Test("draws a bar on a terminal, and erases it before it says anything else")
  func bar() {
    let folder = TemporaryFolder()
    folder.sparseFile("endless", size: 1 << 40)
    let process = ToolProcess(["index", folder.path], onTerminal: true)
    var isInterrupted = false
    let result = process.wait { text in
      // Two lines of progress: the bar is drawn again and again.
      guard !isInterrupted, text.split(separator: " %").count > 2 else { return }
      isInterrupted = true
      kill(process.identifier, SIGINT)
    }
    #expect(result.code == 130)
    #expect(result.output.contains("of 1 files"))
    let end = result.output.split(separator: "\r\u{1B}[K").last ?? ""
    #expect(end.hasPrefix("gcd: interrupted after "))
    #expect(end.hasSuffix(" words\r\n"))
  }

  @Test("draws no bar if none is wanted, and no colour against NO_COLOR", arguments: [true, false])
  func colour(isWanted: Bool) {
    let folder = Self.sampleFolder()
    let process = ToolProcess(
      ["index", folder.path, "--no-progress"], environment: isWanted ? ["TERM=xterm"] : ["TERM=xterm", "NO_COLOR=1"],
      onTerminal: true)
    let result = process.wait()
    #expect(result.code == 0)
    #expect(result.output.contains("\u{1B}[1m") == isWanted)
    #expect(!result.output.contains("\u{1B}[K"))
  }

  @Test("says what is wrong with a folder that is not there, and with options that make no sense")
  func mistakes() {
    let missing = ToolProcess.run(["index", "/nowhere/at/all"])
    #expect(missing.code == 1)
    #expect(missing.error == "gcd: /nowhere/at/all: No such file or directory\n")
    for options in [
      ["--jobs", "0"], ["--jobs", "many"], ["--serial", "--jobs", "2"], ["--top", "-1"], ["--nonsense"],
    ] {
      let result = ToolProcess.run(["index", "/"] + options)
      #expect(result.code == 64, "\(options)")
      #expect(result.error.contains("Error:"), "\(options)")
    }
  }

  @Test("says so when its output has no room", arguments: [[], ["--json"]])
  func fullOutput(extra: [String]) {
    let folder = Self.sampleFolder()
    let result = ToolProcess(["index", folder.path] + extra, shell: "exec \"$0\" \"$@\" > /dev/full").wait()
    #expect(result.code == 1)
    #expect(result.error == "gcd: standard output: No space left on device\n")
  }

  @Test("shows an empty folder as such")
  func empty() {
    let folder = TemporaryFolder()
    let result = ToolProcess.run(["index", folder.path])
    #expect(result.code == 0)
    #expect(result.output.contains("Files"))
    #expect(!result.output.contains("Most frequent words"))
  }

  /// Five files of 49 bytes with 7 words, 3 of them distinct; a FIFO and a link that leads nowhere.
  private static func sampleFolder() -> TemporaryFolder {
    let folder = TemporaryFolder()
    folder.file("one", "Apple, pear")
    folder.file("copy", "Apple, pear")
    folder.folder("sub")
    folder.file("sub/two", "APPLE apple, figs!")
    folder.file("sub/empty", "")
    folder.file("sub/binary", Array("binary!!".utf8) + [0])
    folder.fifo("pipe")
    folder.link("dangling", to: "nothing")
    return folder
  }
}
