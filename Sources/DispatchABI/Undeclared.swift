// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue
import Synchronization

// What the library exports and no header declares: programs that were linked to these names keep working.

// MARK: Queues

@c(dispatch_async_enforce_qos_class_f)
public func asyncEnforcingQoS(_ queue: OpaquePointer?, _ context: Raw?, _ work: dispatch_function_t?) {
  dispatch_async_f(queue, context, work)
}

@c(dispatch_queue_create_with_accounting_override_voucher)
public func queueCreateWithVoucher(
  _ label: UnsafePointer<CChar>?, _ attributes: OpaquePointer?, _ voucher: Raw?
) -> OpaquePointer? { dispatch_queue_create(label, attributes) }

/// As `dispatch_set_qos_class_floor`: the class that an object was created with can be raised, but not lowered.
@c(dispatch_set_qos_class)
public func setQoSClass(_ object: Raw?, _ qosClass: UInt32, _ relativePriority: Int32) {
  dispatch_set_qos_class_floor(object, qosClass, relativePriority)
}

/// Accepted: items that are given no class get the default anyway.
@c(dispatch_set_qos_class_fallback)
public func setQoSClassFallback(_ object: Raw?, _ qosClass: UInt32) {}

@c(dispatch_workloop_copy_current)
public func workloopCopyCurrent() -> OpaquePointer? {
  let current = DispatchQueue.current
  return current.kind.sortsItems ? Handle.made(current) : nil
}

@c(dispatch_workloop_is_current)
public func workloopIsCurrent(_ workloop: OpaquePointer?) -> Bool {
  Handle.queue(workloop, "dispatch_workloop_is_current")._withUnsafeGuaranteedRef { $0.isCurrent }
}

/// Accepted without effect: the system decides about shares of processors.
@c(dispatch_workloop_set_cpupercent)
public func workloopSetCPUPercent(_ workloop: OpaquePointer?, _ percent: UInt8, _ refill: UInt32) {}

@c(dispatch_workloop_set_qos_class)
public func workloopSetQoSClass(_ workloop: OpaquePointer?, _ qosClass: UInt32, _ flags: UInt) {
  dispatch_set_qos_class_floor(workloop.map { UnsafeMutableRawPointer($0) }, qosClass, 0)
}

@c(dispatch_workloop_set_qos_class_floor)
public func workloopSetQoSClassFloor(_ workloop: OpaquePointer?, _ qosClass: UInt32, _ priority: Int32, _ flags: UInt) {
  dispatch_set_qos_class_floor(workloop.map { UnsafeMutableRawPointer($0) }, qosClass, priority)
}

@c(_dispatch_workloop_should_yield_4NW)
public func workloopShouldYield() -> Bool { false }

// MARK: Work items

/// Vouchers and priorities of the system are not known here.
@c(_dispatch_block_create)
public func blockCreate(_ flags: UInt, _ voucher: Raw?, _ priority: UInt, _ block: Raw?) -> Raw? {
  dispatch_block_create(dispatch_block_flags_t(flags & WorkItemFlags.known), block)
}

@c(dispatch_block_create_with_voucher)
public func blockCreateWithVoucher(_ flags: UInt, _ voucher: Raw?, _ block: Raw?) -> Raw? {
  dispatch_block_create(flags, block)
}

@c(dispatch_block_create_with_voucher_and_qos_class)
public func blockCreateWithVoucher(
  _ flags: UInt, _ voucher: Raw?, _ qosClass: UInt32, _ relativePriority: Int32, _ block: Raw?
) -> Raw? { dispatch_block_create_with_qos_class(flags, qosClass, relativePriority, block) }

// MARK: Sources

@c(dispatch_source_set_mandatory_cancel_handler)
public func sourceSetMandatoryCancelHandler(_ source: OpaquePointer?, _ block: Raw?) {
  dispatch_source_set_cancel_handler(source, Handle.need(block, "dispatch_source_set_mandatory_cancel_handler"))
}

@c(dispatch_source_set_mandatory_cancel_handler_f)
public func sourceSetMandatoryCancelHandler(_ source: OpaquePointer?, _ function: dispatch_function_t?) {
  dispatch_source_set_cancel_handler_f(source, Handle.need(function, "dispatch_source_set_mandatory_cancel_handler_f"))
}

