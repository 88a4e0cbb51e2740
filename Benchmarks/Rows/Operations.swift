// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0
//
// This folder is compiled twice: as OursOps with GrandCentral, as TheirsOps with the toolchain's Dispatch. The import
// of each is in its Import.swift; nothing here may depend on the side.

import BenchKit

/// All operations of the duel, in the order of the report.
public func operations() -> [Operation] {
  let all =
    serialAsync() + serialAsyncVariants() + selfHop() + sync() + contendedSync() + concurrentAsync() + hops()
    + handshakes() + concurrentPerforms() + groupsAndItems() + smallCalls() + queueLives() + timers() + sources()
    + blockedThreads() + readersAndBarriers() + priorities() + mainThread() + memory() + idling() + data()
    + channels() + pools() + actors()
  return all.enumerated()
    .sorted { (group(of: $0.element), $0.offset) < (group(of: $1.element), $1.offset) }
    .map(\.element)
}

private func group(of operation: Operation) -> String { String(operation.name.prefix(1)) }
