// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue

@c @implementation
public func dispatch_retain(_ object: dispatch_object_t?) {
  guard let object else { Handle.nullArgument("dispatch_retain") }
  if Handle.isAttribute(object) { return }
  _ = Unmanaged<AnyObject>.fromOpaque(object).retain()
}

@c @implementation
public func dispatch_release(_ object: dispatch_object_t?) {
  guard let object else { Handle.nullArgument("dispatch_release") }
  if Handle.isAttribute(object) { return }
  Unmanaged<AnyObject>.fromOpaque(object).release()
}

@c @implementation
public func dispatch_get_context(_ object: dispatch_object_t?) -> Raw? {
  Handle.object(object)?._withUnsafeGuaranteedRef { $0.context }
}

@c @implementation
public func dispatch_set_context(_ object: dispatch_object_t?, _ context: Raw?) {
  Handle.object(object)?._withUnsafeGuaranteedRef { $0.context = context }
}

@c @implementation
public func dispatch_set_finalizer_f(_ object: dispatch_object_t?, _ finalizer: dispatch_function_t?) {
  Handle.object(object)?._withUnsafeGuaranteedRef { $0.setFinalizer(finalizer) }
}

@c @implementation
public func dispatch_activate(_ object: dispatch_object_t?) {
  Handle.object(object)?._withUnsafeGuaranteedRef { $0.activate() }
}

@c @implementation
public func dispatch_suspend(_ object: dispatch_object_t?) {
  Handle.object(object)?._withUnsafeGuaranteedRef { $0.suspend() }
}

@c @implementation
public func dispatch_resume(_ object: dispatch_object_t?) {
  Handle.object(object)?._withUnsafeGuaranteedRef { $0.resume() }
}

@c @implementation
public func dispatch_set_target_queue(_ object: dispatch_object_t?, _ queue: dispatch_queue_t?) {
  let target = Handle.optionalQueue(queue)
  Handle.object(object)?._withUnsafeGuaranteedRef { $0.setTarget(queue: target) }
}

/// Accepted: what an object's items are worth is settled when it is created.
@c @implementation
public func dispatch_set_qos_class_floor(
  _ object: dispatch_object_t?, _ qosClass: dispatch_qos_class_t, _ relativePriority: Int32
) {}

// The same under the names that libraries beneath this one use.

@c(_os_object_retain)
public func osObjectRetain(_ object: Raw?) -> Raw? {
  dispatch_retain(object)
  return object
}

@c(_os_object_release)
public func osObjectRelease(_ object: Raw?) { dispatch_release(object) }
