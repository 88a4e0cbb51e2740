// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// How the library speaks when something is wrong.
///
/// Every message is one line, handed to the kernel in one `write`, so that lines of several threads do not mix. It is
/// the same in debug and release builds: `precondition` and `assert` lose their text with `-O`, this does not. Where standard error is a pipe
/// that no process reads, the message is lost, and nothing else happens.
///
/// Before the process stops, what its threads and objects do follows, a line each, set in by two blanks; `GRANDCENTRAL_DUMP=off`
/// leaves that out, and `GRANDCENTRAL_DUMP=/path` appends it to a file. `GRANDCENTRAL_CORE=/path` has a core file written there, which
/// `gcd trace` and `gcd why` read.
enum Fault {
  /// Stops the process because the program used the library in a way that cannot work.
  ///
  /// The message says what was called, on which queue, why that is wrong and what to do instead:
  ///
  ///     Fault.misuse(.groupLeaveWithoutEnter, "DispatchGroup.leave without a matching enter. Balance the calls.")
  @inline(never)
  @_optimize(size)
  static func misuse(_ id: FaultID, _ message: @autoclosure () -> String) -> Never {
    end(id, message())
  }

  /// The compiler makes a copy of `misuse` for each message. This is what they have in common.
  @inline(never)
  @_optimize(size)
  private static func end(_ id: FaultID, _ message: String) -> Never {
    let text = "GrandCentral misuse [" + id.description + "]: " + message
    // A simulation tells it with the schedule, and the calling thread stays here.
    if let world = World.current { world.misuse(text) }
    say(text)
    stop()
  }

  /// Stops the process because an invariant of the library itself does not hold.
  @inline(never)
  @_optimize(size)
  static func bug(_ message: @autoclosure () -> String) -> Never {
    say("GrandCentral bug: " + message())
    stop()
  }

  @_optimize(size)
  private static func stop() -> Never {
    gc_insight_await_fault()
    gc_insight_dump_at_fault()
    gc_insight_write_core_at_fault()
    gc_abort()
  }

  /// Writes one line to standard error and goes on.
  @inline(never)
  @_optimize(size)
  static func report(_ message: @autoclosure () -> String) {
    say("GrandCentral: " + message())
  }

  /// Folds line breaks, which a label may contain, into spaces: a fault is one line.
  @_optimize(size)
  private static func say(_ text: String) {
    var bytes = [UInt8]()
    bytes.reserveCapacity(text.utf8.count + 1)
    for byte in text.utf8 {
      bytes.append(byte == 0x0A || byte == 0x0D ? 0x20 : byte)
    }
    bytes.append(0x0A)
    // unsafe: the buffer is valid inside the closure; each write stays within it.
    bytes.withUnsafeBytes { buffer in
      guard let start = buffer.baseAddress else { return }
      var written = 0
      while written < buffer.count {
        let count = gc_write_quietly(2, start + written, buffer.count - written)
        if count <= 0 { return }
        written += count
      }
    }
  }
}
