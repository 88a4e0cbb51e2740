// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The file that decides what the names of Dispatch mean in a module.
///
/// Types are aliases. Functions and operators at the top level have no aliases, and a file that does not import this library
/// does not see them, so they are declared again: a declaration of the module's own wins over an imported one of the same
/// type. Where the library's own can be seen too, as in the body of the operator, the module's is disfavoured and loses.
/// `consuming` gives it another type; otherwise it would hide the library's.
enum NamesFile {
  static let name = "GrandCentral+Names.swift"

  static func isOurs(_ contents: [UInt8]) -> Bool { contents.starts(with: firstLine.utf8) }

  static func text(isPublic: Bool) -> String {
    let access = isPublic ? "public " : ""
    // Inlinable code of the module may call them, but no other module finds them.
    let attribute = isPublic ? "@usableFromInline\n" : ""
    let aliases = SharedNames.types.map { "\(access)typealias \($0) = GrandCentral.\($0)\n" }
    let operators = SharedNames.operators.map {
      """
      @_disfavoredOverload
      \(attribute)func \($0.symbol) (time: consuming \($0.instant), \($0.second): \($0.type)) -> \($0.instant) {
        time \($0.symbol) \($0.second)
      }

      """
    }
    return """
      \(firstLine)
      // "gcd adopt" writes it again, "gcd adopt --remove" takes it away.
      // swift-format-ignore-file
      // swiftlint:disable all

      // A module's own names win over imported ones: in this module these are GrandCentral's, whatever a file imports.
      // Dispatch.DispatchQueue and its like name the other ones where they are needed.

      \(access)import Dispatch
      \(access)import GrandCentral

      \(aliases.joined())
      \(attribute)func dispatchMain() -> Never { GrandCentral.dispatchMain() }

      \(attribute)func dispatchPrecondition(
        condition: @autoclosure () -> DispatchPredicate, file: StaticString = #file, line: UInt = #line
      ) {
        GrandCentral.dispatchPrecondition(condition: condition(), file: file, line: line)
      }

      // In place of Dispatch's own, which it hides, so that ".onQueue(.main)" means GrandCentral's main queue.
      @_disfavoredOverload
      \(attribute)func dispatchPrecondition(
        condition: @autoclosure () -> Dispatch.DispatchPredicate, file: StaticString = #file, line: UInt = #line
      ) {
        Dispatch.dispatchPrecondition(condition: condition(), file: file, line: line)
      }

      // For files that do not import GrandCentral; where it is imported, its own are taken.
      \(operators.joined(separator: "\n"))
      """
  }

  /// The line by which the tool recognizes its own files.
  private static let firstLine =
    "// Written by \"gcd adopt\": the names of Dispatch mean GrandCentral's in this module."
}
