// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

/// Has a process that a run brings down say which schedule it was: a trap, `fatalError`, a failed precondition, a bad address; or a race,
/// behind whose report ThreadSanitizer may end the process.
///
/// The sentence is made before each run. The handler writes it, and gives the signal back to what handled it before.
final class LastWords {
  /// How many signals there are; `number` names them.
  private static let signals = 6
  private static let room = 256
  private static let endOfProcess: StaticString = "simulation: the process ends in a run. "
  private static let race: StaticString = "simulation: the race is in a run. "

  /// What the handler touches. There is one simulation at a time.
  private struct Shared {
    let text: UnsafeMutablePointer<UInt8>
    let former: UnsafeMutablePointer<sigaction>
    let count: UnsafeMutablePointer<Atomic<Int>>
  }

  // unsafe: allocated once, and never freed; the text is written while its count is zero.
  private nonisolated(unsafe) static let shared: Shared = {
    let shared = Shared(
      text: .allocate(capacity: room), former: .allocate(capacity: signals), count: .allocate(capacity: 1))
    shared.count.initialize(to: Atomic(0))
    shared.former.initialize(repeating: sigaction(), count: signals)
    return shared
  }()

  init() {
    _ = Self.shared
    var action = sigaction()
    action.__sigaction_handler.sa_handler = LastWords.speak
    // A stack may have overflowed: each thread of a run has another one for this (`StackOfSignals`).
    action.sa_flags = SA_ONSTACK
    for index in 0..<Self.signals { sigaction(Self.number(index), &action, Self.shared.former + index) }
    SimulatedOrder.listen { LastWords.write(LastWords.race) }
  }

  /// - Parameter token: Nil if it is not known yet.
  func prepare(_ token: Token?) {
    let text = token?.text ?? ""
    // A schedule of the shrinking may be too long for a token.
    let isSaid = !text.isEmpty && text.utf8.count <= Token.mostCharacters
    let sentence = isSaid ? "Replay it by .replay(\"" + text + "\")\n" : "\n"
    let bytes = sentence.utf8.prefix(Self.room)
    for (index, byte) in bytes.enumerated() { Self.shared.text[index] = byte }
    // pairs with: write – publishes the text
    Self.shared.count.pointee.store(bytes.count, ordering: .releasing)
  }

  /// No run is under way.
  func forget() {
    // relaxed: a handler that still sees the number says what was true a moment ago.
    Self.shared.count.pointee.store(0, ordering: .relaxed)
  }

  func end() {
    for index in 0..<Self.signals { sigaction(Self.number(index), Self.shared.former + index, nil) }
    SimulatedOrder.listen(nil)
  }

  /// What a handler may call.
  private static func write(_ beginning: StaticString) {
    // pairs with: prepare – publishes the text
    let count = shared.count.pointee.load(ordering: .acquiring)
    if count == 0 { return }
    _ = Glibc.write(STDERR_FILENO, beginning.utf8Start, beginning.utf8CodeUnitCount)
    _ = Glibc.write(STDERR_FILENO, shared.text, count)
  }

  /// On the thread that is about to end the process: nothing but what a handler may call.
  private static let speak: @convention(c) (Int32) -> Void = { signal in
    LastWords.write(LastWords.endOfProcess)
    let shared = LastWords.shared
    for index in 0..<LastWords.signals where LastWords.number(index) == signal {
      sigaction(signal, shared.former + index, nil)
    }
    // It waits until the handler is back.
    raise(signal)
  }

  /// The signal at an index: without an array, which may be made anew.
  private static func number(_ index: Int) -> Int32 {
    switch index {
    case 0: SIGILL
    case 1: SIGTRAP
    case 2: SIGABRT
    case 3: SIGBUS
    case 4: SIGFPE
    default: SIGSEGV
    }
  }
}
