// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@Suite("gcd cat")
struct CatToolTests {
  @Test("writes files one after the other, tells of those that it cannot read, and goes on")
  func files() {
    let folder = TemporaryFolder()
    let large = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    folder.file("large", large)
    folder.file("small", "one\n")
    folder.file("empty", "")
    let process = ToolProcess(
      ["cat", "small", "missing", "large", "empty", "small"], shell: "\"$0\" \"$@\" > out", folder: folder.path)
    let result = process.wait()
    #expect(result.code == 1)
    #expect(result.error == "gcd: missing: No such file or directory\n")
    #expect(contents(folder, "out") == Array("one\n".utf8) + large + Array("one\n".utf8))
  }

  @Test("reads standard input, pipes, and files that say they are empty")
  func streams() {
    let folder = TemporaryFolder()
    folder.fifo("pipe")
    let process = ToolProcess(
      ["cat", "-", "pipe", "/proc/self/comm"], shell: "(echo two > pipe) & echo one | \"$0\" \"$@\"",
      folder: folder.path
    )
    let result = process.wait()
    #expect(result.code == 0, "\(result.error)")
    #expect(result.output == "one\ntwo\ngcd\n")
  }

  @Test("ends without a word when nobody reads any more")
  func closedPipe() {
    let process = ToolProcess(["cat", "/dev/zero"], shell: "{ \"$0\" \"$@\"; echo $? >&2; } | head -c 100000 | wc -c")
    let result = process.wait()
    #expect(result.output.split(whereSeparator: \.isWhitespace) == ["100000"])
    #expect(result.error == "1\n")
  }
}

