// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The one pointer that the program may hang on an object, and the function that frees what it points to (Contract.O2).
struct ObjectContext {
  typealias Finalizer = @convention(c) (UnsafeMutableRawPointer?) -> Void

  var pointer: UnsafeMutableRawPointer?
  var finalizer: Finalizer?

  /// The object is going: the finalizer runs once, on the target, if there is a context.
  ///
  /// Nothing of the object is touched: it may be gone by then.
  @inline(never)
  func finalize(on target: Lane) {
    guard let pointer, let finalizer else { return }
    // unsafe: the pointer is passed through.
    nonisolated(unsafe) let context = pointer
    if Recorder.isOn { World.goBeyondOrders(.references) }
    Sanitizer.comesBefore(context)
    target.submitSlow {
      Sanitizer.comesAfter(context)
      finalizer(context)
    }
  }
}

extension DispatchObject {
  /// The program's pointer.
  final var context: UnsafeMutableRawPointer? {
    get {
      guard let extras = extrasReference else { return nil }
      return extras.use { extras in extras.lock.withLock { extras.context.pointer } }
    }
    set {
      let extras = readyExtras
      extras.lock.withLock { extras.context.pointer = newValue }
    }
  }

  /// What is called with the context after the last reference has gone, asynchronously on the target.
  final func setFinalizer(_ finalizer: ObjectContext.Finalizer?) {
    let extras = readyExtras
    extras.lock.withLock { extras.context.finalizer = finalizer }
  }

  /// For `deinit`: what there is to finalise; nil for most.
  final var lastContext: ObjectContext? { extrasReference?.use { $0.context } }

  /// For the `deinit` of an object that runs nothing.
  @inline(__always)
  final func finalizeContext(otherwise target: @autoclosure () -> Lane) {
    if extrasReference != nil { finalizeContextSlow(otherwise: target()) }
  }

  @inline(never)
  private final func finalizeContextSlow(otherwise target: Lane) {
    extrasReference?.use { $0.context.finalize(on: $0.finalizerTarget ?? target) }
  }
}
