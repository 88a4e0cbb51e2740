// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue

// The variants with functions, which no header declares on Linux, and programs that were linked to them need.

public typealias IOFunction = @convention(c) (Raw?, Bool, OpaquePointer?, Int32) -> Void
public typealias OutcomeFunction = @convention(c) (Raw?, OpaquePointer?, Int32) -> Void
public typealias CleanupFunction = @convention(c) (Raw?, Int32) -> Void

/// Calls with a handle that lasts for the call.
private func lend(_ data: DispatchData?, _ call: (OpaquePointer?) -> Void) {
  guard let data else { return call(nil) }
  let handle = DataHandle.make(data)
  call(handle)
  dispatch_release(Raw(handle))
}

private func pieces(
  _ context: Raw?, _ function: IOFunction?, _ call: StaticString
) -> @Sendable (Bool, DispatchData?, Int32) -> Void {
  let function = Handle.need(function, call)
  // unsafe: the context is passed through.
  nonisolated(unsafe) let context = context
  return { done, data, error in lend(data) { function(context, done, $0, error) } }
}

private func outcome(
  _ context: Raw?, _ function: OutcomeFunction?, _ call: StaticString
) -> @Sendable (DispatchData?, Int32) -> Void {
  let function = Handle.need(function, call)
  // unsafe: the context is passed through.
  nonisolated(unsafe) let context = context
  return { data, error in lend(data) { function(context, $0, error) } }
}

private func cleanup(_ context: Raw?, _ function: CleanupFunction?) -> @Sendable (Int32) -> Void {
  guard let function else { return { _ in } }
  // unsafe: the context is passed through.
  nonisolated(unsafe) let context = context
  return { function(context, $0) }
}

private func channel(_ handle: OpaquePointer?, _ call: StaticString) -> DispatchIO {
  (Handle.take(handle, call) as Unmanaged<DispatchIO>).takeUnretainedValue()
}

@c(dispatch_read_f)
public func readWithFunction(
  _ descriptor: Int32, _ length: Int, _ queue: OpaquePointer?, _ context: Raw?, _ function: OutcomeFunction?
) {
  let call = outcome(context, function, "dispatch_read_f")
  DispatchIO.read(
    fromFileDescriptor: descriptor, maxLength: length,
    runningHandlerOn: Handle.queue(queue, "dispatch_read_f").takeUnretainedValue()
  ) { call($0, $1) }
}

@c(dispatch_write_f)
public func writeWithFunction(
  _ descriptor: Int32, _ data: OpaquePointer?, _ queue: OpaquePointer?, _ context: Raw?, _ function: OutcomeFunction?
) {
  DispatchIO.write(
    toFileDescriptor: descriptor, data: DataHandle.data(data, "dispatch_write_f"),
    runningHandlerOn: Handle.queue(queue, "dispatch_write_f").takeUnretainedValue(),
    handler: outcome(context, function, "dispatch_write_f"))
}

@c(dispatch_io_create_f)
public func ioCreateWithFunction(
  _ kind: UInt, _ descriptor: Int32, _ queue: OpaquePointer?, _ context: Raw?, _ function: CleanupFunction?
) -> OpaquePointer? {
  guard kind <= 1 else { return nil }
  return Handle.made(
    DispatchIO(
      type: kind == 0 ? .stream : .random, fileDescriptor: descriptor,
      queue: Handle.queue(queue, "dispatch_io_create_f").takeUnretainedValue(),
      cleanupHandler: cleanup(context, function)))
}

@c(dispatch_io_create_with_path_f)
public func ioCreateWithPathAndFunction(
  _ kind: UInt, _ path: UnsafePointer<CChar>?, _ flags: Int32, _ mode: UInt32, _ queue: OpaquePointer?, _ context: Raw?,
  _ function: CleanupFunction?
) -> OpaquePointer? {
  guard kind <= 1, Handle.need(path, "dispatch_io_create_with_path_f").pointee == 0x2F else { return nil }
  return DispatchIO(
    type: kind == 0 ? .stream : .random, path: Handle.need(path, "dispatch_io_create_with_path_f"), oflag: flags,
    mode: mode, queue: Handle.queue(queue, "dispatch_io_create_with_path_f").takeUnretainedValue(),
    cleanupHandler: cleanup(context, function)
  ).map { Handle.made($0) }
}

@c(dispatch_io_create_with_io_f)
public func ioCreateWithIOAndFunction(
  _ kind: UInt, _ io: OpaquePointer?, _ queue: OpaquePointer?, _ context: Raw?, _ function: CleanupFunction?
) -> OpaquePointer? {
  guard kind <= 1 else { return nil }
  return Handle.made(
    DispatchIO(
      type: kind == 0 ? .stream : .random, io: channel(io, "dispatch_io_create_with_io_f"),
      queue: Handle.queue(queue, "dispatch_io_create_with_io_f").takeUnretainedValue(),
      cleanupHandler: cleanup(context, function)))
}

@c(dispatch_io_read_f)
public func ioReadWithFunction(
  _ io: OpaquePointer?, _ offset: Int, _ length: Int, _ queue: OpaquePointer?, _ context: Raw?, _ function: IOFunction?
) {
  channel(io, "dispatch_io_read_f").read(
    offset: offset, length: length,
    queue: Handle.queue(queue, "dispatch_io_read_f").takeUnretainedValue(),
    ioHandler: pieces(context, function, "dispatch_io_read_f"))
}

@c(dispatch_io_write_f)
public func ioWriteWithFunction(
  _ io: OpaquePointer?, _ offset: Int, _ data: OpaquePointer?, _ queue: OpaquePointer?, _ context: Raw?,
  _ function: IOFunction?
) {
  channel(io, "dispatch_io_write_f").write(
    offset: offset, data: DataHandle.data(data, "dispatch_io_write_f"),
    queue: Handle.queue(queue, "dispatch_io_write_f").takeUnretainedValue(),
    ioHandler: pieces(context, function, "dispatch_io_write_f"))
}

@c(dispatch_io_barrier_f)
public func ioBarrierWithFunction(_ io: OpaquePointer?, _ context: Raw?, _ function: dispatch_function_t?) {
  let function = Handle.need(function, "dispatch_io_barrier_f")
  // unsafe: the context is passed through.
  nonisolated(unsafe) let context = context
  channel(io, "dispatch_io_barrier_f").barrier { function(context) }
}
