// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import gcd

@Suite("gcd run and gcd doctor")
struct RunToolTests {
  @Test("becomes the program: exit code, signals, number of the process, arguments")
  func becomesTheProgram() {
    let other = OtherLibrary()
    func run(_ line: String) -> ToolProcess {
      ToolProcess(["run", "--library", other.path, "--", "sh", "-c", line, "zero", "--one", "two"])
    }
    #expect(run("exit 7").wait().code == 7)
    #expect(run("kill -USR1 $$").wait().code == -SIGUSR1)
    #expect(run("echo \"$0 $*\"").wait().output == "zero --one two\n")
    let process = run("echo $$; read line </dev/zero")
    #expect(process.read { output, _ in output == "\(process.identifier)\n" })
    kill(process.identifier, SIGTERM)
    #expect(process.wait().code == -SIGTERM)
  }

  @Test("the program has the library, and no other of that name")
  func theLibraryIsLoaded() throws {
    let other = OtherLibrary()
    // A program that runs until it is ended, and uses a libdispatch: the tool itself.
    let process = ToolProcess(["run", "--verbose", "--library", other.path, Self.tool, "wait", String(getpid())])
    defer {
      kill(process.identifier, SIGKILL)
      _ = process.wait()
    }
    #expect(process.waitUntilOpen("[pidfd]"))
    #expect(process.read { _, error in error.hasSuffix("/libdispatch.so by LD_LIBRARY_PATH\n") })
    let maps = try #require(Self.text("/proc/\(process.identifier)/maps")).split(separator: "\n")
    let loaded = Set(maps.filter { $0.hasSuffix("/libdispatch.so") }.map { String($0[$0.firstIndex(of: "/")!...]) })
    #expect(loaded == [other.path + "/libdispatch.so"])
  }

  @Test("puts the library before what the environment says already")
  func environment() {
    let other = OtherLibrary()
    let result = ToolProcess.run(
      ["run", "--library", other.path + "/libdispatch.so", "sh", "-c", "echo $LD_LIBRARY_PATH$LD_PRELOAD $OTHER"],
      environment: ["LD_LIBRARY_PATH=/one:/two", "OTHER=kept"])
    #expect(result.output == "\(other.path):/one:/two kept\n")
    #expect(result.error.isEmpty)
    // Programs do not ask for a library of another name, so it is preloaded. A path with a colon cannot be given to them at all.
    other.folder.folder("a:b")
    #expect(rename(other.path + "/libdispatch.so", other.path + "/mine.so") == 0)
    let preloaded = ToolProcess.run(
      ["run", "--library", other.path + "/mine.so", "sh", "-c", "echo $LD_PRELOAD"])
    #expect(preloaded.output == "\(other.path)/mine.so\n")
    #expect(rename(other.path + "/mine.so", other.path + "/a:b/libdispatch.so") == 0)
    let impossible = ToolProcess.run(["run", "--library", other.path + "/a:b", "true"])
    #expect(impossible.code == 125)
    #expect(impossible.error == "gcd: true cannot be made to load the library: its path has a colon or a blank\n")
  }

  @Test("says why it cannot run something")
  func refusals() {
    let other = OtherLibrary()
    let folder = TemporaryFolder()
    folder.file("text", "no program\n")
    #expect(chmod(folder.path + "/text", 0o755) == 0)
    let lines: [(String, code: Int32, String)] = [
      ("no-such-program-anywhere", 127, "no such program"), (folder.path + "/none", 127, "no such program"),
      ("/dev/null", 126, "Permission denied"), (folder.path, 126, "Is a directory"),
      (folder.path + "/text", 126, "not a program for a 64-bit machine"),
    ]
    for (program, code, reason) in lines {
      let result = ToolProcess.run(["run", "--library", other.path, "--", program])
      #expect(result.code == code && result.output.isEmpty, "\(program)")
      #expect(result.error == "gcd: \(program): \(reason)\n")
      #expect(ToolProcess.run(["doctor", "--library", other.path, program]).code == 2)
    }
    let noLibrary = ToolProcess.run(["run", "--library", folder.path + "/text", "true"])
    #expect(noLibrary.code == 125)
    #expect(noLibrary.error.hasSuffix("/text: not a libdispatch for a 64-bit machine\n"))
    #expect(ToolProcess.run(["run", "--library", folder.path, "true"]).code == 125)
    for arguments in [[], ["--"], ["--librari", "true"], [""]] {
      #expect(ToolProcess.run(["run"] + arguments).code == 64, "\(arguments)")
    }
  }

