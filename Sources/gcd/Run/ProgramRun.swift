// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// One run of `gcd run`.
enum ProgramRun {
  private static let wouldNotRun: Int32 = 125

  /// Becomes the program.
  static func start(_ options: RunOptions) -> Never {
    let library: DropIn
    do { library = try DropIn.find(options.library) } catch { fail(error.words(Self.words), wouldNotRun) }
    let program: Program
    do { program = try Program.find(options.command[0]) } catch { fail(error.words(Self.words), error.code) }
    let name = TextLayout.printable(options.command[0])
    let examination = Examination(program, library)
    guard examination.obstacles.isEmpty, let replacement = examination.replacement,
      let environment = replacement.environment(library)
    else {
      for obstacle in examination.obstacles { tell("\(name) \(obstacle.words)") }
      exit(wouldNotRun)
    }
    if !examination.needsDispatch, !program.isScript, options.isVerbose {
      tell("\(name) is not linked with libdispatch: what it loads later or starts gets the library")
    }
    if options.isVerbose {
      tell("\(name) runs on \(TextLayout.printable(library.path)) by \(replacement.rawValue)")
    }
    let arguments = CStrings(options.command)
    let variables = CStrings(environment)
    _ = Path(exactly: program.path).withCString { execve($0, arguments.pointers, variables.pointers) }
    fail("\(name): \(words(errno))", 126)
  }

  static func words(_ code: Int32) -> String { String(cString: strerror(code)) }

  private static func tell(_ text: String) { Terminal.write("gcd: \(text)\n", to: .error) }

  private static func fail(_ text: String, _ code: Int32) -> Never {
    tell(text)
    exit(code)
  }
}
