// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

// Objects by the names that libraries beneath this one use, and objects of such libraries' own.

import CDispatchGlue

@c(_os_object_retain)
public func osObjectRetain(_ object: Raw?) -> Raw? {
  dispatch_retain(object)
  return object
}

@c(_os_object_release)
public func osObjectRelease(_ object: Raw?) { dispatch_release(object) }

/// There is one count: an object that is being destroyed is not revived.
@c(_os_object_retain_with_resurrect)
public func retainWithResurrect(_ object: Raw?) -> Raw? { osObjectRetain(object) }

@c(_os_object_retain_internal)
public func retainInternal(_ object: Raw?) -> Raw? { osObjectRetain(object) }

@c(_os_object_release_internal)
public func releaseInternal(_ object: Raw?) { dispatch_release(object) }

@c(_os_object_retain_internal_n)
public func retainInternal(_ object: Raw?, times: UInt16) -> Raw? {
  for _ in 0..<times { dispatch_retain(object) }
  return object
}

@c(_os_object_release_internal_n)
public func releaseInternal(_ object: Raw?, times: UInt16) {
  for _ in 0..<times { dispatch_release(object) }
}

/// What such an object begins with. The rest is the library's, and plain memory.
private final class ForeignObject: Sendable {}

private let prototype = ForeignObject()

/// An object of `size` bytes, two words of which are taken by the counting; the others are 0. Its class is not known
/// here: when the last reference goes, the memory does.
@c(_os_object_alloc)
public func osObjectAllocate(_ type: UnsafeRawPointer?, _ size: Int) -> Raw? {
  let head = 2 * MemoryLayout<UInt>.size
  let size = max(size, head)
  let object = gcd_allocate(size)!
  object.initializeMemory(as: UInt8.self, repeating: 0, count: size)
  object.copyMemory(from: Unmanaged.passUnretained(prototype).toOpaque(), byteCount: MemoryLayout<UInt>.size)
  object.storeBytes(of: UInt(GCD_FIRST_COUNT), toByteOffset: MemoryLayout<UInt>.size, as: UInt.self)
  return object
}

@c(_os_object_alloc_realized)
public func osObjectAllocateRealized(_ type: UnsafeRawPointer?, _ size: Int) -> Raw? { osObjectAllocate(type, size) }

/// Gives the memory back, whatever the count.
@c(_os_object_dealloc)
public func osObjectDeallocate(_ object: Raw?) { object?.deallocate() }
