// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue

// Queues of a pool are never freed: their handles are the addresses, without references.

private func pool(_ handle: dispatch_queue_pool_t?, _ call: StaticString = #function) -> Unmanaged<DispatchQueuePool> {
  Handle.take(handle, call)
}

@c @implementation
public func dispatch_queue_pool_create(
  _ name: UnsafePointer<CChar>?, _ queueCount: Int, _ qosClass: dispatch_qos_class_t
) -> dispatch_queue_pool_t? {
  Handle.made(
    DispatchQueuePool(
      name: name.map { String(cString: $0) } ?? "", queueCount: queueCount < 0 ? .max : queueCount,
      qos: DispatchQoS.QoSClass(number: qosClass) ?? .default))
}

@c @implementation
public func dispatch_queue_pool_get_default(_ qosClass: dispatch_qos_class_t) -> dispatch_queue_pool_t? {
  let pool = DispatchQueuePool.default(for: DispatchQoS.QoSClass(number: qosClass) ?? .default)
  return OpaquePointer(Unmanaged.passUnretained(pool).toOpaque())
}

@c @implementation
public func dispatch_queue_pool_get_queue(_ handle: dispatch_queue_pool_t?) -> dispatch_queue_t? {
  pool(handle)._withUnsafeGuaranteedRef { Handle.handle(of: $0.queue) }
}

@c @implementation
public func dispatch_queue_pool_get_least_loaded(_ handle: dispatch_queue_pool_t?) -> dispatch_queue_t? {
  pool(handle)._withUnsafeGuaranteedRef { Handle.handle(of: $0.leastLoaded) }
}

@c @implementation
public func dispatch_queue_pool_get_queue_for_key(
  _ handle: dispatch_queue_pool_t?, _ key: UnsafeRawPointer?, _ size: Int
) -> dispatch_queue_t? {
  let bytes = UnsafeRawBufferPointer(start: Handle.need(key), count: size)
  return pool(handle)._withUnsafeGuaranteedRef { Handle.handle(of: $0.queue(forBytes: bytes)) }
}

@c @implementation
public func dispatch_queue_pool_get_queue_count(_ handle: dispatch_queue_pool_t?) -> Int {
  pool(handle)._withUnsafeGuaranteedRef { $0.queueCount }
}

@c @implementation
public func dispatch_queue_pool_get_statistics(
  _ handle: dispatch_queue_pool_t?, _ index: Int, _ depth: UnsafeMutablePointer<Int>?,
  _ completed: UnsafeMutablePointer<UInt64>?
) -> Bool {
  pool(handle)._withUnsafeGuaranteedRef { pool in
    guard 0..<pool.queueCount ~= index else { return false }
    let figures = pool.figures(of: index)
    depth?.pointee = figures.depth
    completed?.pointee = figures.completed
    return true
  }
}

/// The numbers of `NSQualityOfService` are those of the classes, but for the default, which is −1.
@c @implementation
public func dispatch_queue_pool_get_queue_for_qos(_ qualityOfService: Int) -> dispatch_queue_t? {
  let qos = UInt32(exactly: qualityOfService).flatMap { DispatchQoS.QoSClass(rawValue: $0) } ?? .default
  return Handle.handle(of: dispatchQueue(for: qos))
}
