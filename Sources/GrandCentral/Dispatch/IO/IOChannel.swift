// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// What is behind a `DispatchIO`: its operations, barriers, limits, and its end. Operations keep it alive; the `DispatchIO`
/// closes it when it goes.
///
///     submitted ─► [ gate, while a barrier waits or runs ] ─► started: joins the file's turns ─► ended
///
/// B1  Operations start in the order in which they were submitted, under the lock.
/// B2  A barrier waits in the gate until all that was started has ended, its handlers included; what comes after waits
///     behind it.
/// B3  A channel has ended when it is closed, or its file could not be opened, and nothing is left. Then it leaves the
///     file, once, with its cleanup handler.
///
/// Lock order: the channel's lock, then the file's. No program's code runs under either.
final class IOChannel: @unchecked Sendable {  // immutable, atomic, or guarded by `lock`
  private enum Entry {
    case operation(IOOperation)
    case barrier(@Sendable () -> Void)
  }

  /// What is to be done without the lock.
  private enum Debt {
    case nothing
    case barrier(@Sendable () -> Void)
    case leave(IOFile)
  }

  /// I
  let isRandom: Bool
  /// I: nil if the channel could not be made; then `error` says why.
  private let file: IOFile?
  private let error: Int32
  /// I: where random offsets count from.
  private let base: Int64
  private let cleanup: IOCleanup
  /// A
  private let suspensions = Atomic<Int>(0)

  private let lock = Lock()
  /// M(lock)
  @exclusivity(unchecked) private var limits = IOLimits()
  @exclusivity(unchecked) private var target: DispatchQueue?
  @exclusivity(unchecked) private var isClosed = false
  @exclusivity(unchecked) private var hasEnded = false
  @exclusivity(unchecked) private var newest: IOOperation?
  @exclusivity(unchecked) private var listed = 0
  @exclusivity(unchecked) private var started = 0
  @exclusivity(unchecked) private var gate: [Entry] = []
  @exclusivity(unchecked) private var isInBarrier = false

  init(isRandom: Bool, file: Result<IOFile, Errno>, base: Int64, cleanup: IOCleanup) {
    self.isRandom = isRandom
    self.base = base
    self.cleanup = cleanup
    switch file {
    case .success(let file):
      self.file = file
      error = 0
    case .failure(let failure):
      self.file = nil
      error = failure.code
      hasEnded = true
      cleanup.submit(failure.code)
    }
  }

  /// For an open descriptor.
  static func make(isRandom: Bool, descriptor: Int32, cleanup: IOCleanup) -> IOChannel {
    var position: Int64 = 0
    var file: Result<IOFile, Errno>
    switch isRandom ? DescriptorKind.of(descriptor) : .failure(.badDescriptor) {
    case .success(let kind) where kind.position == nil: file = .failure(.illegalSeek)
    case .success(let kind):
      position = kind.position ?? 0
      file = IOScheduler.shared.files.enter(descriptor)
    case .failure(let error):
      file = isRandom ? .failure(error) : IOScheduler.shared.files.enter(descriptor)
    }
    return IOChannel(isRandom: isRandom, file: file, base: position, cleanup: cleanup)
  }

  /// For the file of another channel.
  func share(isRandom: Bool, cleanup: IOCleanup) -> IOChannel {
    lock.lock()
    var shared: Result<IOFile, Errno> = .failure(error == 0 ? .canceled : Errno(code: error))
    if let file, !hasEnded, !isClosed {
      IOScheduler.shared.files.enter(file)
      shared = .success(file)
    }
    lock.unlock()
    guard case .success(let file) = shared, isRandom, file.path == nil else {
      return IOChannel(isRandom: isRandom, file: shared, base: 0, cleanup: cleanup)
    }
    if case .success(let kind) = DescriptorKind.of(file.rawDescriptor), let position = kind.position {
      return IOChannel(isRandom: true, file: shared, base: position, cleanup: cleanup)
    }
    IOScheduler.shared.files.leave(file)
    return IOChannel(isRandom: true, file: .failure(.illegalSeek), base: 0, cleanup: cleanup)
  }

  // MARK: Properties

  var descriptor: Int32 {
    lock.withLock { isClosed || hasEnded ? -1 : file?.rawDescriptor ?? -1 }
  }

  /// Changes what operations that are submitted from now on begin with.
  func setLimits(_ change: (inout IOLimits) -> Void) { lock.withLock { change(&limits) } }

  func setTarget(_ queue: DispatchQueue?) {
    lock.lock()
    let former = target
    target = queue
    lock.unlock()
    withExtendedLifetime(former) {}
  }

  // MARK: Operations

