// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// The signals of the process that are counted.
///
/// A counted signal has a handler of ours, which also calls the one that the program has, or will have: what the program
/// installs later takes effect behind ours, and is in place again when the counting ends. Where the program's calls of
/// `sigaction` do not reach us (under a sanitizer, or if another library was found first) `reassert` makes up for it,
/// later.
enum Signals {
  /// The largest number.
  static let last = 64

  /// False for signals that cannot be handled, that a thread causes by a fault of its own, and that do not exist.
  static func canBeWatched(_ number: Int32) -> Bool { gc_signal_can_be_watched(number) }

  /// Begins to count a signal's deliveries.
  static func watch(_ number: Int32) -> Errno? { Errno(result: Int(gc_signal_watch(number))) }

  /// Ends it, and puts the program's disposition back.
  static func unwatch(_ number: Int32) { gc_signal_unwatch(number) }

  /// The deliveries since the last call.
  static func take(_ number: Int32) -> UInt { UInt(gc_signal_take(number)) }

  /// Has `descriptor`, an event descriptor that was released, signalled when something was counted.
  static func notify(_ descriptor: Int32) { gc_signals_set_descriptor(descriptor) }

  /// Closes a descriptor that `notify` was given, once no handler is about to write to it. Nothing is counted for its owner any more.
  static func close(_ descriptor: Int32) {
    gc_signals_give_up_descriptor(descriptor)
    _ = gc_close(descriptor)
  }

  /// Drains the descriptor. What is taken afterwards includes what was counted before; what is counted later signals it
  /// anew.
  static func acknowledge(_ descriptor: Int32) {
    EventFD.drain(descriptor)
    gc_signals_acknowledge()
  }

  /// Puts the counting handler before what the program has installed behind our back; nothing if it cannot.
  static func reassert() { gc_signals_reassert() }

  /// Lets the calling thread receive the watched signals while it waits in `body`: all other threads may block them.
  static func receiving(_ body: () -> Void) {
    var mask: UInt64 = 0
    if !gc_signals_wait_mask(&mask) { return body() }
    let before = gc_signals_set_mask(mask)
    body()
    _ = gc_signals_set_mask(before)
  }

  static func lockForFork() { gc_signals_lock_for_fork() }

  /// In the child nothing is counted any more.
  static func unlockAfterFork(inChild: Bool) { gc_signals_unlock_after_fork(inChild) }
}