  @Test("tells what the loader says where the library cannot be loaded")
  func loader() throws {
    let other = OtherLibrary()
    // It wants a file that is nowhere.
    let (name, wrong) = (Array("libBlocksRuntime.so".utf8), Array("libBlocksRuntimX.so".utf8))
    var bytes = try #require(Self.bytes(other.path + "/libdispatch.so"))
    var places = 0
    for start in 0..<bytes.count - name.count where bytes[start] == name[0] {
      guard bytes[start..<start + name.count].elementsEqual(name) else { continue }
      bytes.replaceSubrange(start..<start + name.count, with: wrong)
      places += 1
    }
    try #require(places > 0)
    other.folder.file("libdispatch.so", bytes)
    let reason =
      "cannot be made to load the library: the loader says: libBlocksRuntimX.so: cannot open shared object file: "
      + "No such file or directory"
    let run = ToolProcess.run(["run", "--library", other.path, Self.tool])
    #expect(run.code == 125 && run.error == "gcd: \(Self.tool) \(reason)\n")
    let doctor = ToolProcess.run(["doctor", "--json", "--library", other.path, Self.tool])
    let obstacle = try #require(try JSON.parse(doctor.output)["obstacles"]?.array?.first)
    #expect(doctor.code == 1 && obstacle["id"]?.string == "loader-refuses" && obstacle["text"]?.string == reason)
  }

  @Test("doctor tells what a program uses, and what reads a script")
  func doctor() throws {
    let other = OtherLibrary()
    let direct = ToolProcess.run(["doctor", "--json", "--library", other.path, Self.tool])
    #expect(direct.code == 0)
    let report = try JSON.parse(direct.output)
    #expect(report["usesNow"]?.array?.compactMap(\.string) == [other.original])
    #expect(report["needsLibdispatch"]?.bool == true && report["runs"]?.bool == true)
    #expect(report["library"]?.string == other.path + "/libdispatch.so")
    #expect(report["wanted"]?.number ?? 0 > 10)
    let text = ToolProcess.run(["doctor", "--library", other.path, Self.tool])
    #expect(text.output.contains("uses now  \(other.original)\n"))
    #expect(text.output.contains("/libdispatch.so (not GrandCentral's)\n"))
    #expect(text.output.hasSuffix("\nIt runs on the library.\n"))

    let without = ToolProcess.run(["doctor", "--library", other.path, "/bin/true"])
    #expect(without.code == 0)
    #expect(!without.output.contains("It runs on the library"))
    #expect(
      without.output.hasSuffix(
        "\nIt is linked with no libdispatch: the library would be for what it loads later or starts.\n"))

