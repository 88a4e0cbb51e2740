// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Reports on standard error where async code blocks its thread, once for each place, if `GRANDCENTRAL_CHECKS` asks for it.
///
/// Swift Concurrency has as many threads as there are processors, and starts no others: if tasks block all of them, the
/// program stops. On threads of our own pool a blocked task is replaced like any blocked job, so it is only slow.
enum BlockingReports {
  private static let lock = ProcessLock()
  /// Guarded by `lock`: traces that have been looked at, and places that have been reported.
  nonisolated(unsafe) private static var seen: [UInt] = []

  /// How many addresses of a trace tell it from others.
  private static let depth = 40

  /// The calling thread is about to wait in one of our primitives.
  @inline(__always)
  static func note() {
    if Settings.reportsBlocking { noteSlow() }
  }

  @inline(never)
  private static func noteSlow() {
    guard CallSite.isInTask else { return }
    let trace = CallSite.trace(limit: depth)
    var hash: UInt = 5381
    for address in trace { hash = hash &* 33 ^ address }
    // Looking names up takes milliseconds; a trace needs it once.
    guard isNew(hash), let site = CallSite.outside(trace), isNew(site.address) else { return }
    Fault.report(
      "async code blocks its thread in " + site.description
        + ". Use the async form of the call: await group.asyncWait(), await semaphore.asyncWait(), await item.value(), await run."
    )
  }

  private static func isNew(_ number: UInt) -> Bool {
    lock.withLock {
      // Few, and looked at before a thread blocks: no set is worth its code in each program.
      if seen.contains(number) { return false }
      seen.append(number)
      return true
    }
  }
}
