// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// What the process does around each fork, called by `Identity.c`. The argument is in `Engine/Fork.swift`.

@_cdecl("gc_before_fork") @_optimize(size)
func beforeFork() {
  // Nothing is held: both may wait for threads of the program.
  #if !hasFeature(Embedded)
    TypesAtFork.prepare()
  #endif
  GlobalQueues.makeAll()
  holdLocksOfQueues(true)
  Fork.prepare()
}

@_cdecl("gc_after_fork") @_optimize(size)
func afterFork(_ inChild: Bool) {
  if !inChild {
    Fork.parent()
    return holdLocksOfQueues(false)
  }
  Fork.child {
    QueueContext.leaveItemsToParent()
    MainLoop.beginInChild()
    IOScheduler.beginInChild()
    holdLocksOfQueues(false)
  }
}

@_optimize(size) @inline(never)
private func holdLocksOfQueues(_ hold: Bool) {
  WaitGraph.holdLock(hold)
  Lane.holdHierarchy(hold)
  MainLoop.holdDescriptor(hold)
  PooledQueue.holdRetired(hold)
  Specifics.holdWriting(hold)
}
