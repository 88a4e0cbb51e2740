// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What the text of a target's files suggests. These are hints; the compiler decides.
struct SourceHints {
  /// File and line of public declarations that have one of the names.
  private(set) var publicUses: [String] = []
  /// File and line where Foundation wants a queue of Dispatch's.
  private(set) var foundationUses: [String] = []

  /// How many lines have one of the names.
  private(set) var uses = 0
  /// Whether a file imports the module that the names come from.
  private(set) var importsDispatch = false

  /// Functions count as well, but not for what is public.
  private static let functions: Set = ["dispatchMain", "dispatchPrecondition"]
  private static let names = Set(SharedNames.types)

  /// Reads the files of a target.
  init(_ target: SwiftPackage.Target, in package: SwiftPackage) throws(TextFile.Failure) {
    for source in target.sources where Path(source).name != NamesFile.name {
      let path = target.path + "/" + source
      read(try TextFile.read(package.path + "/" + path) ?? [], path)
    }
  }

  /// Whether the target uses Dispatch, in words.
  var verdict: String {
    if uses > 0 { return "uses Dispatch in \(uses) \(uses == 1 ? "line" : "lines")" }
    return importsDispatch ? "imports Dispatch, but uses none of its names" : "does not use Dispatch"
  }

  /// Reads one file; `name` is its name in the output.
  mutating func read(_ contents: [UInt8], _ name: String) {
    var openParentheses = 0
    var isPublic = false
    var found: [String] = []
    var isSettled = false
    let lines = contents.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let code = Self.code(line)
      let words = Self.words(code)
      let place = "\(name):\(index + 1)"
      if words.contains(where: { Self.names.contains($0) || Self.functions.contains($0) }) { uses += 1 }
      if zip(words, words.dropFirst()).contains(where: { $0 == ("import", "Dispatch") }) { importsDispatch = true }
      if words.contains("underlyingQueue") { found.append(place) }
      if zip(words, words.dropFirst()).contains(where: { $0 == ("Dispatch", "DispatchQueue") }) { isSettled = true }
      // A declaration is over when its parentheses are.
      if openParentheses <= 0 { isPublic = Self.begins(words) }
      let head = code.prefix { $0 != UInt8(ascii: "{") }
      if isPublic, Self.words(head).contains(where: Self.names.contains) { publicUses.append(place) }
      openParentheses = head.count == code.count ? max(0, openParentheses) + Self.balance(code) : 0
    }
    // A file that says which module it means has made its choice.
    if !isSettled { foundationUses += found }
  }

  /// Aliases that are not public may be extended in public.
  private static func begins(_ words: [String]) -> Bool {
    (words.contains("public") || words.contains("open")) && !words.contains("extension")
  }

  /// The line without a comment at its end.
  private static func code(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var index = line.startIndex
    while index + 1 < line.endIndex {
      if line[index] == UInt8(ascii: "/"), line[index + 1] == UInt8(ascii: "/") { return line[..<index] }
      index += 1
    }
    return line
  }

  private static func balance(_ code: ArraySlice<UInt8>) -> Int {
    code.reduce(0) { $0 + ($1 == UInt8(ascii: "(") ? 1 : $1 == UInt8(ascii: ")") ? -1 : 0) }
  }

  private static func words(_ code: ArraySlice<UInt8>) -> [String] {
    code.split { byte in
      let letter = byte | 0x20
      return !(letter >= 0x61 && letter <= 0x7a || byte >= 0x30 && byte <= 0x39 || byte == 0x5f || byte >= 0x80)
    }.map { String(decoding: $0, as: UTF8.self) }
  }
}
