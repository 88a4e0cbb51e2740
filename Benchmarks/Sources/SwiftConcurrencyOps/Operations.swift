// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import BenchKit

/// What Swift Concurrency does in place of a row of the duel: the operation has the row's name, the peer says with what.
public struct PeerOperation {
  public let peer: String
  public let operation: Operation

  init(_ peer: String, _ operation: Operation) {
    self.peer = peer
    self.operation = operation
  }
}

/// All rows that Swift Concurrency takes part in. Each task costs it a kilobyte or more, so the operations that leave
/// all their tasks pending have fewer of them than a queue would have items.
public func operations() -> [PeerOperation] {
  serialAsync() + actorCalls() + concurrentTasks() + taskLoops() + actorLives()
}

/// Runs the body in a task, and waits for it.
func inTask(_ body: @escaping @Sendable () async -> Void) {
  let done = Latch()
  Task.detached {
    await body()
    done.open()
  }
  done.wait()
}
