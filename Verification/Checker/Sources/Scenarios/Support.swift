// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerKit

@testable import GrandCentral

/// A scenario of a protocol alone, on one processor: nobody spins, so that the search ends. What the library finds out once is
/// found out before the threads begin.
func protocolScenario(
  _ name: String, of file: String, unusual: Int = 1, isSmall: Bool = true, _ body: @escaping (ScenarioRun) -> Void
) -> Scenario {
  Scenario(name, of: file, unusual: unusual, isSmall: isSmall) { run in
    ck_machine_set_processors(1)
    _ = Backoff.maySpin
    body(run)
  }
}

/// A node for lists and queues: its first word is theirs, the second one a plain number.
struct Node {
  let raw: UnsafeMutableRawPointer

  init(_ number: Int) {
    raw = Memory.allocate(Magazine.nodeSize)
    set(number)
  }

  init(raw: UnsafeMutableRawPointer) { self.raw = raw }

  func set(_ number: Int) {
    ck_plain_write(raw + 8, 8)
    raw.storeBytes(of: number, toByteOffset: 8, as: Int.self)
  }

  var number: Int {
    ck_plain_read(raw + 8, 8)
    return raw.load(fromByteOffset: 8, as: Int.self)
  }

  /// Its memory is gone: whoever touches it later is found.
  func free() { Memory.free(raw) }
}