/// What an event handler may read in one call: the event's data, and a status, which no kind of source has on Linux.
///
/// - Returns: the size of all there is; a smaller buffer is given what fits.
@c(dispatch_source_get_extended_data)
public func sourceGetExtendedData(_ source: OpaquePointer?, _ buffer: Raw?, _ size: Int) -> Int {
  let word = MemoryLayout<UInt>.size
  let buffer = Handle.need(buffer, "dispatch_source_get_extended_data")
  if size >= word { buffer.storeBytes(of: dispatch_source_get_data(source), as: UInt.self) }
  if size >= 2 * word { buffer.storeBytes(of: 0, toByteOffset: word, as: UInt.self) }
  return 2 * word
}

/// Cancels the source, and returns when none of its handlers runs any more, nor will. It must have no cancel handler. The caller must not
/// be inside an item of its target. If that is a global queue, only a handler of the source itself counts: there the call never returns.
///
/// Blocking: until the handler that runs has returned.
@c(dispatch_source_cancel_and_wait)
public func sourceCancelAndWait(_ source: OpaquePointer?) {
  let source: Unmanaged<DispatchSource> = Handle.take(source, "dispatch_source_cancel_and_wait")
  source._withUnsafeGuaranteedRef { $0.cancelAndWait() }
}

/// The threads that wait for a source's end. The first one has its cancel handler set, which holds this; others wait with it.
///
/// The handler goes when the source has ended, be it that the source keeps it until then, or that it has ended before and drops it.
private final class SourceEnd: @unchecked Sendable {  // the list and what is in it are guarded by `lock`
  private static let lock = ProcessLock()
  nonisolated(unsafe) private static var all: [SourceEnd] = []
  /// The process of the list: of a forked process's parent nobody waits here.
  nonisolated(unsafe) private static var generation: UInt32 = 0

  private let source: ObjectIdentifier
  private var waiting: [DispatchSemaphore]

  private init(_ source: DispatchSource, _ waiting: DispatchSemaphore) {
    self.source = ObjectIdentifier(source)
    self.waiting = [waiting]
  }

  /// - Returns: the handler to set, if nobody waits for the source yet.
  static func join(_ source: DispatchSource, _ semaphore: DispatchSemaphore) -> Handler? {
    lock.withLock {
      if generation != Thread.forkGeneration { (generation, all) = (Thread.forkGeneration, []) }
      if let end = all.first(where: { $0.source == ObjectIdentifier(source) }) {
        end.waiting.append(semaphore)
        return nil
      }
      let end = SourceEnd(source, semaphore)
      all.append(end)
      return Handler(end)
    }
  }

  /// What the cancel handler holds.
  final class Handler: Sendable {
    private let end: SourceEnd

    init(_ end: SourceEnd) { self.end = end }

    deinit { for semaphore in end.leave() { semaphore.signal() } }
  }

  private func leave() -> [DispatchSemaphore] {
    Self.lock.withLock {
      Self.all.removeAll { $0 === self }
      return waiting
    }
  }
}

extension DispatchSource {
  fileprivate func cancelAndWait() {
    let target = lock.withLock { self.target }
    if !target.kind.isRunQueue, target.isCurrent {
      Fault.misuse(
        .cancelAndWait,
        "dispatch_source_cancel_and_wait on a " + kindName + " would deadlock: the caller runs on its target \""
          + target.name + "\". Call dispatch_source_cancel.")
    }
    let ended = DispatchSemaphore(value: 0)
    if let handler = SourceEnd.join(self, ended) { cancel(with: handler) }
    ended.wait()
    Sanitizer.comesAfter(self)
  }

  private func cancel(with handler: SourceEnd.Handler) {
    if lock.withLock({ handlers.cancel }) != nil {
      Fault.misuse(
        .cancelAndWait,
        "dispatch_source_cancel_and_wait was called on a " + kindName + " with a cancel handler. Set none, or call "
          + "dispatch_source_cancel.")
    }
    setCancelHandler { withExtendedLifetime(handler) {} }
    cancel()
    activate()
  }
}

// MARK: Data

@c(dispatch_data_create_alloc)
public func dataCreateAlloc(_ size: Int, _ buffer: UnsafeMutablePointer<Raw?>?) -> OpaquePointer? {
  guard size > 0 else {
    buffer?.pointee = nil
    return OpaquePointer(gcd_empty_data())
  }
  let bytes = gcd_allocate(size)
  buffer?.pointee = bytes
  return DataHandle.make(
    DispatchData(bytesNoCopy: UnsafeRawBufferPointer(start: bytes, count: size), deallocator: .free))
}

