// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// One run of `gcd doctor`.
enum DoctorRun {
  private static let cannotExamine: Int32 = 2

  static func start(_ options: DoctorOptions) -> Never {
    let library: DropIn
    do { library = try DropIn.find(options.library) } catch { fail(error.words(ProgramRun.words)) }
    let program: Program
    do { program = try Program.find(options.program) } catch { fail(error.words(ProgramRun.words)) }
    var examination = Examination(program, library, isToRun: false)
    examination.compareNames()
    let report = options.printsJSON ? json(examination).line + "\n" : text(examination)
    guard Terminal.writeOutput(report) else { exit(cannotExamine) }
    exit(examination.obstacles.isEmpty ? EXIT_SUCCESS : EXIT_FAILURE)
  }

  private static func fail(_ text: String) -> Never {
    Terminal.write("gcd: \(text)\n", to: .error)
    exit(cannotExamine)
  }

  // MARK: For people

  private static func text(_ examination: Examination) -> String {
    let style = Terminal.style(of: .output)
    let program = examination.program
    var rows: [(String, String)] = [("program", TextLayout.printable(program.path))]
    if program.isScript { rows.append(("read by", TextLayout.printable(program.binary))) }
    rows.append(("uses now", nowWords(examination)))
    let path = TextLayout.printable(examination.library.path)
    rows.append(("library", path + (isOurs(examination.library.path) ? "" : style.warning(" (not GrandCentral's)"))))
    if let replacement = examination.replacement {
      let need = examination.needsDispatch ? "" : ", for what it loads later or starts"
      rows.append(("gcd run", "by \(replacement.rawValue)\(need)"))
      rows.append(("names", "\(examination.wanted) wanted by it and its libraries"))
    }
    for (tag, value) in searchPaths(program) { rows.append((tag, TextLayout.printable(value))) }
    var text = rows.map { TextLayout.left($0.0, 10) + $0.1 + "\n" }.joined()
    if examination.obstacles.isEmpty {
      text += verdict(examination) + "\n"
    } else {
      for obstacle in examination.obstacles { text += style.warning("It \(obstacle.words).") + "\n" }
    }
    return text
  }

  /// What was found, if nothing stands in the way.
  private static func verdict(_ examination: Examination) -> String {
    if examination.needsDispatch { return "It runs on the library." }
    if isBuiltForOurs(examination) { return "It is built for this library, and needs no gcd run." }
    let reader = examination.program.isScript ? "What reads it" : "It"
    return reader + " is linked with no libdispatch: the library would be for what it loads later or starts."
  }

  private static func nowWords(_ examination: Examination) -> String {
    let paths = examination.now?.dispatch ?? []
    if !paths.isEmpty {
      return paths.map { TextLayout.printable($0) + (isOurs($0) ? " (GrandCentral's)" : "") }.joined(separator: " and ")
    }
    if examination.needsDispatch { return "a libdispatch that is not found" }
    if isBuiltForOurs(examination) {
      let found = examination.now?.libraries.first { $0.contains("/" + ownName) }
      return TextLayout.printable(found ?? ownName + "0, which is not found") + " (GrandCentral's)"
    }
    return examination.program.hasItsOwn ? "one of its own" : "none"
  }

  /// What programs are linked with that pkg-config or CMake have built with our library.
  private static let ownName = "libgrandcentral.so."

  private static func isBuiltForOurs(_ examination: Examination) -> Bool {
    examination.program.elf.needed.contains { $0.hasPrefix(ownName) }
  }

  private static func searchPaths(_ program: Program) -> [(String, String)] {
    // With both, the loader looks at the second only.
    if let runpath = program.elf.runpath { return [("RUNPATH", runpath)] }
    return program.elf.rpath.map { [("RPATH", $0)] } ?? []
  }

  private static func isOurs(_ path: String) -> Bool { MappedFile(path).map { DropIn.isOurs($0) } ?? false }

  // MARK: For programs

  private static func json(_ examination: Examination) -> JSONValue {
    let program = examination.program
    var members: [(String, JSONValue)] = [("program", .string(Path(exactly: program.path).text))]
    if program.isScript { members.append(("interpreter", .string(Path(exactly: program.binary).text))) }
    members.append(("usesNow", .array((examination.now?.dispatch ?? []).map { .string(Path(exactly: $0).text) })))
    members.append(("needsLibdispatch", .bool(examination.needsDispatch)))
    members.append(("library", .string(Path(exactly: examination.library.path).text)))
    if let replacement = examination.replacement { members.append(("by", .string(replacement.rawValue))) }
    members.append(("wanted", .integer(examination.wanted)))
    let obstacles = examination.obstacles.map { obstacle -> JSONValue in
      var members: [(String, JSONValue)] = [("id", .string(obstacle.name)), ("text", .string(obstacle.words))]
      if case .namesMissing(let names) = obstacle { members.append(("names", .array(names.map { .string($0) }))) }
      return .object(members)
    }
    members.append(("obstacles", .array(obstacles)))
    members.append(("runs", .bool(obstacles.isEmpty)))
    return .object(members)
  }
}
