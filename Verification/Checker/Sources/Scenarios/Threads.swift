// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import CheckerCore
import CheckerSeam

/// A thread of the program's own: none of the library's.
struct ProgramThread {
  private let number: ck_thread

  init(_ body: @escaping () -> Void) {
    let box = Unmanaged.passRetained(Box(body))
    number = ck_spawn({ Unmanaged<Box>.fromOpaque($0!).takeRetainedValue().body() }, box.toOpaque())
  }

  func join() { ck_join(number) }

  private final class Box {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
  }
}

/// What a scenario waits for. It is the checker's own, so that a scenario depends on nothing but what it is about.
final class Latch: @unchecked Sendable {  // fibres take turns
  private var left: Int

  init(_ count: Int = 1) { left = count }

  private var key: UnsafeRawPointer { UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()) }

  var isOpen: Bool { left == 0 }

  func open() {
    left -= 1
    if left == 0 { ck_machine_wake(key) }
  }

  /// For ever: a run in which it does not open is a deadlock, and reported as one.
  func wait() {
    while left > 0 { ck_machine_wait(key) }
  }
}

/// A number that items count in.
final class Counter: @unchecked Sendable {  // fibres take turns
  var value = 0
}

/// Ends the run as a finding.
func require(_ condition: Bool, _ line: StaticString) {
  if condition { return }
  line.withUTF8Buffer { ck_fail(UnsafeRawPointer($0.baseAddress!).assumingMemoryBound(to: CChar.self)) }
}
