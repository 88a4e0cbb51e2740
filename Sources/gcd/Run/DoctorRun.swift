// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import IndexKit

/// One run of `gcd doctor`.
enum DoctorRun {
  private static let cannotExamine: Int32 = 2

  static func start(_ options: DoctorOptions) -> Never {
    let library: DropIn
    do { library = try DropIn.find(options.library) } catch { fail(error.words(ProgramRun.words)) }
    let program: Program
    do { program = try Program.find(options.program) } catch { fail(error.words(ProgramRun.words)) }
    var examination = Examination(program, library)
    examination.compareNames()
    if options.printsJSON {
      Terminal.write(json(examination).line + "\n", to: .output)
    } else {
      Terminal.write(text(examination), to: .output)
    }
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
      text += "It runs on the library.\n"
    } else {
      for obstacle in examination.obstacles { text += style.warning("It \(obstacle.words).") + "\n" }
    }
    return text
  }

  private static func nowWords(_ examination: Examination) -> String {
    let paths = examination.now?.dispatch ?? []
    if !paths.isEmpty {
      return paths.map { TextLayout.printable($0) + (isOurs($0) ? " (GrandCentral's)" : "") }.joined(separator: " and ")
    }
    if examination.needsDispatch { return "a libdispatch that is not found" }
    return examination.program.hasItsOwn ? "one of its own" : "none"
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
    var members: [(String, JSONValue)] = [("program", .string(program.path))]
    if program.isScript { members.append(("interpreter", .string(program.binary))) }
    members.append(("usesNow", .array((examination.now?.dispatch ?? []).map { .string($0) })))
    members.append(("needsLibdispatch", .bool(examination.needsDispatch)))
    members.append(("library", .string(examination.library.path)))
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
