// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Dispatch declares handlers, notifications and the blocks of work items without `@Sendable`: a closure formed in a
// `@MainActor` class stays on the main actor, and may be handed to them. Sources that compile with Dispatch must compile
// with us, so our declarations are the same. The program names the queue that the closure runs on, and so consents to
// another thread. `@preconcurrency` would not do: it turns the errors into warnings, and Dispatch gives none.

/// A closure that the program hands over to a queue.
@inline(__always)
func handedOver(_ work: @escaping () -> Void) -> @Sendable () -> Void {
  nonisolated(unsafe) let work = work
  return { work() }
}

/// A closure that the program hands over to a queue, with a parameter.
@inline(__always)
func handedOver<Value>(_ work: @escaping (Value) -> Void) -> @Sendable (Value) -> Void {
  nonisolated(unsafe) let work = work
  return { work($0) }
}
