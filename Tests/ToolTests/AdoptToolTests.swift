// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@Suite("gcd adopt")
struct AdoptToolTests {
  private static let file = "GrandCentral+Names.swift"

  @Test("shows what it would write, and writes it only with --yes")
  func asksFirst() throws {
    let package = SmallPackage()
    let before = package.files
    for options in [[], ["--dry-run"]] {
      let shown = package.adopt(options)
      #expect(shown.code == 1)
      #expect(shown.error.isEmpty)
      #expect(shown.output.hasPrefix("--- /dev/null\n+++ Sources/One/\(Self.file)\n@@ -0,0 +1,"))
      #expect(shown.output.contains("\n+typealias DispatchQueue = GrandCentral.DispatchQueue\n"))
      #expect(shown.output.contains("\nNothing has been changed"))
      #expect(package.files == before)
    }
    let written = package.adopt(["--yes"])
    #expect(written.code == 0)
    #expect(written.output.hasSuffix("wrote Sources/One/\(Self.file)\n"))
    let text = try #require(package.text("Sources/One/\(Self.file)"))
    #expect(Set(package.files).subtracting(before) == ["Sources/One/\(Self.file)"])
    // What was shown is what is written.
    let added = written.output.split(separator: "\n", omittingEmptySubsequences: false).dropFirst(3)
      .prefix { $0.hasPrefix("+") }
    #expect(added.map { $0.dropFirst() + "\n" }.joined() == text)
    let again = package.adopt([])
    #expect(again.code == 0)
    #expect(again.output.hasPrefix("One: Sources/One/\(Self.file) is as it should be\n"))
  }

  @Test("--remove leaves the package as it was")
  func remove() {
    let package = SmallPackage()
    let before = package.contents
    #expect(package.adopt(["--yes", "--public", "--target", "One"]).code == 0)
    #expect(package.contents != before)
    let shown = package.adopt(["--remove"])
    #expect(shown.code == 1)
    #expect(shown.output.hasPrefix("--- Sources/One/\(Self.file)\n+++ /dev/null\n"))
    #expect(package.contents != before)
    let removed = package.adopt(["--remove", "--yes"])
    #expect(removed.code == 0)
    #expect(removed.output.contains("removed Sources/One/\(Self.file)\n"))
    #expect(package.contents == before)
    #expect(package.adopt(["--remove", "--yes"]).code == 0)
    #expect(package.adopt(["--remove", "--target", "One"]).output == "One: has no \(Self.file)\n")
  }

  @Test("asks on a terminal")
  func terminal() {
    let package = SmallPackage()
    // The standard input is the terminal that the output goes to.
    func answer(_ word: String) -> ToolProcess.Result {
      let process = ToolProcess(
        ["adopt"], shell: "exec \"$0\" \"$@\" <&1", folder: package.path, environment: SmallPackage.environment,
        onTerminal: true)
      #expect(process.read { output, _ in output.hasSuffix("Write it? [y/N] ") })
      process.type(word + "\n")
      return process.wait()
    }
    for word in ["n", "", "no", "perhaps"] {
      #expect(answer(word).code == 1, "\(word)")
      #expect(package.text("Sources/One/\(Self.file)") == nil)
    }
    #expect(answer("y").code == 0)
    #expect(package.text("Sources/One/\(Self.file)") != nil)
  }

