// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// What is behind a `DispatchIO`: its operations, barriers, limits, and its end. Operations keep it alive; the `DispatchIO`
/// closes it when it goes.
///
///     submitted ─► [ gate, while a barrier waits or runs ] ─► started: joins the file's turns ─► ended
///
/// IOChannel.B1  Operations start in the order in which they were submitted, under the lock.
/// IOChannel.B2  A barrier waits in the gate until all that was started has ended, its handlers included; what comes
///     after waits behind it. So does what the file's other channels have started, and get afterwards: see IOBarriers.
/// IOChannel.B3  A channel has ended when it is closed and nothing is left. Then it leaves the file, once, with its
///     cleanup handler, which it does not keep.
/// IOChannel.B4  A channel of a path starts nothing until the path has been examined. One that cannot be made has left
///     at once, with its cleanup handler; its operations and barriers take the same way as others, and end with the
///     error.
/// IOChannel.B5  A stopped operation ends as soon as its handler can be called, whatever else uses the file; one behind a barrier
///     ends when the gate comes to it. Those of a stream's reads, or of its writes, whose handlers one serial queue runs wait for
///     each other: until the earlier one's last handler has returned. So they end in their order. None waits that has its turn.
///
/// Lock order: the channel's lock, then the file's. No program's code runs under either.
final class IOChannel: @unchecked Sendable {  // immutable, atomic, or guarded by `lock`
  /// What is to be done without the lock.
  private enum Debt {
    case nothing
    case barrier(IOBarrier)
    case leave(IOFile, IOCleanup)
  }

  let isRandom: Bool
  /// Nil if the channel could not be made; then `error` says why.
  let file: IOFile?
  /// The descriptor that the channel was to be made for.
  let raw: Int32
  /// Why the channel could not be made, or its file not be opened; 0 while it can be used. Set once.
  private let error = Atomic<Int32>(0)
  /// Where random offsets count from.
  private let base: Int64
  let suspensions = Atomic<Int>(0)
  /// The thread that runs a barrier which may use the descriptor, or 0.
  private let barrierThread = Atomic<UInt32>(0)
  /// The channel's number in the insight region.
  let insight = InsightNumber()

  let lock = Lock()
  /// Guarded by `lock`: nil once it is on its way, so that what it holds can go before the channel.
  @exclusivity(unchecked) private var cleanup: IOCleanup?
  /// Guarded by `lock`.
  @exclusivity(unchecked) private var limits = IOLimits()
  @exclusivity(unchecked) private var target: DispatchQueue?
  @exclusivity(unchecked) private var isExamined = true
  @exclusivity(unchecked) private var isClosed = false
  @exclusivity(unchecked) private var isStopped = false
  @exclusivity(unchecked) private var hasLeft = false
  @exclusivity(unchecked) private(set) var newest: IOOperation?
  @exclusivity(unchecked) private(set) var listed = 0
  @exclusivity(unchecked) var orders: IOOrders?
  /// Guarded by the file's lock (IOBarriers.F4).
  @exclusivity(unchecked) var heldUp = IOBarriers.notHeldUp
  @exclusivity(unchecked) private var started = 0
  @exclusivity(unchecked) private(set) var gate = IOGate()
  @exclusivity(unchecked) private var isInBarrier = false

  @inline(never)
  private init(isRandom: Bool, file: Result<IOFile, Errno>, raw: Int32 = -1, base: Int64 = 0, cleanup: IOCleanup) {
    self.isRandom = isRandom
    self.raw = raw
    self.base = base
    switch file {
    case .success(let file):
      self.file = file
      self.cleanup = cleanup
    case .failure(let failure):
      self.file = nil
      self.cleanup = nil
      hasLeft = true
      fail(failure.code)
      cleanup.submit(failure.code)
    }
    if Recorder.numbersObjects { enterInsight() }
  }

  deinit { if insight.isGiven { insight.end() } }

  /// For an open descriptor.
  @_optimize(size)
  static func make(isRandom: Bool, descriptor: Int32, cleanup: IOCleanup) -> IOChannel {
    var base: Int64 = 0
    var file = IOScheduler.shared.files.enter(descriptor)
    if case .success(let entered) = file {
      var refusal: Errno? = entered.isFolder ? .isDirectory : nil
      if isRandom, refusal == nil {
        switch position(of: entered) {
        case .success(let position): base = position
        case .failure(let error): refusal = error
        }
      }
      if let refusal {
        IOScheduler.shared.files.leave(entered)
        file = .failure(refusal)
      }
    }
    return IOChannel(isRandom: isRandom, file: file, raw: descriptor, base: base, cleanup: cleanup)
  }

