// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("gcd adopt's names")
struct SharedNamesTests {
  /// Public types that the toolchain's Dispatch does not have on Linux. The stage "adopt" compiles a file that names them
  /// with both libraries imported: one that is in both by now is ambiguous there.
  private static let oursAlone: Set<String> = [
    "DispatchClock", "DispatchConcurrentQueue", "DispatchGroupScope", "DispatchMainLoop", "DispatchOnce",
    "DispatchQueuePool", "DispatchSerialQueue", "DispatchSourceFileSystemObject", "DispatchSourceMachReceive",
    "DispatchSourceMachSend", "DispatchSourceMemoryPressure", "DispatchSourceProcess", "DispatchWallClock",
    "DispatchWorkloop", "GrandCentralRuntime", "mach_port_t",
  ]

  @Test("every public type is one that both libraries have, with an alias, or ours alone")
  func complete() {
    let types = Self.publicDeclarations(["class", "struct", "enum", "protocol", "actor", "typealias"])
    let aliases = Self.written("typealias")
    #expect(types.count > 30)
    #expect(Set(aliases).count == aliases.count)
    #expect(Set(aliases).isDisjoint(with: Self.oursAlone))
    // A new type belongs into the list of the tool or, if the toolchain's Dispatch has none of the name, into the one above.
    #expect(Set(aliases).union(Self.oursAlone) == types)
  }

  @Test("every public function and operator at the top level is declared again, or ours alone")
  func functions() {
    #expect(
      Set(Self.written("func")).union(["dispatchQueue", "withDispatchGroup"]) == Self.publicDeclarations(["func"]))
    #expect(Self.written("func").count { $0 == "+" || $0 == "-" } == 8)
  }

  /// What the tool would declare with this keyword.
  private static func written(_ keyword: String) -> [String] {
    let output = SmallPackage().adopt([]).output
    return output.split(separator: "\n").filter { $0.hasPrefix("+\(keyword) ") }
      .map { name($0.dropFirst(keyword.count + 2)) }
  }

  /// The names that the library declares in public at the top level.
  private static func publicDeclarations(_ keywords: Set<String>) -> Set<String> {
    let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
    let folder = root + "/Sources/GrandCentral"
    var names: Set<String> = []
    for path in SmallPackage.files(in: folder) where path.hasSuffix(".swift") {
      var conditions = 0
      for line in SmallPackage.text(folder + "/" + path)?.split(separator: "\n") ?? [] {
        let code = line.drop { $0 == " " }
        if code.hasPrefix("#if") { conditions += 1 }
        if code.hasPrefix("#endif") { conditions -= 1 }
        // What is in a condition is indented by it.
        guard line.count - code.count == 2 * conditions else { continue }
        let words = code.split(separator: " ")
        guard words.contains("public"), let keyword = words.firstIndex(where: { keywords.contains(String($0)) }),
          !words[..<keyword].contains("import"), keyword + 1 < words.count
        else { continue }
        names.insert(name(words[keyword + 1]))
      }
    }
    return names
  }

  private static func name(_ text: Substring) -> String {
    String(text.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "+" || $0 == "-" })
  }
}
