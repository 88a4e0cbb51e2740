// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue

/// What calls a block with the pieces of an operation.
private func pieces(
  _ handler: Raw?, _ call: StaticString = #function
) -> @Sendable (Bool, DispatchData?, Int32) -> Void {
  let body = Block(Handle.need(handler, call))
  return { done, data, error in
    let handle = data.map { DataHandle.make($0) }.map { UnsafeMutableRawPointer($0) }
    gcd_block_call_done(body.raw, done, handle, error)
    if let handle { dispatch_release(handle) }
  }
}

/// What calls a block with an outcome.
private func outcome(
  _ handler: Raw?, _ call: StaticString = #function
) -> @Sendable (DispatchData?, Int32) -> Void {
  let body = Block(Handle.need(handler, call))
  return { data, error in
    let handle = data.map { DataHandle.make($0) }.map { UnsafeMutableRawPointer($0) }
    gcd_block_call_data(body.raw, handle, error)
    if let handle { dispatch_release(handle) }
  }
}

private func cleanup(_ handler: Raw?) -> @Sendable (Int32) -> Void {
  guard let handler else { return { _ in } }
  let body = Block(handler)
  return { gcd_block_call_error(body.raw, $0) }
}

private func type(_ type: dispatch_io_type_t) -> DispatchIO.StreamType? {
  type == 0 ? .stream : type == 1 ? .random : nil
}

private func channel(_ handle: OpaquePointer?, _ call: StaticString = #function) -> Unmanaged<DispatchIO> {
  Handle.take(handle, call)
}

@c @implementation
public func dispatch_read(_ descriptor: Int32, _ length: Int, _ queue: dispatch_queue_t?, _ handler: Raw?) {
  let call = outcome(handler)
  DispatchIO.read(
    fromFileDescriptor: descriptor, maxLength: length,
    runningHandlerOn: Handle.queue(queue).takeUnretainedValue()
  ) { call($0, $1) }
}

@c @implementation
public func dispatch_write(_ descriptor: Int32, _ data: dispatch_data_t?, _ queue: dispatch_queue_t?, _ handler: Raw?) {
  DispatchIO.write(
    toFileDescriptor: descriptor, data: DataHandle.data(data),
    runningHandlerOn: Handle.queue(queue).takeUnretainedValue(), handler: outcome(handler))
}

@c @implementation
public func dispatch_io_create(
  _ kind: dispatch_io_type_t, _ descriptor: Int32, _ queue: dispatch_queue_t?, _ handler: Raw?
) -> dispatch_io_t? {
  guard let kind = type(kind) else { return nil }
  return Handle.made(
    DispatchIO(
      type: kind, fileDescriptor: descriptor, queue: Handle.queue(queue).takeUnretainedValue(),
      cleanupHandler: cleanup(handler)))
}

@c @implementation
public func dispatch_io_create_with_path(
  _ kind: dispatch_io_type_t, _ path: UnsafePointer<CChar>?, _ flags: Int32, _ mode: mode_t, _ queue: dispatch_queue_t?,
  _ handler: Raw?
) -> dispatch_io_t? {
  // Of a path that is not absolute the rest is not looked at.
  guard let kind = type(kind), Handle.need(path).pointee == 0x2F else { return nil }
  return DispatchIO(
    type: kind, path: Handle.need(path), oflag: flags, mode: mode, queue: Handle.queue(queue).takeUnretainedValue(),
    cleanupHandler: cleanup(handler)
  ).map { Handle.made($0) }
}

@c @implementation
public func dispatch_io_create_with_io(
  _ kind: dispatch_io_type_t, _ io: dispatch_io_t?, _ queue: dispatch_queue_t?, _ handler: Raw?
) -> dispatch_io_t? {
  guard let kind = type(kind) else { return nil }
  return channel(io)._withUnsafeGuaranteedRef { io in
    Handle.made(
      DispatchIO(
        type: kind, io: io, queue: Handle.queue(queue).takeUnretainedValue(), cleanupHandler: cleanup(handler)))
  }
}

@c @implementation
public func dispatch_io_read(
  _ io: dispatch_io_t?, _ offset: off_t, _ length: Int, _ queue: dispatch_queue_t?, _ handler: Raw?
) {
  channel(io)._withUnsafeGuaranteedRef {
    $0.read(
      offset: Int(offset), length: length, queue: Handle.queue(queue).takeUnretainedValue(),
      ioHandler: pieces(handler))
  }
}

@c @implementation
public func dispatch_io_write(
  _ io: dispatch_io_t?, _ offset: off_t, _ data: dispatch_data_t?, _ queue: dispatch_queue_t?, _ handler: Raw?
) {
  channel(io)._withUnsafeGuaranteedRef {
    $0.write(
      offset: Int(offset), data: DataHandle.data(data), queue: Handle.queue(queue).takeUnretainedValue(),
      ioHandler: pieces(handler))
  }
}

@c @implementation
public func dispatch_io_barrier(_ io: dispatch_io_t?, _ barrier: Raw?) {
  let body = Block(Handle.need(barrier))
  channel(io)._withUnsafeGuaranteedRef { $0.barrier { body() } }
}

@c @implementation
public func dispatch_io_close(_ io: dispatch_io_t?, _ flags: dispatch_io_close_flags_t) {
  channel(io)._withUnsafeGuaranteedRef { $0.close(flags: DispatchIO.CloseFlags(rawValue: flags)) }
}

@c @implementation
public func dispatch_io_get_descriptor(_ io: dispatch_io_t?) -> Int32 {
  channel(io)._withUnsafeGuaranteedRef { $0.fileDescriptor }
}

@c @implementation
public func dispatch_io_set_high_water(_ io: dispatch_io_t?, _ highWater: Int) {
  channel(io)._withUnsafeGuaranteedRef { $0.setLimit(highWater: highWater) }
}

@c @implementation
public func dispatch_io_set_low_water(_ io: dispatch_io_t?, _ lowWater: Int) {
  channel(io)._withUnsafeGuaranteedRef { $0.setLimit(lowWater: lowWater) }
}

@c @implementation
public func dispatch_io_set_interval(_ io: dispatch_io_t?, _ interval: UInt64, _ flags: dispatch_io_interval_flags_t) {
  channel(io)._withUnsafeGuaranteedRef {
    $0.setInterval(
      interval: .nanoseconds(Int(clamping: interval)), flags: DispatchIO.IntervalFlags(rawValue: flags))
  }
}
