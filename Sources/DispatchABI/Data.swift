// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue

/// Data behind a handle: a value needs an object to be counted. No bytes are the static object.
final class DataHandle: DispatchObject, @unchecked Sendable {  // immutable, or guarded by `lock`
  /// Changes only while no program knows the handle: see `walk`.
  @exclusivity(unchecked) private(set) var data: DispatchData
  private let lock = Lock()
  /// Guarded by `lock`.
  @exclusivity(unchecked) private var regions = RegionHandles()

  fileprivate init(_ data: DispatchData) {
    self.data = data
    super.init()
  }

  deinit {
    guard extrasReference != nil else { return }
    // As with libdispatch: the finalizer goes to the destructor's queue, behind it.
    var target: DispatchQueue?
    DataRegion.withDeallocator(of: data) { if case .custom(let queue, _) = $0 { target = queue } }
    data = .empty
    finalizeContext(otherwise: target ?? GlobalQueues.default)
  }

  // As with libdispatch: a destructor runs on the target, whatever queue it was given at first.
  override func retarget(to lane: DispatchObject.Lane?) {
    super.retarget(to: lane)
    lock.withLock { DataRegion.retarget(data, to: lane as? DispatchQueue) }
  }

  /// A handle whose reference is the caller's.
  static func make(_ data: DispatchData) -> OpaquePointer {
    data.count == 0 ? OpaquePointer(gcd_empty_data()) : Handle.made(DataHandle(data))
  }

  @inline(__always)
  static func data(_ handle: OpaquePointer?, _ call: StaticString = #function) -> DispatchData {
    if handle == OpaquePointer(gcd_empty_data()) { return .empty }
    return (Handle.take(handle, call) as Unmanaged<DataHandle>)._withUnsafeGuaranteedRef { $0.data }
  }

  /// Becomes the handle of another region, if the program has left nothing with it. The caller knows that nobody has kept it.
  func takeUp(_ region: DispatchData) -> Bool {
    if !regions.isEmpty || lastContext != nil { return false }
    data = region
    return true
  }

  /// The handle of the region that begins at `start`; a reference to it is the caller's.
  ///
  /// A region has the same handle each time, as long as the whole has its own. The toolchain's overlay keeps for good what
  /// it asks for at each `data[index]`: so that costs a reference, as it does with libdispatch, and no object.
  func handle(of region: DispatchData, at start: Int) -> OpaquePointer {
    if region.count == 0 { return OpaquePointer(gcd_empty_data()) }
    if region.count == data.count { return Handle.made(self) }
    return lock.withLock {
      if let known = regions.find(start) { return Handle.made(known) }
      let handle = DataHandle(region)
      regions.insert(handle, start)
      return Handle.made(handle)
    }
  }
}

/// The handles that regions of data have, by where the regions begin: a table with open addressing.
private struct RegionHandles {
  /// A power of two of them, at most half of them taken; or none.
  private var slots: [(start: Int, handle: DataHandle)?] = []
  private var count = 0

  var isEmpty: Bool { count == 0 }

  func find(_ start: Int) -> DataHandle? { slots.isEmpty ? nil : slots[slot(of: start)]?.handle }

  /// Adds what is not there yet.
  mutating func insert(_ handle: DataHandle, _ start: Int) {
    if 2 * (count + 1) > slots.count { grow() }
    slots[slot(of: start)] = (start, handle)
    count += 1
  }

  /// Where the entry of `start` is, or belongs.
  private func slot(of start: Int) -> Int {
    let mask = slots.count - 1
    // The upper half of a product with a large odd number differs for regions of any length.
    let product = UInt64(truncatingIfNeeded: start) &* 0x9E37_79B9_7F4A_7C15
    var slot = Int(truncatingIfNeeded: product &>> 32) & mask
    while let taken = slots[slot], taken.start != start { slot = (slot + 1) & mask }
    return slot
  }

  private mutating func grow() {
    let former = slots
    slots = Array(repeating: nil, count: max(8, 2 * former.count))
    for case let entry? in former { slots[slot(of: entry.start)] = entry }
  }
}

private func create(
  _ buffer: UnsafeRawPointer?, _ size: Int, _ deallocator: DispatchData.Deallocator
) -> OpaquePointer {
  DataHandle.make(
    DispatchData(bytesNoCopy: UnsafeRawBufferPointer(start: buffer, count: size), deallocator: deallocator))
}

@c @implementation
public func dispatch_data_create(
  _ buffer: UnsafeRawPointer?, _ size: Int, _ queue: dispatch_queue_t?, _ destructor: Raw?
) -> dispatch_data_t? {
  guard let destructor else {
    return DataHandle.make(DispatchData(bytes: UnsafeRawBufferPointer(start: buffer, count: size)))
  }
  if destructor == gcd_destructor_free() { return create(buffer, size, .free) }
  if destructor == gcd_destructor_munmap() { return create(buffer, size, .unmap) }
  let body = Block(destructor)
  return create(buffer, size, .custom(Handle.optionalQueue(queue)) { body() })
}

