// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc

/// Says on the error output which life a crash ended.
enum CrashNote {
  private typealias Action = sigaction

  // unsafe: written while no life runs; the handler reads it once.
  nonisolated(unsafe) private static let text = UnsafeMutablePointer<CChar>.allocate(capacity: 512)
  nonisolated(unsafe) private static var length = 0
  nonisolated(unsafe) private static let former = UnsafeMutablePointer<Action>.allocate(capacity: 65)

  static func set(_ note: String) {
    length = min(note.utf8.count, 512)
    for (index, byte) in note.utf8.prefix(length).enumerated() { text[index] = CChar(bitPattern: byte) }
  }

  /// After the note the former handler gets the signal, on the same thread and stack.
  static func install() {
    for number in [SIGILL, SIGSEGV, SIGBUS, SIGTRAP, SIGABRT] {
      var action = Action()
      action.__sigaction_handler.sa_handler = { number in
        _ = write(2, CrashNote.text, CrashNote.length)
        CrashNote.length = 0
        // The instruction that crashed runs again, now under the former handler.
        sigaction(number, CrashNote.former + Int(number), nil)
      }
      sigaction(number, &action, former + Int(number))
    }
  }
}