  func submit(
    _ direction: IOFile.Direction, at offset: Int64, length: Int, data: DispatchData?, queue: DispatchQueue,
    handler: @escaping IOOperation.Handler
  ) {
    let limits = lock.withLock { self.limits }
    let (sum, overflow) = base.addingReportingOverflow(offset)
    let operation = IOOperation(
      direction, offset: isRandom ? (overflow ? .max : max(0, sum)) : nil, length: length, limits: limits, file: file,
      channel: self, queue: queue, handler: handler)
    if let data { operation.rest = data }
    if offset < 0, isRandom { operation.outcome = Errno.invalidArgument.code }
    lock.lock()
    if isClosed || hasEnded {
      lock.unlock()
      return refuse(operation)
    }
    list(operation)
    if gate.isEmpty, !isInBarrier { start(operation) } else { gate.append(.operation(operation)) }
    lock.unlock()
  }

  /// The channel takes no more: the handler hears of it.
  private func refuse(_ operation: IOOperation) {
    operation.file = nil
    operation.channel = nil
    let openError = file?.openError ?? 0
    operation.outcome = error != 0 ? error : openError != 0 ? openError : Errno.canceled.code
    operation.kick()
  }

  /// M(lock)
  private func start(_ operation: IOOperation) {
    operation.hasStarted = true
    started += 1
    file?.join(operation)
  }

  /// The operation's last handler has returned.
  func didEnd(_ operation: IOOperation) {
    lock.lock()
    unlist(operation)
    if operation.hasStarted { started -= 1 }
    let debt = settle()
    lock.unlock()
    pay(debt)
  }

  // MARK: With the lock held

  private func list(_ operation: IOOperation) {
    operation.isListed = true
    listed += 1
    operation.older = newest
    newest?.newer = .passUnretained(operation)
    newest = operation
  }

  private func unlist(_ operation: IOOperation) {
    operation.isListed = false
    listed -= 1
    let (older, newer) = (operation.older, operation.newer?.takeUnretainedValue())
    if let newer { newer.older = older } else { newest = older }
    older?.newer = operation.newer
    operation.older = nil
    operation.newer = nil
  }

  /// Opens the gate as far as it goes, and notices the end.
  private func settle() -> Debt {
    if hasEnded || isInBarrier || isSuspended { return .nothing }
    var passed = 0
    defer { gate.removeFirst(passed) }
    while passed < gate.count {
      switch gate[passed] {
      case .operation(let operation):
        // One that was cancelled before its time has ended already.
        if operation.isListed { start(operation) }
      case .barrier(let body):
        if started > 0 { return .nothing }
        passed += 1
        isInBarrier = true
        return .barrier(body)
      }
      passed += 1
    }
    guard let file, listed == 0, isClosed || file.openError != 0 else { return .nothing }
    hasEnded = true
    return .leave(file)
  }

  // MARK: Barriers and the end

  private func pay(_ debt: Debt) {
    switch debt {
    case .nothing: return
    case .leave(let file): IOScheduler.shared.files.leave(file, cleanup: cleanup)
    case .barrier(let body):
      let queue = lock.withLock { target } ?? GlobalQueues.default
      queue.async {
        body()
        self.lock.lock()
        self.isInBarrier = false
        let debt = self.settle()
        self.lock.unlock()
        self.pay(debt)
      }
    }
  }

  func barrier(_ body: @escaping @Sendable () -> Void) {
    lock.lock()
    if hasEnded {
      let queue = target ?? GlobalQueues.default
      lock.unlock()
      return queue.async(execute: body)
    }
    gate.append(.barrier(body))
    let debt = settle()
    lock.unlock()
    pay(debt)
  }

  func close(stop: Bool) {
    lock.lock()
    isClosed = true
    if stop {
      var next = newest
      while let operation = next {
        next = operation.older
        operation.kick(IOState.cancelled)
      }
    }
    let debt = settle()
    lock.unlock()
    pay(debt)
  }

  // MARK: Suspension

  var isSuspended: Bool {
    // pairs with: resume – publishes nothing; who reads the old count is kicked afterwards
    suspensions.load(ordering: .acquiring) > 0
  }

  func suspend() {
    // relaxed: what is on its way already still comes.
    suspensions.wrappingAdd(1, ordering: .relaxed)
  }

  /// False if there was nothing to take back.
  func resume() -> Bool {
    // pairs with: isSuspended – publishes the end of the suspension
    let before = suspensions.wrappingSubtract(1, ordering: .releasing).oldValue
    if before != 1 { return before > 1 }
    lock.lock()
    var next = newest
    while let operation = next {
      next = operation.older
      operation.kick()
    }
    let debt = settle()
    lock.unlock()
    pay(debt)
    return true
  }
}