  /// For a path.
  @_optimize(size)
  static func make(isRandom: Bool, file: IOFile, cleanup: IOCleanup) -> IOChannel {
    let channel = IOChannel(isRandom: isRandom, file: .success(file), cleanup: cleanup)
    channel.isExamined = false
    file.examine(for: channel)
    return channel
  }

  /// For the file of another channel.
  @_optimize(size)
  func share(isRandom: Bool, cleanup: IOCleanup) -> IOChannel {
    lock.lock()
    let refusal = isClosed ? Errno.canceled.code : failure
    var shared: Result<IOFile, Errno> = .failure(Errno(code: refusal))
    if refusal == 0, let file {
      IOScheduler.shared.files.enter(file)
      shared = .success(file)
    }
    lock.unlock()
    guard case .success(let file) = shared else {
      return IOChannel(isRandom: isRandom, file: shared, cleanup: cleanup)
    }
    if file.path != nil { return Self.make(isRandom: isRandom, file: file, cleanup: cleanup) }
    var base: Int64 = 0
    if isRandom {
      switch Self.position(of: file) {
      case .success(let position): base = position
      case .failure(let error):
        IOScheduler.shared.files.leave(file)
        shared = .failure(error)
      }
    }
    return IOChannel(isRandom: isRandom, file: shared, raw: file.rawDescriptor, base: base, cleanup: cleanup)
  }

  @_optimize(size)
  private static func position(of file: IOFile) -> Result<Int64, Errno> {
    DescriptorKind.of(file.rawDescriptor).flatMap { $0.position }
  }

  /// The path has been looked at: whether the channel can be made.
  @_optimize(size)
  func didExamine(_ refusal: Int32) {
    lock.lock()
    isExamined = true
    var given: IOCleanup?
    if refusal != 0 {
      fail(refusal)
      hasLeft = true
      given = cleanup
      cleanup = nil
    }
    let debt = settle()
    lock.unlock()
    if let given, let file {
      IOScheduler.shared.files.leave(file)
      given.submit(refusal)
    }
    pay(debt)
  }

  // MARK: Errors

  /// Why operations cannot be carried out; 0 while they can.
  var failure: Int32 {
    // relaxed: a number by itself.
    error.load(ordering: .relaxed)
  }

  /// The error of an operation that is cancelled.
  var reasonToCancel: Int32 { failure != 0 ? failure : Errno.canceled.code }

  /// From now on operations end with this; the first reason stays.
  @_optimize(size)
  func fail(_ code: Int32) {
    // relaxed: a number by itself.
    _ = error.compareExchange(expected: 0, desired: code, ordering: .relaxed)
  }

  // MARK: Properties

  /// The descriptor; -1 once the channel is closed. A barrier that was submitted before has it until the channel is
  /// stopped, and a path is opened for it.
  var descriptor: Int32 {
    // relaxed: only what this thread has stored itself counts.
    let isInBarrier = barrierThread.load(ordering: .relaxed) == Thread.id
    if lock.withLock({ isStopped || isClosed && !isInBarrier }) { return -1 }
    guard let file else { return raw }
    let known = file.rawDescriptor
    return known < 0 && isInBarrier && failure == 0 ? file.openForBarrier(of: self) : known
  }

  /// Changes what operations that are submitted from now on begin with.
  func setLimits(_ change: (inout IOLimits) -> Void) { lock.withLock { change(&limits) } }

  @_optimize(size)
  func setTarget(_ queue: DispatchQueue?) {
    lock.lock()
    let former = target
    target = queue
    lock.unlock()
    if insight.isGiven { InsightObjects.retarget(insight.known, queue?.insightNumber ?? 0) }
    withExtendedLifetime(former) {}
  }

  // MARK: Operations

  @_optimize(size)
  func submit(
    _ direction: IOFile.Direction, at offset: Int64, length: Int, data: DispatchData?, queue: DispatchQueue,
    handler: @escaping IOOperation.Handler
  ) {
    let limits = lock.withLock { self.limits }
    let (sum, overflow) = base.addingReportingOverflow(offset)
    let operation = IOOperation(
      direction, offset: isRandom ? (overflow ? .max : max(0, sum)) : nil, length: length, limits: limits, file: file,
      channel: self, queue: queue, handler: handler)
    if let data { operation.begin(with: data) }
    if isRandom, sum < 0, !overflow { operation.outcome = Errno.invalidArgument.code }
    lock.lock()
    if isClosed {
      lock.unlock()
      return refuse(operation)
    }
    list(operation)
    if !gate.isEmpty || isInBarrier || !isExamined || !start(operation) {
      file?.gate(operation)
      gate.append(.operation(operation))
    }
    lock.unlock()
  }

  /// The channel takes no more operations: the handler is called with the reason.
  @_optimize(size)
  private func refuse(_ operation: IOOperation) {
    operation.file = nil
    operation.channel = nil
    operation.outcome = Errno.canceled.code
    operation.kickHere()
  }

