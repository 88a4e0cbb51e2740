// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue

/// A source that the program reports to, of whichever of the three kinds.
private final class ReportedSource: UserDataSource, @unchecked Sendable {  // adds what is immutable
  let kind: Int

  init(_ kind: Int, handle: UInt, mask: UInt, queue: DispatchQueue?) {
    self.kind = kind
    super.init(handle: handle, mask: mask, queue: queue)
  }

  func merge(_ value: UInt) {
    switch kind {
    case GCD_SOURCE_DATA_ADD: add(data: value)
    case GCD_SOURCE_DATA_OR: or(data: value)
    default: replace(data: value)
    }
  }
}

private func make(_ kind: Int, _ handle: UInt, _ mask: UInt, _ queue: DispatchQueue?) -> DispatchSource? {
  switch kind {
  case GCD_SOURCE_DATA_ADD, GCD_SOURCE_DATA_OR, GCD_SOURCE_DATA_REPLACE:
    return mask != 0 || handle != 0 ? nil : ReportedSource(kind, handle: handle, mask: mask, queue: queue)
  case GCD_SOURCE_TIMER:
    // What Darwin calls a background timer has no name on Linux: it is an ordinary one, and a strict one is never that.
    // As with libdispatch: a handle may name one of the three clocks. A timer here takes times of any.
    if mask & ~3 != 0 || handle > 3 { return nil }
    let flags = DispatchSource.TimerFlags(rawValue: mask == 3 ? 1 : mask)
    return TimerSource(handle: handle, flags: flags, queue: queue)
  case GCD_SOURCE_MEMORYPRESSURE:
    return mask & ~7 != 0 ? nil : MemoryPressureSource(MemoryPressureSource.Setup(), mask: mask, queue: queue)
  default: break
  }
  // The handle is a descriptor, a signal or a process.
  guard let number = Int32(exactly: handle) else { return nil }
  if mask != 0, kind == GCD_SOURCE_READ || kind == GCD_SOURCE_WRITE || kind == GCD_SOURCE_SIGNAL { return nil }
  switch kind {
  case GCD_SOURCE_READ: return DescriptorSource(.read, descriptor: number, queue: queue)
  case GCD_SOURCE_WRITE: return DescriptorSource(.write, descriptor: number, queue: queue)
  case GCD_SOURCE_SIGNAL: return Signals.canBeWatched(number) ? SignalSource(signal: number, queue: queue) : nil
  case GCD_SOURCE_PROC:
    return ProcessSource(identifier: number, mask: DispatchSource.ProcessEvent(rawValue: mask), queue: queue)
  case GCD_SOURCE_VNODE:
    return FileSystemSource(descriptor: number, mask: DispatchSource.FileSystemEvent(rawValue: mask), queue: queue)
  case GCD_SOURCE_MACH_SEND: return PeerSource(.peerGone, port: mach_port_t(number), mask: mask, queue: queue)
  case GCD_SOURCE_MACH_RECV: return PeerSource(.message, port: mach_port_t(number), mask: mask, queue: queue)
  default: return nil
  }
}

@c @implementation
public func dispatch_source_create(
  _ type: dispatch_source_type_t?, _ handle: UInt, _ mask: UInt, _ queue: dispatch_queue_t?
) -> dispatch_source_t? {
  guard let type else { return nil }
  let kind = Int(gcd_first_word(UnsafeRawPointer(type)))
  return make(kind, handle, mask, Handle.optionalQueue(queue)).map { Handle.made($0) }
}

/// What calls a function with the source's context. The source is alive while it calls.
private func handler(_ source: Unmanaged<DispatchSource>, _ function: dispatch_function_t?) -> SourceHandler? {
  guard let function else { return nil }
  return SourceHandler(calling: .function(function)) {
    function(source._withUnsafeGuaranteedRef { $0.context })
    Sanitizer.comesBefore(source.toOpaque())
  }
}

/// The context that an event handler is called with. Handlers of a source come one after the other.
private final class EventContext: @unchecked Sendable {  // why: see above
  @exclusivity(unchecked) var first: UnsafeMutableRawPointer??
}

/// What calls a function with the context that the source has now, if the source is active, or else at the first event: later contexts
/// are for later handlers.
private func eventHandler(
  _ source: Unmanaged<DispatchSource>, _ function: dispatch_function_t?
) -> SourceHandler? {
  guard let function else { return nil }
  let context = EventContext()
  source._withUnsafeGuaranteedRef { source in
    if !source.state.load().has(SourceState.inactive) { context.first = .some(source.context) }
  }
  return SourceHandler(calling: .function(function)) {
    let known = context.first ?? source._withUnsafeGuaranteedRef { $0.context }
    context.first = .some(known)
    function(known)
    Sanitizer.comesBefore(source.toOpaque())
  }
}

