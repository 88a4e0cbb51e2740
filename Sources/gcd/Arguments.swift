// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// This file knows the argument parser and no queues: the parser's own dependencies bring a Dispatch of their own.
import ArgumentParser

/// What the tool was called with.
enum Arguments {
  /// The arguments as exact text. `CommandLine.arguments` would replace what is not UTF-8, and the names of files with it.
  static var exact: [String] {
    (1..<max(1, Int(CommandLine.argc))).compactMap { index in
      // unsafe: there are `argc` strings, each with a NUL at its end.
      CommandLine.unsafeArgv[index].map { start in
        var bytes: [UInt8] = []
        var next = UnsafePointer(start)
        while next.pointee != 0 {
          bytes.append(UInt8(bitPattern: next.pointee))
          next += 1
        }
        return ExactText.text(bytes)
      }
    }
  }
}

extension Path: ExpressibleByArgument {
  package init?(argument: String) { self.init(exactly: argument) }

  package var defaultValueDescription: String { shown }
}
