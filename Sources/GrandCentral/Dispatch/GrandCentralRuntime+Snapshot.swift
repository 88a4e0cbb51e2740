// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

extension GrandCentralRuntime {
  /// What the library's threads do, and which queues and other objects there are, at one moment.
  ///
  /// `gcd snapshot` prints the same of another process.
  public struct Snapshot: Sendable {
    /// Workers wanted at once: the processors.
    public let parallelism: Int
    /// The threads that have met the library and have not ended: workers, and threads of the program that have waited in it.
    public let threads: [SnapshotThread]
    /// The queues that have a number: all that were made since ``GrandCentralRuntime/listsQueues`` was set, and each that a
    /// thread has waited for, or that was suspended or recorded.
    public let queues: [SnapshotQueue]
    /// The sources that are no timers. Sources, timers, groups and channels have a number if they were made since
    /// ``GrandCentralRuntime/listsQueues`` was set. Of those that were made before, a group gets one when it is next entered, waited for or
    /// notified, a channel with its next operation, and a source when it fires while something is recorded. A channel has one as well
    /// if a barrier of it has had to wait.
    public let sources: [SnapshotSource]
    /// The timers.
    public let timers: [SnapshotTimer]
    /// The groups.
    public let groups: [SnapshotGroup]
    /// The channels.
    public let channels: [SnapshotChannel]
  }

  /// A thread in a ``Snapshot``.
  public struct SnapshotThread: Sendable {
    /// What a thread is for.
    public enum Role: Sendable {
      /// One of the program's own.
      case program
      /// A thread of the pool.
      case worker
      /// The process's first thread.
      case main
      /// The library's, which watches over the workers.
      case monitor
    }

    /// What a thread does.
    public enum State: Sendable {
      /// It runs, or is not in the library.
      case active
      /// A worker without work, or the main thread in its loop.
      case asleep
      /// It waits in one of the library's calls.
      case waits
    }

    /// The kernel's number of the thread.
    public let id: UInt32
    /// What the thread is for.
    public let role: Role
    /// What the thread does.
    public let state: State
    /// For how long it has been in that state.
    public let duration: Duration
    /// What it waits for, if it waits.
    public let wait: SnapshotWait?
    /// The label of the queue whose item the thread was inside when it last began to wait; empty if it was inside none.
    public let insideLabel: String
  }

  /// What a thread in a ``Snapshot`` waits for.
  public struct SnapshotWait: Sendable {
    /// What can be waited for.
    public enum Kind: Sendable {
      /// `sync`: its turn on a queue.
      case queue
      /// `sync`: its item, which another thread runs.
      case itemElsewhere
      /// `DispatchGroup.wait`
      case group
      /// `DispatchSemaphore.wait`
      case semaphore
      /// `DispatchWorkItem.wait`
      case workItem
      /// `concurrentPerform`: its helpers.
      case apply
      /// `DispatchOnce.run`: the thread that runs the body.
      case once
      /// Something else in the library.
      case other
    }

    /// What is waited for.
    public let kind: Kind
    /// The label of the queue that is waited for; empty if it is no queue.
    public let label: String
    /// The thread that held it when the wait began; 0 if there was none, or it is not known. In a circle that the
    /// library has found: the next thread of the circle.
    public let owner: UInt32
    /// Whether the wait has a deadline.
    public let hasDeadline: Bool
  }

  /// A queue in a ``Snapshot``.
  public struct SnapshotQueue: Sendable {
    /// What the queue does with its items.
    public enum Kind: Sendable {
      /// One after the other.
      case serial
      /// Several at once, with barriers.
      case concurrent
      /// One after the other, the most urgent first.
      case workloop
      /// On the main thread.
      case main
      /// Several at once, at one quality of service.
      case global
    }

    /// Tells it from the others of the snapshot.
    public let number: Int
    /// What the queue does with its items.
    public let kind: Kind
    /// The queue's label; 79 bytes of it at most.
    public let label: String
    /// The number of its target, or 0.
    public let target: Int
    /// How many items may run at once; nil: no limit.
    public let width: Int?
    /// How often it has been suspended and not resumed.
    public let suspensions: Int
    /// Whether it was created inactive and has not been activated.
    public let isInactive: Bool
  }

  /// Whether snapshots list each queue, source, timer, group and channel from the moment it is made. Without it they list a queue once a
  /// thread has waited for it or has suspended it, and a channel once a barrier has had to wait. The environment's
  /// `GRANDCENTRAL_INSPECT=1` and `GRANDCENTRAL_RECORD=ring` set it at the start; `gcd trace` and `gcd top` set it meanwhile.
  ///
  /// Each of them then costs a lock and 128 bytes when it is made, and a lock when its state changes; a group costs an atomic
  /// addition when it is entered or left. Blocking: never.
  public static var listsQueues: Bool {
    get { Recorder.numbersObjects }
    set {
      InsightRegion.makeOnce()
      newValue
        ? InsightRegion.turnOn(InsightLayout.Switch.objects) : InsightRegion.turnOff(InsightLayout.Switch.objects)
    }
  }

