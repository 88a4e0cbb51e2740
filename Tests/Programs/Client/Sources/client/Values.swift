// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import GrandCentral

/// Another isolation domain, which values come to and go from.
actor Domain {
  private var kept: [any Sendable] = []

  func take<Value: Sendable>(_ value: Value) -> Value {
    kept.append(value)
    return value
  }

  var count: Int { kept.count }
}

/// What is a value: there and back again.
@MainActor
func sendValues(to domain: Domain) async {
  let time: DispatchTime = await domain.take(.now())
  let wall: DispatchWallTime = await domain.take(.now())
  let interval: DispatchTimeInterval = await domain.take(.seconds(1))
  _ = await (domain.take(time + interval), domain.take(wall + interval))
  let result: DispatchTimeoutResult = await domain.take(.success)
  _ = await domain.take(result)
  _ = await domain.take(DispatchClock().now as DispatchClock.Instant)
  _ = await domain.take(DispatchWallClock().now as DispatchWallClock.Instant)
  _ = await domain.take(DispatchQoS.userInitiated)
  _ = await domain.take(DispatchQoS.QoSClass.utility)
  _ = await domain.take(DispatchQueue.Attributes.concurrent)
  _ = await domain.take(DispatchSerialQueue.Attributes.initiallyInactive)
  _ = await domain.take(DispatchConcurrentQueue.Attributes.initiallyInactive)
  _ = await domain.take(DispatchQueue.AutoreleaseFrequency.inherit)
  _ = await domain.take(DispatchQueue.GlobalQueuePriority.high)
  _ = await domain.take(DispatchWorkItemFlags.barrier)
  _ = await domain.take(DispatchPredicate.notOnQueue(.main))
  _ = await domain.take(DispatchSource.TimerFlags.strict)
  _ = await domain.take(DispatchSource.FileSystemEvent.all)
  _ = await domain.take(DispatchSource.ProcessEvent.exit)
  _ = await domain.take(DispatchSource.ProcessExitStatus.exited(code: 0))
  _ = await domain.take(DispatchSource.ProcessExit?.none)
  _ = await domain.take(DispatchSource.MemoryPressureEvent.all)
  _ = await domain.take(DispatchSource.MachSendEvent.dead)
  _ = await domain.take(DispatchIO.StreamType.stream)
  _ = await domain.take(DispatchIO.CloseFlags.stop)
  _ = await domain.take(DispatchIO.IntervalFlags.strictInterval)
  _ = await domain.take(DispatchQueuePool.default(for: .utility).statistics as [DispatchQueuePool.QueueStatistics])
  let data = await domain.take([UInt8](0..<10).withUnsafeBytes { DispatchData(bytes: $0) })
  let iterator: DispatchDataIterator = data.makeIterator()
  _ = await domain.take(Array(IteratorSequence(iterator)))
  _ = await domain.take(Array(data.regions).count)
  _ = await domain.take(data.transformed(from: DispatchData.Format.none, to: .base64))
  // A custom deallocator is a closure of its maker's, used where it is made.
  let empty = UnsafeRawBufferPointer(start: nil, count: 0)
  _ = await domain.take(DispatchData(bytesNoCopy: empty, deallocator: DispatchData.Deallocator.custom(nil, {})))
  GrandCentralRuntime.threadBudget = await domain.take(GrandCentralRuntime.threadBudget)
  _ = await domain.take(DispatchMainLoop.fileDescriptor)
  let span: GrandCentralRuntime.Span = await domain.take(GrandCentralRuntime.beginSpan("client"))
  span.end()
  _ = await domain.take(GrandCentralRuntime.version)
  let snapshot: GrandCentralRuntime.Snapshot = await domain.take(GrandCentralRuntime.snapshot())
  let thread: GrandCentralRuntime.SnapshotThread? = await domain.take(snapshot.threads.first)
  let roles: [GrandCentralRuntime.SnapshotThread.Role?] = [thread?.role, .worker]
  let states: [GrandCentralRuntime.SnapshotThread.State?] = [thread?.state, .asleep]
  _ = await domain.take((roles.count, states.count))
  let wait: GrandCentralRuntime.SnapshotWait? = await domain.take(thread?.wait)
  let waits: [GrandCentralRuntime.SnapshotWait.Kind?] = [wait?.kind, .group]
  let queue: GrandCentralRuntime.SnapshotQueue? = await domain.take(snapshot.queues.first)
  let kinds: [GrandCentralRuntime.SnapshotQueue.Kind?] = [queue?.kind, .serial]
  _ = await domain.take((waits.count, kinds.count))
  let source: GrandCentralRuntime.SnapshotSource? = await domain.take(snapshot.sources.first)
  let timer: GrandCentralRuntime.SnapshotTimer? = await domain.take(snapshot.timers.first)
  let group: GrandCentralRuntime.SnapshotGroup? = await domain.take(snapshot.groups.first)
  let channel: GrandCentralRuntime.SnapshotChannel? = await domain.take(snapshot.channels.first)
  _ = await domain.take((source?.kind, timer?.remaining, group?.members, channel?.descriptor))
}