  @Test("--public makes the names public, and what is there is changed to that")
  func access() throws {
    let package = SmallPackage()
    package.folder.file(
      "Sources/One/API.swift",
      """
      import Dispatch
      // public func commented(queue: DispatchQueue)
      public struct API { let queue: DispatchQueue; public var time = 1 }
      public extension DispatchQueue { func f() {} }
      public func work(
        on queue: DispatchQueue
      ) {}
      open class Subject {}
      """)
    let written = package.adopt(["--yes"])
    #expect(
      written.output.contains(
        "\nPublic declarations seem to have these names, which takes --public: Sources/One/API.swift:6\n"))
    let inner = try #require(package.text("Sources/One/\(Self.file)"))
    #expect(!inner.contains("public"))
    let change = package.adopt(["--public"])
    #expect(change.code == 1)
    #expect(change.output.hasPrefix("--- Sources/One/\(Self.file)\n+++ Sources/One/\(Self.file)\n@@ -"))
    #expect(change.output.contains("\n-typealias DispatchTime = GrandCentral.DispatchTime\n"))
    #expect(change.output.contains("\n+public typealias DispatchTime = GrandCentral.DispatchTime\n"))
    #expect(!change.output.contains("Public declarations"))
    #expect(package.adopt(["--public", "--yes"]).code == 0)
    let outer = try #require(package.text("Sources/One/\(Self.file)"))
    #expect(outer.replacing("@usableFromInline\n", with: "").replacing("public ", with: "") == inner)
  }

  @Test("leaves alone what it has not written")
  func foreignFile() {
    let package = SmallPackage()
    package.folder.file("Sources/One/\(Self.file)", "// Mine.\n")
    for options in [["--yes"], ["--yes", "--remove"], ["--yes", "--public"]] {
      let result = package.adopt(options)
      #expect(result.code == 2)
      #expect(
        result.error == "gcd: Sources/One/\(Self.file) is not the tool's: its first line says otherwise. "
          + "Rename it, or take it away\n")
      #expect(package.text("Sources/One/\(Self.file)") == "// Mine.\n")
    }
  }

  @Test("tells what Package.swift lacks, and nothing if it lacks nothing")
  func manifest() {
    let package = SmallPackage()
    let dependency = "    .package(url: \"ADDRESS/swift-grand-central\", .upToNextMinor(from: \""
    let product = ".product(name: \"GrandCentral\", package: \"swift-grand-central\")"
    let lacking = package.adopt([])
    #expect(lacking.output.contains("Package.swift lacks:\n"))
    #expect(lacking.output.contains(dependency))
    #expect(lacking.output.contains("among the dependencies of One:\n    \(product),\n"))
    package.folder.folder("swift-grand-central")
    package.folder.folder("swift-grand-central/Sources")
    package.folder.folder("swift-grand-central/Sources/GrandCentral")
    package.folder.file("swift-grand-central/Sources/GrandCentral/Empty.swift", "")
    package.folder.file(
      "swift-grand-central/Package.swift",
      SmallPackage.manifest(
        "name: \"swift-grand-central\", products: [.library(name: \"GrandCentral\", targets: [\"GrandCentral\"])], "
          + "targets: [.target(name: \"GrandCentral\")]"))
    func setDependencies(_ dependencies: String) {
      package.folder.file(
        "Package.swift",
        SmallPackage.manifest(
          "name: \"Small\", dependencies: [.package(path: \"swift-grand-central\")], "
            + "targets: [.target(name: \"One\", dependencies: [\(dependencies)])]"))
    }
    setDependencies("")
    let half = package.adopt([])
    #expect(!half.output.contains(dependency))
    #expect(half.output.contains(product))
    setDependencies(product)
    #expect(!package.adopt([]).output.contains("Package.swift"))
  }

  @Test("says what is wrong with the package or the choice of targets")
  func problems() {
    let package = SmallPackage()
    package.folder.folder("Sources/Two")
    package.folder.folder("Sources/Two/Inner")
    package.folder.file("Sources/Two/Inner/Two.swift", "let queue = operations.underlyingQueue\n")
    package.folder.file(
      "Package.swift",
      SmallPackage.manifest(
        "name: \"Small\", targets: [.target(name: \"One\", sources: [\"One.swift\"]), "
          + ".target(name: \"Two\", sources: [\"Inner\"])]"))
    let several = package.adopt([])
    #expect(several.code == 2)
    #expect(several.error.hasPrefix("gcd: the package Small has several targets, --target says which: "))
    #expect(several.error.contains("One uses Dispatch in 1 line"), "\(several.error)")
    #expect(several.error.contains("Two does not use Dispatch"), "\(several.error)")
    #expect(package.adopt(["--target", "One"]).output.contains("\nOne uses Dispatch in 1 line.\n"))
    let unknown = package.adopt(["--target", "Three"])
    #expect(unknown.code == 2)
    #expect(unknown.error.contains("no target of Swift sources called Three: it has "))
    let listed = package.adopt(["--target", "One", "--yes"])
    #expect(listed.code == 2)
    #expect(listed.error.hasSuffix("add it to the target's sources in Package.swift\n"))
    let inner = package.adopt(["--target", "Two", "--yes"])
    #expect(inner.code == 0)
    #expect(inner.output.hasSuffix("wrote Sources/Two/Inner/\(Self.file)\n"))
    #expect(inner.output.contains("Foundation wants a queue of Dispatch's here"))
    #expect(inner.output.contains("from now on: Sources/Two/Inner/Two.swift:1\n"))
    package.folder.file("Package.swift", "nonsense\n")
    let broken = package.adopt([])
    #expect(broken.code == 2)
    #expect(broken.error.hasPrefix("gcd: swift package describe failed:\n"))
    let lost = ToolProcess.run(["adopt", "--package-path", package.path], environment: ["PATH=/nowhere"])
    #expect(lost.code == 2)
    #expect(lost.error.hasPrefix("gcd: swift cannot be run, which is asked for the package's targets: "))
    let none = ToolProcess.run(["adopt", "--package-path", "Sources"], folder: package.path)
    #expect(none.code == 2)
    #expect(none.error == "gcd: there is no Package.swift in Sources: run it in a package, or give --package-path\n")
    for arguments in [["--yes", "--dry-run"], ["--remove", "--public"], ["--target", ""], ["Three"]] {
      #expect(ToolProcess.run(["adopt"] + arguments).code == 64, "\(arguments)")
    }
  }
}