  /// Writes what the threads and the objects do to a descriptor, a line each; false if that fails, or if nothing can be shown yet.
  ///
  /// It takes no lock and allocates nothing, so a handler of signals may call it, whatever the thread was doing:
  ///
  /// ```swift
  /// signal(SIGUSR1) { _ in _ = GrandCentralRuntime.writeSnapshot(to: 2) }
  /// ```
  ///
  /// A fault of the library writes the same to standard error before it ends the process, 32 threads and 32 objects at most.
  /// `GRANDCENTRAL_DUMP` in the environment is `off`, or a path that begins with `/`, of a file that all of it is appended to.
  ///
  /// Complexity: O(threads + objects), a `write` each. Blocking: as long as the descriptor blocks.
  public static func writeSnapshot(to descriptor: Int32) -> Bool { InsightLayout.dump(to: descriptor) }

  /// Writes what `gcd trace --core` and `gcd why --core` read of the process to a file: its threads, its objects, and what the
  /// recorder has kept (`GRANDCENTRAL_RECORD=ring` in the environment keeps the last records at all times).
  ///
  /// The file is a core file without the program's own memory. It is written from its begin; what was in it before is gone. Handlers
  /// of signals may call this, whatever the thread was doing:
  ///
  /// ```swift
  /// signal(SIGUSR2) { _ in
  ///   let file = open("/tmp/service.core", O_RDWR | O_CREAT, 0o600)
  ///   _ = GrandCentralRuntime.writeCore(to: file)
  ///   close(file)
  /// }
  /// ```
  ///
  /// On a stack for signals it needs 8 KiB. False if nothing can be shown yet, if the descriptor is that of no plain file or was opened
  /// with `O_APPEND`, if another thread writes one at this moment, or if the file cannot have that much. A fault of the library writes one before it ends the process, if `GRANDCENTRAL_CORE` in the
  /// environment is a path that begins with `/`; `%p` in it is the process's number.
  ///
  /// Complexity: O(threads + objects + records). Blocking: as long as the file system takes.
  public static func writeCore(to descriptor: Int32) -> Bool { InsightLayout.writeCore(to: descriptor) }

  /// What threads and queues do now.
  ///
  /// ```swift
  /// for thread in GrandCentralRuntime.snapshot().threads {
  ///   if let wait = thread.wait { print("\(thread.id) waits for \(wait.label) since \(thread.duration)") }
  /// }
  /// ```
  ///
  /// No thread is stopped: threads are looked at one after the other. Empty where the kernel refuses the memory for it.
  ///
  /// Blocking: 20 ms at most, where another thread is just making the memory. Complexity: O(threads + objects).
  @_optimize(size)
  public static func snapshot() -> Snapshot {
    InsightRegion.makeAndAwait()
    var queues = [SnapshotQueue]()
    var sources = [SnapshotSource]()
    var timers = [SnapshotTimer]()
    var groups = [SnapshotGroup]()
    var channels = [SnapshotChannel]()
    for (number, entry) in InsightLook.objects() {
      switch InsightObjects.Kind(rawValue: entry.kind) {
      case .source: sources.append(SnapshotSource(number, entry))
      case .timer: timers.append(SnapshotTimer(number, entry))
      case .group: groups.append(SnapshotGroup(number, entry))
      case .channel: channels.append(SnapshotChannel(number, entry))
      default: if let queue = SnapshotQueue(number, entry) { queues.append(queue) }
      }
    }
    return Snapshot(
      parallelism: InsightRegion.memory == nil ? 0 : Engine.activeParallelism,
      threads: InsightLook.threads().map { SnapshotThread($0) },
      queues: queues, sources: sources, timers: timers, groups: groups, channels: channels)
  }
}

extension GrandCentralRuntime.SnapshotThread {
  @_optimize(size)
  init(_ entry: InsightLayout.ThreadEntry) {
    id = entry.tid
    role =
      switch InsightLayout.Role(rawValue: entry.role) {
      case .worker: .worker
      case .main, .mainLoop: .main
      case .monitor: .monitor
      case .program, nil: .program
      }
    state =
      switch entry.state {
      case InsightLayout.State.asleep: .asleep
      case InsightLayout.State.waits: .waits
      default: .active
      }
    let now = Cycles.now
    let steps = now > entry.since ? now - entry.since : 0
    duration = .microseconds(Int64(Double(steps) / Double(Cycles.perMillisecond) * 1_000))
    insideLabel = InsightText.read(entry.inside)
    wait = entry.state == InsightLayout.State.waits ? GrandCentralRuntime.SnapshotWait(entry) : nil
  }
}

extension GrandCentralRuntime.SnapshotWait {
  @_optimize(size)
  init(_ entry: InsightLayout.ThreadEntry) {
    kind =
      switch WaitNote.Kind(rawValue: entry.wait) {
      case .queue: .queue
      case .itemElsewhere: .itemElsewhere
      case .group: .group
      case .semaphore: .semaphore
      case .workItem: .workItem
      case .apply: .apply
      case .once: .once
      default: .other
      }
    label = InsightText.read(entry.waits_for)
    owner = entry.owner
    hasDeadline = entry.timed != 0
  }
}

extension GrandCentralRuntime.SnapshotQueue {
  /// Nil if the entry is no queue's.
  @_optimize(size)
  init?(_ number: Int, _ entry: InsightLayout.ObjectEntry) {
    switch InsightObjects.Kind(rawValue: entry.kind) {
    case .serial: kind = .serial
    case .concurrent: kind = .concurrent
    case .workloop: kind = .workloop
    case .main: kind = .main
    case .global: kind = .global
    default: return nil
    }
    self.number = number
    label = InsightText.read(entry.label)
    target = Int(entry.target)
    width = entry.width == .max ? nil : Int(entry.width)
    suspensions = Int(entry.suspensions)
    isInactive = entry.inactive != 0
  }
}