/// Sets what calls a block. One that stands for a work item is called in the item's way.
private func set(_ role: SourceHandlers.Role, of source: Unmanaged<DispatchSource>, _ block: Raw?) {
  let handler = block.map { block in
    let body = Block(block)
    // unsafe: the block keeps its item, and the caller the block.
    let item = gcd_block_work_item(block).map { Unmanaged<DispatchWorkItem>.fromOpaque($0).takeUnretainedValue() }
    return SourceHandler(calling: item.map { .item($0) } ?? .block(body)) {
      body()
      Sanitizer.comesBefore(source.toOpaque())
    }
  }
  source._withUnsafeGuaranteedRef { $0.set(role, handler) }
}

private func source(_ handle: OpaquePointer?, _ call: StaticString = #function) -> Unmanaged<DispatchSource> {
  Handle.take(handle, call)
}

@c @implementation
public func dispatch_source_set_event_handler(_ handle: dispatch_source_t?, _ block: Raw?) {
  set(.event, of: source(handle), block)
}

@c @implementation
public func dispatch_source_set_event_handler_f(_ handle: dispatch_source_t?, _ function: dispatch_function_t?) {
  let body = eventHandler(source(handle), function)
  source(handle)._withUnsafeGuaranteedRef { $0.set(.event, body) }
}

@c @implementation
public func dispatch_source_set_cancel_handler(_ handle: dispatch_source_t?, _ block: Raw?) {
  set(.cancel, of: source(handle), block)
}

@c @implementation
public func dispatch_source_set_cancel_handler_f(_ handle: dispatch_source_t?, _ function: dispatch_function_t?) {
  let body = handler(source(handle), function)
  source(handle)._withUnsafeGuaranteedRef { $0.set(.cancel, body) }
}

@c @implementation
public func dispatch_source_set_registration_handler(_ handle: dispatch_source_t?, _ block: Raw?) {
  set(.registration, of: source(handle), block)
}

@c @implementation
public func dispatch_source_set_registration_handler_f(_ handle: dispatch_source_t?, _ function: dispatch_function_t?) {
  let body = handler(source(handle), function)
  source(handle)._withUnsafeGuaranteedRef { $0.set(.registration, body) }
}

@c @implementation
public func dispatch_source_cancel(_ handle: dispatch_source_t?) {
  source(handle)._withUnsafeGuaranteedRef { $0.cancel() }
}

@c @implementation
public func dispatch_source_testcancel(_ handle: dispatch_source_t?) -> Int {
  source(handle)._withUnsafeGuaranteedRef { $0.isCancelled ? 1 : 0 }
}

@c @implementation
public func dispatch_source_get_handle(_ handle: dispatch_source_t?) -> UInt {
  source(handle)._withUnsafeGuaranteedRef { $0.handle }
}

@c @implementation
public func dispatch_source_get_mask(_ handle: dispatch_source_t?) -> UInt {
  source(handle)._withUnsafeGuaranteedRef { $0.mask }
}

@c @implementation
public func dispatch_source_get_data(_ handle: dispatch_source_t?) -> UInt {
  source(handle)._withUnsafeGuaranteedRef { $0.data }
}

@c @implementation
public func dispatch_source_merge_data(_ handle: dispatch_source_t?, _ value: UInt) {
  source(handle)._withUnsafeGuaranteedRef {
    guard let reported = $0 as? ReportedSource else {
      $0.refuse("dispatch_source_merge_data", of: "DATA_ADD, DATA_OR or DATA_REPLACE")
    }
    reported.merge(value)
  }
}

@c @implementation
public func dispatch_source_set_timer(
  _ handle: dispatch_source_t?, _ start: dispatch_time_t, _ interval: UInt64, _ leeway: UInt64
) {
  let code = TimeCode(rawValue: start)
  var deadline = code.deadline
  if code == .wallNow { deadline = Deadline(clock: .wall, nanoseconds: Clock.wall.now()) }
  source(handle)._withUnsafeGuaranteedRef {
    guard let timer = $0 as? TimerSource else { $0.refuse("dispatch_source_set_timer", of: "TIMER") }
    timer.schedule(deadline, Int64(clamping: interval), .nanoseconds(Int(clamping: leeway)))
  }
}

extension DispatchSource {
  /// Traps: the call is for sources of other types.
  @inline(never)
  fileprivate func refuse(_ call: String, of types: String) -> Never {
    Fault.misuse(
      .otherKindOfSource,
      call + " was called on a " + kindName + ". Create the source with DISPATCH_SOURCE_TYPE_" + types + ".")
  }
}
