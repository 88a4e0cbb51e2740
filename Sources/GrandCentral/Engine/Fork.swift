// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// What happens to the engine when the process forks: the parent does not notice; the child has one thread and starts
/// over with a fresh engine. Work that was pending stays with the parent.
///
/// The engine's few locks are held across the fork, so that no structure is copied half changed. Lock-free structures
/// are simply left behind with the old engine; the magazines' depot is emptied, because a batch on its way between
/// two threads may be known to neither.
enum Fork {
  static func install() {
    Thread.atFork(prepare: { Fork.prepare() }, parent: { Fork.parent() }, child: { Fork.child() })
  }

  private static func prepare() {
    Engine.lockForFork()
    if let engine = Engine.existing {
      engine.pointee.timers.lockForFork()
      engine.pointee.idle.lock.lock()
    }
    Region.lockForFork()
  }

  private static func parent() {
    Region.unlockAfterFork()
    if let engine = Engine.existing {
      engine.pointee.idle.lock.unlock()
      engine.pointee.timers.unlockAfterFork()
    }
    Engine.unlockAfterFork()
  }

  private static func child() {
    Region.unlockAfterFork()
    Thread.resetAfterFork()
    Magazine.resetAfterFork()
    gc_thread_self().pointee.worker = nil
    Engine.replaceInChild()
  }

  /// A worker that has forked inside a job is a plain thread in the child: when the job returns there is no loop to go
  /// back to, and ending it would end nothing but the child's only thread.
  static func parkForeignThread() -> Never {
    while true { Thread.sleep(nanoseconds: 1_000_000_000) }
  }
}
