// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import ContractSupport
import Glibc
import GrandCentral

/// Waits that, as far as the library can know, a thread of the program could still end: so it reports no cycle.
let otherPatterns: [Pattern] = [
  .other("semaphore-on-an-error-path", says: "semaphore", "render") {
    let (render, slots, formation) = (DispatchQueue(label: "render"), DispatchSemaphore(value: 1), Formation())
    @Sendable func draw(_ page: Int) {
      slots.wait()
      if page % 2 == 0 { return }  // the error path: the slot is never given back
      slots.signal()
    }
    render.async {
      draw(2)
      formation.wait { draw(3) }
    }
  },
  .other("group-never-left", says: "group", "entered") {
    let (sync, group, formation) = (DispatchQueue(label: "sync"), DispatchGroup(), Formation())
    group.enter()
    sync.async { formation.wait { group.wait() } }
  },
  .other("group-on-a-full-queue-with-a-free-item", says: "downloads") {
    // The other item may end, as far as the library knows.
    let downloads = DispatchQueue(label: "downloads", maximumConcurrency: 2)
    let (formation, group, never) = (Formation(2), DispatchGroup(), DispatchSemaphore(value: 0))
    downloads.async {
      formation.meet()
      formation.wait { never.wait() }
    }
    downloads.async {
      formation.meet()
      downloads.async(group: group) {}
      formation.wait { group.wait() }
    }
  },
  .other("suspend-without-resume", says: "mail", "suspended") {
    let (mail, formation) = (DispatchQueue(label: "mail"), Formation())
    mail.suspend()
    DispatchQueue.global().async { formation.wait { mail.sync {} } }
  },
  .other("inactive-queue", says: "mail", "activate") {
    let (mail, formation) = (DispatchQueue(label: "mail", attributes: .initiallyInactive), Formation())
    DispatchQueue.global().async { formation.wait { mail.sync {} } }
  },
  // The wait is the first thing in these two that needs a thread.
  .other("group-behind-a-suspended-queue", says: "group", "mail", "suspended") {
    let (mail, group, formation) = (DispatchQueue(label: "mail"), DispatchGroup(), Formation())
    mail.suspend()
    mail.async(group: group) {}
    formation.wait { group.wait() }
  },
  .other("semaphore-behind-an-inactive-queue", says: "semaphore", "mail", "has not been activated") {
    let mail = DispatchQueue(label: "mail", attributes: [.concurrent, .initiallyInactive])
    let (sent, formation) = (DispatchSemaphore(value: 0), Formation())
    mail.async { sent.signal() }
    formation.wait { sent.wait() }
  },
  .other("signal-behind-the-wait", says: "semaphore", "serial") {
    // The item that would signal is behind the one that waits.
    let (serial, ready, formation) = (DispatchQueue(label: "serial"), DispatchSemaphore(value: 0), Formation())
    serial.async { formation.wait { ready.wait() } }
    serial.async { ready.signal() }
  },
  .other("full-buffer-under-a-lock", says: "buffer", "semaphore") {
    // The producer waits for room inside of the queue that the consumer must come through.
    let (buffer, room, formation) = (DispatchQueue(label: "buffer"), DispatchSemaphore(value: 2), Formation(2))
    buffer.async {
      for _ in 0..<2 { room.wait() }
      formation.wait { room.wait() }
    }
    DispatchQueue.global().async {
      formation.wait { buffer.sync { _ = room.signal() } }
    }
  },
  .other("two-semaphores-crosswise", says: "semaphore") {
    let (left, right) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let formation = Formation(2)
    DispatchQueue.global().async {
      formation.wait { left.wait() }
      right.signal()
    }
    DispatchQueue.global().async {
      formation.wait { right.wait() }
      left.signal()
    }
  },
  .other("timer-on-a-suspended-queue", says: "clock", "suspended") {
    let (clock, group, formation) = (DispatchQueue(label: "clock"), DispatchGroup(), Formation())
    let timer = DispatchSource.makeTimerSource(queue: clock)
    group.enter()
    timer.setEventHandler { group.leave() }
    timer.schedule(deadline: .now() + .milliseconds(1))
    clock.suspend()
    timer.activate()
    DispatchQueue.global().async {
      formation.wait { group.wait() }
      _ = timer
    }
  },
  .other("pool-of-blocked-items", says: "thread budget") {
    // As many items wait as there may be threads, and the one that would let them go has none.
    GrandCentralRuntime.threadBudget = 4
    let (gate, formation) = (DispatchSemaphore(value: 0), Formation(4))
    for _ in 0..<4 { DispatchQueue.global().async { formation.wait { gate.wait() } } }
    DispatchQueue.global().async { for _ in 0..<4 { gate.signal() } }
  },
  .other("channel-barrier-behind-a-silent-pipe", says: "A barrier of channel", "a read", "nothing to read", "pipe:[") {
    guard let ends = Kernel.closeOnExecPipe() else { return }
    let (group, formation) = (DispatchGroup(), Formation())
    let channel = DispatchIO(type: .stream, fileDescriptor: ends.readEnd, queue: .global()) { _ in }
    group.enter()
    channel.read(offset: 0, length: 1, queue: .global()) { _, _, _ in }
    channel.barrier { group.leave() }
    DispatchQueue.global().async {
      formation.wait { group.wait() }
      _ = channel
    }
  },
  .other("closed-channel-with-a-silent-pipe", says: "closed", "nothing to read", "descriptor", "pipe:[") {
    guard let ends = Kernel.closeOnExecPipe() else { return }
    let (group, formation) = (DispatchGroup(), Formation())
    group.enter()
    let channel = DispatchIO(type: .stream, fileDescriptor: ends.readEnd, queue: .global()) { _ in group.leave() }
    channel.read(offset: 0, length: 1, queue: .global()) { _, _, _ in }
    channel.close()
    DispatchQueue.global().async { formation.wait { group.wait() } }
  },
  .other("write-into-a-full-pipe", says: "a write", "no room", "pipe:[") {
    guard let ends = Kernel.closeOnExecPipe() else { return }
    let (written, formation) = (DispatchSemaphore(value: 0), Formation())
    let channel = DispatchIO(type: .stream, fileDescriptor: ends.writeEnd, queue: .global()) { _ in }
    let bytes = [UInt8](repeating: 7, count: 1 << 20).withUnsafeBytes { DispatchData(bytes: $0) }
    channel.write(offset: 0, data: bytes, queue: .global()) { done, _, _ in if done { written.signal() } }
    DispatchQueue.global().async {
      formation.wait { written.wait() }
      _ = channel
    }
  },
  .other("first-item-before-a-barrier", says: "cache", "reads from descriptor", "pipe:[") {
    // The worker has never slept, nor waited in the library.
    guard let ends = Kernel.closeOnExecPipe() else { return }
    let (cache, formation) = (DispatchQueue(label: "cache", attributes: .concurrent), Formation(2))
    cache.async {
      var byte: UInt8 = 0
      formation.meet()
      formation.wait { _ = read(ends.readEnd, &byte, 1) }
    }
    _ = PlainThread {
      formation.meet()
      cache.async(flags: .barrier) {}
      formation.wait { cache.sync {} }
    }
  },
  .other("item-that-blocks-the-main-queue", says: "main queue is blocked by one of its items", "reads from descriptor")
  {
    guard let ends = Kernel.closeOnExecPipe() else { return }
    let formation = Formation()
    DispatchQueue.main.async {
      var byte: UInt8 = 0
      formation.wait { _ = read(ends.readEnd, &byte, 1) }
    }
    dispatchMain()
  },
  .other("thread-that-is-joined", says: "2 threads wait for each other", "index", "pthread_join") {
    let (index, formation) = (DispatchQueue(label: "index"), Formation(2))
    let thread = PlainThread {
      formation.meet()
      formation.wait { index.sync {} }
    }
    index.async {
      formation.meet()
      formation.wait { thread.join() }
    }
  },
  .other("mutex-and-queue-crosswise", says: "log", "mutex") {
    // One half of the circle is the program's own lock, of which the library knows nothing.
    let (log, lock, formation) = (DispatchQueue(label: "log"), Mutex(), Formation(2))
    log.async {
      formation.meet()
      formation.wait { lock.lock() }
    }
    _ = PlainThread {
      lock.lock()
      formation.meet()
      formation.wait { log.sync {} }
    }
  },
  .other("first-items-with-two-mutexes", says: "2 threads wait for each other", "a mutex of the program's own") {
    // No thread waits in the library, nothing is pending, and no worker has ever slept.
    let (locks, formation) = ([Mutex(), Mutex()], Formation(2))
    for mine in 0..<2 {
      DispatchQueue(label: "part.\(mine)").async {
        locks[mine].lock()
        formation.meet()
        formation.wait { locks[1 - mine].lock() }
      }
    }
  },
  .other("item-of-a-queue-behind-a-semaphore", says: "worker", "semaphore") {
    // The last thread of the chain waits for a signal: it is no cycle, however long the chain is.
    let queues = (0..<4).map { DispatchQueue(label: "worker.\($0)") }
    let (signal, formation) = (DispatchSemaphore(value: 0), Formation(4))
    queues[3].async {
      formation.meet()
      formation.wait { signal.wait() }
    }
    for index in 0..<3 {
      queues[index].async {
        formation.meet()
        formation.wait { queues[index + 1].sync {} }
      }
    }
  },
  .other("source-cancelled-on-a-suspended-queue", says: "events", "suspended") {
    let (events, group, formation) = (DispatchQueue(label: "events"), DispatchGroup(), Formation())
    let source = DispatchSource.makeUserDataAddSource(queue: events)
    group.enter()
    source.setCancelHandler { group.leave() }
    source.activate()
    events.suspend()
    source.cancel()
    DispatchQueue.global().async { formation.wait { group.wait() } }
  },
]

/// A lock of the program's own.
private final class Mutex: @unchecked Sendable {  // a POSIX mutex that stays where it is
  private let raw = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  init() { pthread_mutex_init(raw, nil) }
  func lock() { pthread_mutex_lock(raw) }
}