  /// Guarded by `lock`: false if a barrier of another channel holds it up.
  @_optimize(size)
  private func start(_ operation: IOOperation) -> Bool {
    let isCarriedOut = file != nil && failure == 0 && !isStopped
    if let file, !file.start(operation, of: self, isCarriedOut: isCarriedOut) { return false }
    operation.hasStarted = true
    started += 1
    if !isCarriedOut {
      operation.hearOfStop()
      end(operation)
    }
    return true
  }

  /// The operation's last handler has returned.
  @_optimize(size)
  func didEnd(_ operation: IOOperation) {
    lock.lock()
    unlist(operation)
    var others: [IOChannel] = []
    if operation.hasStarted {
      started -= 1
      others = file?.operationHasEnded() ?? []
    }
    let debt = settle()
    lock.unlock()
    pay(debt)
    for other in others { other.lookAgain() }
  }

  /// Something has changed that may have held up what the gate has.
  @_optimize(size)
  func lookAgain() {
    lock.lock()
    let debt = settle()
    lock.unlock()
    pay(debt)
  }

  // MARK: With the lock held

  @_optimize(size)
  private func list(_ operation: IOOperation) {
    listed += 1
    operation.older = newest
    newest?.newer = Borrowed(operation)
    newest = operation
    if insight.isGiven || Recorder.numbersObjects { noteBegin(operation) }
  }

  @_optimize(size)
  private func unlist(_ operation: IOOperation) {
    if operation.isChained { letEnd(behind: operation) }
    listed -= 1
    let (older, newer) = (operation.older, operation.newer?.object)
    if let newer { newer.older = older } else { newest = older }
    older?.newer = operation.newer
    operation.older = nil
    operation.newer = nil
    if insight.isGiven { noteEnd(operation) }
  }

  /// Opens the gate as far as it goes, and notices the end.
  @_optimize(size)
  private func settle() -> Debt {
    if !isExamined || isInBarrier || isSuspended { return .nothing }
    while let first = gate.first {
      switch first {
      case .operation(let operation):
        if !start(operation) { return .nothing }
        gate.removeFirst()
      case .barrier(let barrier):
        if started > 0 || file?.begin(barrier.number, of: self) == false { return .nothing }
        gate.removeFirst()
        isInBarrier = true
        if insight.isGiven { noteOperations() }
        return .barrier(barrier)
      }
    }
    guard !hasLeft, isClosed, listed == 0, let file, let cleanup else { return .nothing }
    hasLeft = true
    self.cleanup = nil
    return .leave(file, cleanup)
  }

  // MARK: Barriers and the end

  @_optimize(size)
  private func pay(_ debt: Debt) {
    switch debt {
    case .nothing: return
    case .leave(let file, let cleanup): IOScheduler.shared.files.leave(file, cleanup: cleanup)
    case .barrier(let barrier):
      let queue = lock.withLock { target } ?? GlobalQueues.default
      queue.submitSlow {
        // relaxed: see `descriptor`.
        if barrier.hasDescriptor { self.barrierThread.store(Thread.id, ordering: .relaxed) }
        barrier.body()
        self.barrierThread.store(0, ordering: .relaxed)
        let others = self.lock.withLock {
          self.isInBarrier = false
          return self.file?.barrierHasEnded() ?? []
        }
        self.lookAgain()
        for other in others { other.lookAgain() }
      }
    }
  }

  @_optimize(size)
  func barrier(_ body: @escaping @Sendable () -> Void) {
    lock.lock()
    gate.append(.barrier(IOBarrier(body: body, number: file?.submitBarrier() ?? 0, hasDescriptor: !isClosed)))
    let debt = settle()
    if !gate.isEmpty { noteBarrier() }
    lock.unlock()
    pay(debt)
  }

  /// The `DispatchIO` goes: its finalizer runs when the cleanup handler has returned, if that is still to come.
  @_optimize(size)
  func finalize(_ context: ObjectContext) {
    lock.lock()
    let last = cleanup
    let target = target ?? GlobalQueues.default
    if let last {
      // unsafe: the pointer is passed through.
      nonisolated(unsafe) let context = context
      cleanup = IOCleanup(queue: last.queue) { error in
        last.handler(error)
        context.finalize(on: target)
      }
    }
    lock.unlock()
    if last == nil { context.finalize(on: target) }
  }

  @_optimize(size)
  func close(stop: Bool) {
    lock.lock()
    isClosed = true
    if insight.isGiven { noteClosed() }
    if stop {
      isStopped = true
      stopAll()
    }
    let debt = settle()
    lock.unlock()
    pay(debt)
  }
}
