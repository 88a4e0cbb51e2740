// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Glibc
import GrandCentral

/// An actor on a queue of ours.
actor Account {
  private let queue: DispatchSerialQueue
  private var balance = 0

  init(on queue: DispatchSerialQueue) { self.queue = queue }

  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  func pay(_ amount: Int) -> Int {
    dispatchPrecondition(condition: .onQueue(queue))
    balance += amount
    return balance
  }
}

/// Executors of the program's own, in front of queues of ours.
final class Wrapper: SerialExecutor, TaskExecutor {
  private let (serial, any) = (DispatchSerialQueue(label: "wrapped"), DispatchQueue(label: "any"))

  func enqueue(_ job: consuming ExecutorJob) { serial.enqueue(job) }
  func enqueueElsewhere(_ job: consuming ExecutorJob) { any.enqueue(job) }
}

@MainActor
private var finished = 0

/// Queues, coordination and sources, made here, used there.
@MainActor
func useObjects(with domain: Domain) async throws {
  let key = DispatchSpecificKey<String>()
  let queues: [DispatchQueue] = await [
    domain.take(DispatchQueue(label: "serial", target: .global())), domain.take(DispatchSerialQueue(label: "serial")),
    domain.take(DispatchConcurrentQueue(label: "concurrent")), domain.take(DispatchWorkloop(label: "workloop")),
    domain.take(DispatchQueuePool(name: "pool", queueCount: 2)).queue,
  ]
  let object: DispatchObject = await domain.take(queues[0])
  object.suspend()
  object.resume()
  for queue in queues {
    queue.setSpecific(key: key, value: queue.label)
    let group = await domain.take(DispatchGroup())
    let semaphore = await domain.take(DispatchSemaphore(value: 0))
    let item = await domain.take(DispatchWorkItem { semaphore.signal() })
    queue.async(group: group, execute: item)
    try await group.asyncWait()
    try await semaphore.asyncWait()
    try await item.value()
    try await queue.barrier()
    let label = await queue.run { DispatchQueue.getSpecific(key: key) }
    precondition(label == queue.label)
    Task(executorPreference: queue) { @MainActor in finished += 1 }
  }
  let account = Account(on: DispatchSerialQueue(label: "account"))
  _ = await account.pay(3)
  let balance = await account.pay(4)
  precondition(balance == 7)
  await Task(executorPreference: Wrapper()) {}.value
  let once = await domain.take(DispatchOnce())
  once.run { finished += 1 }
  await withDispatchGroup { (scope: DispatchGroupScope) in
    let entry: DispatchGroupScope.Entry = scope.enter()
    scope.async(on: queues[0]) { entry.leave() }
  }
  let squares = try await DispatchQueue.concurrentMap(0..<100) { $0 * $0 }
  precondition(squares[99] == 9801)
  try await Task.sleep(for: .milliseconds(1), clock: DispatchClock())
  await useSources(with: domain)
}

@MainActor
private func useSources(with domain: Domain) async {
  let handler: DispatchSourceHandler = { _ = DispatchQueue.current }
  let timer: any DispatchSourceTimer = await domain.take(DispatchSource.makeTimerSource())
  let add: any DispatchSourceUserDataAdd = await domain.take(DispatchSource.makeUserDataAddSource())
  let or: any DispatchSourceUserDataOr = await domain.take(DispatchSource.makeUserDataOrSource())
  let replace: any DispatchSourceUserDataReplace = await domain.take(DispatchSource.makeUserDataReplaceSource())
  let signal: any DispatchSourceSignal = await domain.take(DispatchSource.makeSignalSource(signal: SIGUSR1))
  let read: any DispatchSourceRead = await domain.take(DispatchSource.makeReadSource(fileDescriptor: 0))
  let write: any DispatchSourceWrite = await domain.take(DispatchSource.makeWriteSource(fileDescriptor: 1))
  let process: any DispatchSourceProcess = await domain.take(
    DispatchSource.makeProcessSource(identifier: getpid(), eventMask: .exit))
  let file: any DispatchSourceFileSystemObject = await domain.take(
    DispatchSource.makeFileSystemObjectSource(fileDescriptor: 0, eventMask: .all))
  let pressure: any DispatchSourceMemoryPressure = await domain.take(
    DispatchSource.makeMemoryPressureSource(eventMask: .all))
  let send: (any DispatchSourceMachSend)? = nil
  let receive: (any DispatchSourceMachReceive)? = nil
  _ = await (domain.take(send), domain.take(receive))
  let sources: [any DispatchSourceProtocol] = [
    timer, add, or, replace, signal, read, write, process, file, pressure,
  ]
  for source in sources {
    source.setEventHandler(handler: handler)
    source.cancel()
  }
  let events: DispatchSource.Events<UInt> = await domain.take(DispatchSource.timer(every: .milliseconds(1)))
  let iterator: DispatchSource.Events<UInt>.Iterator = events.makeAsyncIterator()
  _ = await iterator.next()
  let channel = await domain.take(
    DispatchIO(type: .stream, fileDescriptor: dup(1), queue: .global(), cleanupHandler: { _ in }))
  channel.close()
}

@main
struct Client {
  static func main() async throws {
    let domain = Domain()
    await sendValues(to: domain)
    try await useObjects(with: domain)
    print("client: \(await domain.count) values and objects across domains")
  }
}