extension DispatchData.Format {
  /// The format that a static object stands for.
  fileprivate init?(_ type: Raw?) {
    switch Int(gcd_first_word(Handle.need(type, "dispatch_data_create_with_transform"))) {
    case GCD_FORMAT_NONE: self = .none
    case GCD_FORMAT_BASE32: self = .base32
    case GCD_FORMAT_BASE32HEX: self = .base32Hex
    case GCD_FORMAT_BASE64: self = .base64
    case GCD_FORMAT_UTF8: self = .utf8
    case GCD_FORMAT_UTF16LE: self = .utf16LittleEndian
    case GCD_FORMAT_UTF16BE: self = .utf16BigEndian
    case GCD_FORMAT_UTF_ANY: self = .utfAny
    default: return nil
    }
  }
}

@c(dispatch_data_create_with_transform)
public func dataCreateWithTransform(_ data: OpaquePointer?, _ input: Raw?, _ output: Raw?) -> OpaquePointer? {
  let data = DataHandle.data(data, "dispatch_data_create_with_transform")
  guard let input = DispatchData.Format(input), let output = DispatchData.Format(output) else { return nil }
  return data.transformed(from: input, to: output).map { DataHandle.make($0) }
}

// MARK: The process

/// A fault that a library beneath this one has found: it is reported, and the process goes on.
@c(_dispatch_bug)
public func bug(_ line: Int, _ value: Int) {
  Fault.report("a bug was reported at line " + String(line) + ", with the value " + String(value) + ".")
}

/// The value of a pointer that another thread is about to set.
///
/// Blocking: until it has.
@c(_dispatch_wait_for_enqueuer)
public func waitForEnqueuer(_ pointer: UnsafeMutablePointer<Raw?>?) -> Raw? {
  // unsafe: an atomic pointer is laid out as the pointer.
  let pointer = UnsafeMutableRawPointer(Handle.need(pointer, "_dispatch_wait_for_enqueuer"))
    .assumingMemoryBound(to: Atomic<Raw?>.self)
  var backoff = Backoff()
  while true {
    // pairs with: the code that sets the pointer – publishes what it points to
    if let value = pointer.pointee.load(ordering: .acquiring) { return value }
    backoff.wait()
  }
}

/// Nothing to do: the system's first process is another one here.
@c(_dispatch_poll_for_events_4launchd)
public func pollForEvents() {}

/// Nothing to do: the library initializes itself at its first use.
@c(libdispatch_init)
public func initializeLibrary() {}

// The library handles forks itself.
@c(dispatch_atfork_prepare)
public func forkPrepare() {}

@c(dispatch_atfork_parent)
public func forkParent() {}

@c(dispatch_atfork_child)
public func forkChild() {}

@c(_dispatch_is_multithreaded)
public func isMultithreaded() -> Bool { Engine.existing != nil }

/// A child of a process with several threads may use the library here.
@c(_dispatch_is_fork_of_multithreaded_parent)
public func isForkOfMultithreadedParent() -> Bool { false }

@c(_dispatch_prohibit_transition_to_multithreaded)
public func prohibitTransition(_ prohibit: Bool) {}

@c(_dispatch_iocntl)
public func ioControl(_ parameter: UInt32, _ value: UInt64) {}

/// The nanoseconds that one call takes on average.
private func benchmark(_ count: Int, _ call: () -> Void) -> UInt64 {
  if count <= 0 { return 0 }
  let start = Clock.uptime.now()
  for _ in 0..<count { call() }
  return (Clock.uptime.now() - start) / UInt64(count)
}

@c(dispatch_benchmark)
public func benchmarkBlock(_ count: Int, _ block: Raw?) -> UInt64 {
  let block = Handle.need(block, "dispatch_benchmark")
  return benchmark(count) { gcd_block_call(block) }
}

@c(dispatch_benchmark_f)
public func benchmarkFunction(_ count: Int, _ context: Raw?, _ function: dispatch_function_t?) -> UInt64 {
  let function = Handle.need(function, "dispatch_benchmark_f")
  return benchmark(count) { function(context) }
}