@c(dispatch_data_create_f)
public func dataCreate(
  _ buffer: UnsafeRawPointer?, _ size: Int, _ queue: OpaquePointer?, _ destructor: dispatch_function_t?
) -> OpaquePointer? {
  guard let destructor else {
    return DataHandle.make(DispatchData(bytes: UnsafeRawBufferPointer(start: buffer, count: size)))
  }
  // The destructors that have names are blocks.
  let address = unsafeBitCast(destructor, to: Raw.self)
  if address == gcd_destructor_free() || address == gcd_destructor_munmap() || address == gcd_destructor_none() {
    return dispatch_data_create(buffer, size, queue, address)
  }
  let start = UnsafeMutableRawPointer(mutating: buffer)
  return create(buffer, size, .custom(Handle.optionalQueue(queue)) { destructor(start) })
}

@c @implementation
public func dispatch_data_get_size(_ data: dispatch_data_t?) -> Int { DataHandle.data(data).count }

@c @implementation
public func dispatch_data_create_concat(_ first: dispatch_data_t?, _ second: dispatch_data_t?) -> dispatch_data_t? {
  var joined = DataHandle.data(first)
  let end = DataHandle.data(second)
  // Beside nothing either is the whole: the handle itself, with a reference more.
  if end.count == 0 { return retained(first) }
  if joined.count == 0 { return retained(second) }
  joined.append(end)
  return DataHandle.make(joined)
}

private func retained(_ data: dispatch_data_t?) -> dispatch_data_t? {
  dispatch_retain(UnsafeMutableRawPointer(data))
  return data
}

@c @implementation
public func dispatch_data_create_subrange(
  _ handle: dispatch_data_t?, _ offset: Int, _ length: Int
) -> dispatch_data_t? {
  let data = DataHandle.data(handle)
  // Sizes are unsigned in C: what is negative here is beyond the end.
  let lower = offset < 0 ? data.count : min(offset, data.count)
  let upper = length < 0 ? data.count : lower + min(length, data.count - lower)
  if upper - lower == data.count { return retained(handle) }
  return DataHandle.make(data.subdata(in: lower..<upper))
}

@c @implementation
public func dispatch_data_create_map(
  _ data: dispatch_data_t?, _ buffer: UnsafeMutablePointer<UnsafeRawPointer?>?, _ size: UnsafeMutablePointer<Int>?
) -> dispatch_data_t? {
  let given = DataHandle.data(data)
  let whole = given.contiguous()
  // unsafe: the bytes live as long as the returned handle.
  buffer?.pointee = whole.count == 0 ? nil : UnsafeRawPointer(whole.span(at: 0).start)
  size?.pointee = whole.count
  guard given.count > 0, given.position >= 0 else { return DataHandle.make(whole) }
  // In one region already.
  return retained(data)
}

@c @implementation
public func dispatch_data_copy_region(
  _ data: dispatch_data_t?, _ location: Int, _ offset: UnsafeMutablePointer<Int>?
) -> dispatch_data_t? {
  if data == OpaquePointer(gcd_empty_data()) {
    offset?.pointee = 0
    return data
  }
  return (Handle.take(data) as Unmanaged<DataHandle>)._withUnsafeGuaranteedRef { whole in
    let (region, start) = whole.data.region(location: location)
    offset?.pointee = start
    return whole.handle(of: region, at: start)
  }
}

/// Calls `call` for the regions in order, each with a handle that lasts for the call.
private func walk(
  _ whole: dispatch_data_t?, _ function: StaticString = #function,
  _ call: (OpaquePointer, Int, UnsafeRawPointer, Int) -> Bool
) -> Bool {
  let data = DataHandle.data(whole, function)
  if let whole, data.count > 0 {
    let first = data.span(at: 0)
    // One region is the whole.
    if first.count == data.count { return call(whole, 0, UnsafeRawPointer(first.start), first.count) }
  }
  var index = 0
  var regions = data.regions
  var handle: DataHandle?
  defer { withExtendedLifetime(handle) {} }
  while let region = regions.next() {
    // The handle of the region before, if nobody has kept it.
    let isFit = isKnownUniquelyReferenced(&handle) && handle.unsafelyUnwrapped.takeUp(region)
    if !isFit { handle = DataHandle(region) }
    let address = OpaquePointer(Unmanaged.passUnretained(handle.unsafelyUnwrapped).toOpaque())
    if !call(address, index, UnsafeRawPointer(region.span(at: 0).start), region.count) { return false }
    index += region.count
  }
  return true
}

@c @implementation
public func dispatch_data_apply(_ data: dispatch_data_t?, _ applier: Raw?) -> Bool {
  let applier = Handle.need(applier)
  return walk(data) { gcd_block_call_region(applier, UnsafeMutableRawPointer($0), $1, $2, $3) }
}

@c @implementation
public func dispatch_data_apply_f(
  _ data: dispatch_data_t?, _ context: Raw?,
  _ applier: (@convention(c) (Raw?, dispatch_data_t?, Int, UnsafeRawPointer?, Int) -> Bool)?
) -> Bool {
  let applier = Handle.need(applier)
  return walk(data) { applier(context, $0, $1, $2, $3) }
}