    let folder = TemporaryFolder()
    folder.file("script", "#!/usr/bin/env -S sh -e\nexit 5\n")
    #expect(chmod(folder.path + "/script", 0o755) == 0)
    let script = try JSON.parse(
      ToolProcess.run(["doctor", "--json", "--library", other.path, folder.path + "/script"]).output)
    #expect(script["interpreter"]?.string?.hasSuffix("/sh") == true)
    #expect(script["needsLibdispatch"]?.bool == false && script["runs"]?.bool == true)
    #expect(ToolProcess.run(["run", "--library", other.path, folder.path + "/script"]).code == 5)
  }

  @Test("doctor does not run a loader that comes with the program")
  func ownLoader() throws {
    let other = OtherLibrary()
    let folder = TemporaryFolder()
    let original = try #require(MappedFile("/bin/true"))
    let usual = Array(try #require(ElfFile(original)?.interpreter).utf8)
    let own = Array((folder.path + "/ld64").utf8)
    try #require(own.count <= usual.count)
    var bytes = try #require(Self.bytes("/bin/true"))
    let found = bytes.indices.first { bytes[$0...].starts(with: usual) }
    let place = try #require(found)
    bytes.replaceSubrange(
      place..<place + usual.count, with: own + [UInt8](repeating: 0, count: usual.count - own.count))
    folder.file("program", bytes)
    folder.file("ld64", "#!/bin/sh\necho ran >\"$0.ran\"\n")
    // Even if the test is root, others may write to them.
    for name in ["program", "ld64"] { #expect(chmod(folder.path + "/" + name, 0o777) == 0) }
    let doctor = ToolProcess.run(["doctor", "--json", "--library", other.path, folder.path + "/program"])
    #expect(access(folder.path + "/ld64.ran", F_OK) != 0)
    #expect(doctor.code == 1)
    #expect(try JSON.parse(doctor.output)["obstacles"]?.array?.first?["id"]?.string == "untrusted-loader")
  }

  @Test("a program that gains rights is not run: the loader would ignore the environment")
  func gainedRights() throws {
    let other = OtherLibrary()
    let folder = TemporaryFolder()
    var program = folder.path + "/other"
    folder.file("other", try #require(Self.bytes("/bin/true")))
    if chown(program, 65534, 65534) != 0 || chmod(program, 0o4755) != 0 {
      // If the test may not make a set-user-id program, it takes one that is there. If there is none, there is nothing to test.
      program = "/usr/bin/su"
      var status = stat()
      guard stat(program, &status) == 0, status.st_mode & S_ISUID != 0, status.st_uid != getuid() else { return }
    }
    let result = ToolProcess.run(["run", "--library", other.path, program])
    #expect(result.code == 125)
    #expect(result.error.contains("is started with other rights"))
    let report = try JSON.parse(ToolProcess.run(["doctor", "--json", "--library", other.path, program]).output)
    #expect(report["runs"]?.bool == false)
    #expect(report["obstacles"]?.array?.first?["id"]?.string == "gains-rights")
  }

  @Test("reads damaged files without harm")
  func damagedFiles() throws {
    let other = OtherLibrary()
    let folder = TemporaryFolder()
    var random = SeededGenerator.fresh("damaged programs")
    let original = try #require(Self.bytes("/bin/true"))
    for round in 0..<60 {
      var bytes = original
      if round % 2 == 0 { bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random)) }
      // Changes in the head, in the tables, and anywhere.
      for limit in [128, 2048, bytes.count] where bytes.count > 4 {
        for _ in 0..<4 {
          bytes[Int.random(in: 4..<max(5, min(limit, bytes.count)), using: &random)] = .random(
            in: 0...255, using: &random)
        }
      }
      folder.file("damaged", bytes)
      chmod(folder.path + "/damaged", 0o755)
      let code = ToolProcess.run(["doctor", "--library", other.path, folder.path + "/damaged"]).code
      #expect((0...2).contains(code))
    }
  }

  // MARK: What the tests stand on

  private static let tool: String = {
    let process = ToolProcess([], shell: "echo \"$0\"")
    return String(process.wait().output.dropLast())
  }()

  private static func bytes(_ path: String) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    if file < 0 { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = read(file, &buffer, buffer.count)
      if count <= 0 { return bytes }
      bytes += buffer[..<count]
    }
  }

  private static func text(_ path: String) -> String? { bytes(path).map { String(decoding: $0, as: UTF8.self) } }

  /// A copy of the toolchain's library, in a folder of its own, to be told from the original by its path.
  private struct OtherLibrary: ~Copyable {
    let folder = TemporaryFolder()
    let path: String
    /// What programs use without the tool.
    let original: String

    init() {
      guard let resolved = realpath(folder.path, nil) else { fatalError("no folder") }
      path = String(cString: resolved)
      free(resolved)
      // These tests use one themselves, through the testing library.
      let maps = RunToolTests.text("/proc/self/maps") ?? ""
      guard let line = maps.split(separator: "\n").first(where: { $0.hasSuffix("/libdispatch.so") }),
        let slash = line.firstIndex(of: "/")
      else { fatalError("the tests use no libdispatch") }
      original = String(line[slash...])
      for name in ["libdispatch.so", "libBlocksRuntime.so"] {
        folder.file(name, RunToolTests.bytes(original.dropLast("libdispatch.so".count) + name) ?? [])
      }
    }
  }
}
