// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

// What a source says when something is wrong.
extension DispatchSource {
  /// The last reference is gone: traps if it must not be. A kind whose `deinit` frees something calls this first, for a
  /// suspended source is still watched.
  @_optimize(size)
  final func requireReleasable() {
    // relaxed: the last reference is gone, and its release has ordered everything before.
    let last = state.load(ordering: .relaxed)
    if last.rawValue & SourceState.inactive != 0 || last.isSuspended { requireReleasableSlow(last) }
  }

  @inline(never)
  @_optimize(size)
  private final func requireReleasableSlow(_ last: SourceState) {
    if last.isSuspended {
      Fault.misuse(
        .releasedWhileSuspended,
        "the last reference to a " + kindName + " went away while it was suspended; its handlers could never run. "
          + "Resume it first.")
    }
    if last.has(SourceState.inactive), !last.has(SourceState.cancelled), !handlers.isEmpty {
      Fault.misuse(
        .releasedWhileInactive,
        "the last reference to a " + kindName + " went away before it was activated; its handlers could never run. "
          + "Call activate or cancel first.")
    }
  }

  @inline(never)
  @_optimize(size)
  final func reportFailure(_ error: Errno) {
    Fault.report(
      "a " + kindName + " cannot watch " + watched + ": " + error.description + ". The source is cancelled.")
  }

  @inline(never)
  @_optimize(size)
  final func reportClosed() {
    Fault.report(
      watched + " was closed while a " + kindName + " watched it; the source is cancelled. "
        + "Close a descriptor in the source's cancel handler.")
  }
}
