// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

// What a process of a test's own requires: it says on its standard error what does not hold, where, and ends.

/// A build without optimisation does a part of what takes long.
#if DEBUG
  let isThorough = false
#else
  let isThorough = true
#endif

func require(_ condition: Bool, _ message: @autoclosure () -> String = "", line: Int = #line) throws {
  if condition { return }
  tell("line \(line): a requirement does not hold. " + message())
  throw Unexpected()
}

func unwrap<Value>(_ value: Value?, _ message: @autoclosure () -> String = "", line: Int = #line) throws -> Value {
  if let value { return value }
  tell("line \(line): there is no value. " + message())
  throw Unexpected()
}

/// The test library keeps the standard error of such processes to itself: what is told stands in this file as well, if one is named.
// unsafe: the environment's own text, which nothing changes.
nonisolated(unsafe) let figures = getenv("GC_SIMULATION_BARS")

func tell(_ text: String) {
  let bytes = Array((text + "\n").utf8)
  _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
  guard let figures else { return }
  let file = open(figures, O_WRONLY | O_CREAT | O_APPEND, 0o644)
  _ = bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
  close(file)
}

struct Unexpected: Error {}
