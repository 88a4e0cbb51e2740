// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

@_silgen_name("gc_closure_words")
private func words(of closure: () -> Void, _ words: UnsafeMutableRawPointer)

@_silgen_name("gc_loop_closure_words")
private func words(of closure: (ApplyLoop.Pointer) -> Void, _ words: UnsafeMutableRawPointer)

/// A closure that was passed without escaping, so that another thread can call it while its owner waits.
///
/// Swift's own way, `withoutActuallyEscaping`, allocates. This one keeps the closure's two words and calls through them:
/// nothing is allocated, nothing is retained. The function that was given the closure must not return before the last
/// call has ended.
struct BorrowedClosure: @unchecked Sendable {  // the owner waits until the last call has ended
  private var function: UnsafeRawPointer?
  private(set) var context: UnsafeRawPointer?

  init(_ closure: () -> Void) {
    // unsafe: the callee writes exactly two words.
    withUnsafeMutablePointer(to: &self) { words(of: closure, UnsafeMutableRawPointer($0)) }
  }

  init(_ closure: (ApplyLoop.Pointer) -> Void) {
    // unsafe: the callee writes exactly two words.
    withUnsafeMutablePointer(to: &self) { words(of: closure, UnsafeMutableRawPointer($0)) }
  }

  /// The address of the code.
  var address: UInt { UInt(bitPattern: function) }

  /// A closure given by its two words, which the caller keeps valid.
  @inline(__always)
  init(function: UnsafeRawPointer, context: UnsafeRawPointer?) {
    self.function = function
    self.context = context
  }

  /// Calls a closure that was given as `() -> Void`.
  @inline(__always)
  func callAsFunction() { gc_closure_call(function, context) }

  /// Calls a closure that was given as `(ApplyLoop.Pointer) -> Void`.
  @inline(__always)
  func callAsFunction(_ loop: ApplyLoop.Pointer) { gc_closure_call_with(function, context, loop) }
}
