// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if Tasks || !HAS_TRAITS
  // Queues as executors. A job of Swift Concurrency is one word, and lies in the node like any other item's words: putting it
  // into a queue allocates nothing.

  /// Every queue runs tasks that prefer it.
  ///
  /// ```swift
  /// Task(executorPreference: DispatchQueue.global(qos: .utility)) { await compress(file) }
  /// await withTaskExecutorPreference(queue) { await load() }
  /// ```
  ///
  /// On a serial queue such tasks, and the parts of them between two suspensions, run one at a time. A job is an item: it is
  /// run in order with other items, at the more urgent one of the task's and the queue's quality of service.
  extension DispatchQueue: TaskExecutor {
    /// Puts a job behind everything that was submitted before. Called by Swift Concurrency.
    ///
    /// Complexity: O(1); allocates nothing. Blocking: never.
    // Disfavoured: what calls it on a serial queue means the serial executor's function.
    @_disfavoredOverload
    public final func enqueue(_ job: consuming ExecutorJob) { enqueue(job, as: ConcurrencyJobs.plain) }

    @inline(__always)
    fileprivate final func enqueue(_ job: consuming ExecutorJob, as invoke: Job.Invoke) {
      let qos = jobQoS(job.priority)
      let node = Job(
        invoke: invoke, qos: qos.rawValue, band: qos.rawValue == QoSWord.ofDefaultClass ? .normal : qos.band,
        owner: Borrowed(self).word)
      node.extra = ConcurrencyJobs.word(of: UnownedJob(job))
      enqueue(node)
    }

    /// Priorities have the numbers of the classes of quality of service.
    @inline(__always)
    fileprivate final func jobQoS(_ priority: JobPriority) -> QoSWord {
      let base = base
      let wanted = QoSWord(rawValue: UInt16(priority.rawValue) << 8)
      if base.isUnspecified || base == wanted { return wanted }
      // The default global queue runs work of any quality of service as what it is, as it does with closures.
      return self === GlobalQueues.default && !wanted.isUnspecified ? wanted : base.merged(with: wanted)
    }
  }

  extension QoSWord {
    fileprivate static let ofDefaultClass: UInt16 = 0x1500
  }

  /// What runs jobs: `extra` is the job, `owner` the queue, which is alive while it runs an item.
  private enum ConcurrencyJobs {
    @inline(__always)
    static func word(of job: UnownedJob) -> UnsafeMutableRawPointer {
      // unsafe: a job is the address of its runtime object.
      unsafeBitCast(job, to: UnsafeMutableRawPointer.self)
    }

    @inline(__always)
    private static func take<Executor: AnyObject>(_ raw: UnsafeMutableRawPointer) -> (UnownedJob, Borrowed<Executor>) {
      let node = Job(raw: raw)
      if Recorder.isOn { World.goBeyondOrders(.tasks) }
      // unsafe: see `word`.
      let job = unsafeBitCast(node.extra!, to: UnownedJob.self)
      let executor = Borrowed<Executor>(word: node.owner!)
      node.recycle()
      return (job, executor)
    }

    /// A job of a task that prefers the queue. The task is in no actor, or in an ordinary one.
    static let plain: Job.Invoke = { raw in
      let (job, queue): (UnownedJob, Borrowed<DispatchQueue>) = take(raw)
      job.runSynchronously(on: queue.use { UnownedTaskExecutor(ordinary: $0) })
    }

    /// A job of a barrier executor, which is the `owner`. The job has a reference to it.
    static let barrier: Job.Invoke = { raw in
      let (job, executor): (UnownedJob, Borrowed<BarrierExecutor>) = take(raw)
      job.runSynchronously(on: executor.use { UnownedTaskExecutor(ordinary: $0) })
      executor.reference.release()
    }

    /// A job of an actor that is isolated to the queue. No task executor is named: then a task that prefers none goes from one actor
    /// of the queue to another without a hop.
    static let isolated: Job.Invoke = { raw in
      let (job, queue): (UnownedJob, Borrowed<DispatchSerialQueue>) = take(raw)
      job.runSynchronously(on: queue.use { UnownedSerialExecutor(ordinary: $0) })
    }
  }

  /// A concurrent queue, as an executor whose jobs are barriers.
  final class BarrierExecutor: TaskExecutor {
    private let queue: DispatchQueue

    init(queue: DispatchQueue) { self.queue = queue }

    /// The job keeps the executor alive until it has run. The task alone does not: it lets go of the executor while the job still runs,
    /// and an executor that were then made at the same address would pass for this one.
    func enqueue(_ job: consuming ExecutorJob) {
      let qos = queue.jobQoS(job.priority)
      let node = Job(
        invoke: ConcurrencyJobs.barrier, flags: .barrier, qos: qos.rawValue, band: qos.band,
        owner: Owned(self).intoWord())
      node.extra = ConcurrencyJobs.word(of: UnownedJob(job))
      queue.enqueueSlow(node)
    }
  }

  /// A serial queue isolates actors: their jobs are items of the queue.
  ///
  /// ```swift
  /// actor Store {
  ///   private let queue = DispatchSerialQueue(label: "store")
  ///   nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }
  /// }
  /// ```
  ///
  /// In an item of the queue, or of a queue that targets it, `assumeIsolated` and `dispatchPrecondition` agree.
  extension DispatchSerialQueue: SerialExecutor {
    /// Puts an actor's job behind everything that was submitted before. Called by Swift Concurrency.
    ///
    /// The runtime has to be told what a job runs on: an actor's on the queue as a serial executor, that of a task which prefers the
    /// queue on the queue as a task executor. A job does not say which it is, so the two protocols have a function each. If a task's
    /// job were said to be an actor's, the runtime would put it into the queue a second time, behind what has come since. A program
    /// that calls `enqueue` on the queue calls this one, as with Dispatch: an executor of its own may wrap the queue.
    ///
    /// Complexity: O(1); allocates nothing. Blocking: never.
    @_implements(SerialExecutor,enqueue(_:))
    public final func _enqueueOfActor(_ job: consuming ExecutorJob) { enqueue(job, as: ConcurrencyJobs.isolated) }

    /// What an actor's `unownedExecutor` returns so that the actor runs on this queue.
    ///
    /// Complexity: O(1). Blocking: never.
    public final func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// Traps (GC0011) unless the calling thread is inside an item of this queue, or of one that targets it.
    ///
    /// Complexity: O(depth of nested items and targets). Blocking: never.
    public final func checkIsolated() { dispatchPrecondition(condition: .onQueue(self)) }

    /// Whether the calling thread is inside an item of this queue, or of one that targets it.
    ///
    /// Complexity: O(depth of nested items and targets). Blocking: never.
    public final func isIsolatingCurrentContext() -> Bool? { isCurrent }
  }
#endif