@Suite("gcd copy")
struct CopyToolTests {
  @Test("copies a folder with its files, folders, links, permissions and times, and compares")
  func folder() {
    let folder = TemporaryFolder()
    folder.folder("from")
    folder.folder("from/inner")
    folder.file("from/inner/text", "hello")
    folder.file("from/data", (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 17 >> 2) })
    folder.file("from/empty", "")
    folder.link("from/inner/link", to: "../data")
    chmod(folder.path + "/from/data", 0o640)
    chmod(folder.path + "/from/inner", 0o750)
    var times = [timespec(tv_sec: 1_000_000_000, tv_nsec: 5), timespec(tv_sec: 1_100_000_000, tv_nsec: 7)]
    utimensat(AT_FDCWD, folder.path + "/from/inner/text", &times, 0)
    let result = ToolProcess.run(["copy", "from", "to", "--verify"], folder: folder.path)
    #expect(result.code == 0)
    #expect(result.error.hasPrefix("gcd: 3 of 3 files, 2.00 MB in ") && result.error.hasSuffix(", verified\n"))
    for name in ["inner/text", "data", "empty", "inner/link"] {
      #expect(contents(folder, "to/" + name) == contents(folder, "from/" + name))
    }
    #expect(about(folder, "to/data").st_mode & 0o777 == 0o640)
    #expect(about(folder, "to/inner").st_mode & 0o777 == 0o750)
    #expect(about(folder, "to/inner/link").st_mode & S_IFMT == S_IFLNK)
    #expect(about(folder, "to/inner/text").st_mtim.tv_sec == 1_100_000_000)
    // Into what exists: under its own name.
    #expect(ToolProcess.run(["copy", "from/inner", "to/"], folder: folder.path).code == 0)
    #expect(contents(folder, "to/inner/text") == Array("hello".utf8))
  }

  @Test("keeps holes, and writes over what was there")
  func holes() {
    let folder = TemporaryFolder()
    folder.sparseFile("sparse", size: 3 << 30)
    let file = open(folder.path + "/sparse", O_WRONLY)
    #expect(pwrite(file, "middle", 6, 2_000_000_000) == 6)
    close(file)
    folder.file("copy", String(repeating: "what was there ", count: 1000))
    let result = ToolProcess.run(["copy", "sparse", "copy", "--jobs", "1"], folder: folder.path)
    #expect(result.code == 0, "\(result.error)")
    // Bytes that were moved are told apart from holes, and only those make the rate.
    #expect(result.error.contains(" and 3.22 GB of holes in "), "\(result.error)")
    #expect(!result.error.contains("TB/s") && !result.error.contains("GB/s"), "\(result.error)")
    #expect(about(folder, "copy").st_size == 3 << 30)
    #expect(about(folder, "copy").st_blocks < 10_000)
    let copy = open(folder.path + "/copy", O_RDONLY)
    var bytes = [UInt8](repeating: 1, count: 8)
    #expect(pread(copy, &bytes, 8, 1_999_999_999) == 8)
    #expect(bytes == [0] + Array("middle".utf8) + [0])
    #expect(pread(copy, &bytes, 8, 0) == 8 && bytes == [UInt8](repeating: 0, count: 8))
    close(copy)
  }

  @Test("leaves out what is no file, copies the rest, and says so")
  func special() {
    let folder = TemporaryFolder()
    folder.folder("from")
    folder.fifo("from/pipe")
    folder.file("from/text", "text")
    let result = ToolProcess.run(["copy", "from", "to"], folder: folder.path)
    #expect(result.code == 1)
    #expect(result.error.hasPrefix("gcd: from/pipe: Operation not supported\ngcd: 1 of 2 files, 4 B in "))
    #expect(contents(folder, "to/text") == Array("text".utf8))
    // Named itself, a pipe is read.
    let process = ToolProcess(
      ["copy", "from/pipe", "piped"], shell: "(echo through > from/pipe) & exec \"$0\" \"$@\"", folder: folder.path)
    #expect(process.wait().code == 0)
    #expect(contents(folder, "piped") == Array("through\n".utf8))
  }

  @Test("refuses to copy something onto or into itself, and says what else is wrong")
  func refusals() {
    let folder = TemporaryFolder()
    folder.folder("a")
    folder.folder("a/b")
    folder.file("a/file", "text")
    folder.hardLink("other", to: "a/file")
    let refusals = [
      (["a/file", "a/file"], "gcd: a/file: is a/file itself\n"),
      (["a/file", "other"], "gcd: a/file: is other itself\n"),
      (["a", "a/b"], "gcd: a/b/a: is inside a\n"), (["a", "a/b/new"], "gcd: a/b/new: is inside a\n"),
    ]
    for (names, reason) in refusals {
      let result = ToolProcess.run(["copy"] + names, folder: folder.path)
      #expect(result.code == 1)
      #expect(result.error == reason)
    }
    #expect(contents(folder, "a/file") == Array("text".utf8))
    let missing = ToolProcess.run(["copy", "missing", "new"], folder: folder.path)
    #expect(missing.code == 1 && missing.error.hasPrefix("gcd: missing: No such file or directory\n"))
    let full = ToolProcess.run(["copy", "a/file", "/dev/full"], folder: folder.path)
    #expect(full.code == 1 && full.error.hasPrefix("gcd: /dev/full: No space left on device\n"))
  }

  @Test("stops at a signal, and says which copy is incomplete")
  func interrupted() {
    let folder = TemporaryFolder()
    folder.fifo("pipe")
    let process = ToolProcess(["copy", "pipe", "copy"], folder: folder.path)
    let pipe = open(folder.path + "/pipe", O_WRONLY)
    #expect(write(pipe, "begin", 5) == 5)
    while contents(folder, "copy") != Array("begin".utf8) { usleep(1000) }
    kill(process.identifier, SIGINT)
    let result = process.wait()
    close(pipe)
    #expect(result.code == 130)
    #expect(result.error.hasPrefix("gcd: copy: is incomplete\ngcd: 0 of 1 files, "))
  }

  @Test("a folder that cannot be made is one error, whatever was to go into it")
  func missingDestination() {
    let folder = TemporaryFolder()
    folder.folder("from")
    folder.folder("from/inner")
    for index in 0..<5 { folder.file("from/inner/\(index)", "text") }
    folder.link("from/inner/link", to: "0")
    for name in ["missing/to", "missing/deeper/to"] {
      let result = ToolProcess.run(["copy", "from", name], folder: folder.path)
      #expect(result.code == 1)
      #expect(result.error == "gcd: \(name.dropLast(3)): No such file or directory\n")
    }
    folder.folder("to")
    folder.folder("to/from")
    folder.file("to/from/inner", "a file is in the way")
    let blocked = ToolProcess.run(["copy", "from", "to"], folder: folder.path)
    #expect(blocked.code == 1)
    #expect(
      blocked.error.hasPrefix("gcd: to/from/inner: Not a directory\ngcd: 0 of 5 files, 0 B in "), "\(blocked.error)")
  }

  @Test("shows how far the comparison is, and can be stopped in it")
  func comparison() {
    let folder = TemporaryFolder()
    // A hole is copied at once, and takes for ever to be read.
    folder.sparseFile("endless", size: 1 << 40)
    let process = ToolProcess(["copy", "endless", "copy", "--verify"], folder: folder.path, onTerminal: true)
    var isInterrupted = false
    let result = process.wait { text in
      // A tool that does not say it, or cannot be stopped, draws for ever.
      if text.split(separator: " %").count > 500 { kill(process.identifier, SIGKILL) }
      guard !isInterrupted, text.split(separator: " compared, ").count > 2 else { return }
      isInterrupted = true
      kill(process.identifier, SIGINT)
    }
    #expect(result.code == 130)
    #expect(isInterrupted && !result.output.contains("100 %"), "\(result.output)")
    #expect(result.output.contains("gcd: copy: is copied, but not compared\r\n"))
  }

  private func about(_ folder: borrowing TemporaryFolder, _ name: String) -> stat {
    var about = stat()
    #expect(lstat(folder.path + "/" + name, &about) == 0)
    return about
  }
}

private func contents(_ folder: borrowing TemporaryFolder, _ name: String) -> [UInt8]? {
  let file = open(folder.path + "/" + name, O_RDONLY | O_CLOEXEC)
  if file < 0 { return nil }
  defer { close(file) }
  var all: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let count = read(file, &buffer, buffer.count)
    if count <= 0 { return all }
    all += buffer[..<count]
  }
}
