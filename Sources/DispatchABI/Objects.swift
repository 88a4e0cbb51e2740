// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue
import Synchronization

@c @implementation
public func dispatch_retain(_ object: dispatch_object_t?) {
  guard let object else { Handle.nullArgument("dispatch_retain") }
  gcd_object_retain(object)
}

@c @implementation
public func dispatch_release(_ object: dispatch_object_t?) {
  guard let object else { Handle.nullArgument("dispatch_release") }
  gcd_object_release(object)
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
  // As on Darwin and with libdispatch: on a channel it does nothing.
  Handle.object(object)?._withUnsafeGuaranteedRef { if !($0 is DispatchIO) { $0.suspend() } }
}

@c @implementation
public func dispatch_resume(_ object: dispatch_object_t?) {
  Handle.object(object)?._withUnsafeGuaranteedRef { if !($0 is DispatchIO) { $0.resume() } }
}

@c @implementation
public func dispatch_set_target_queue(_ object: dispatch_object_t?, _ queue: dispatch_queue_t?) {
  let target = Handle.optionalQueue(queue)
  Handle.object(object)?._withUnsafeGuaranteedRef {
    // As with libdispatch: the target of a global queue, of the main queue and of a workloop stays what it is.
    if let queue = $0 as? DispatchQueue, queue.kind.isBuiltIn || queue.kind == .sorted { return }
    $0.setTarget(queue: target)
  }
}

/// The lowest quality of service of an object's items. For objects that are not active yet.
@c @implementation
public func dispatch_set_qos_class_floor(
  _ object: dispatch_object_t?, _ qosClass: dispatch_qos_class_t, _ relativePriority: Int32
) {
  var attributes = QueueAttributes(nil)
  if attributes.setQoS(qosClass, relativePriority) {
    let floor = attributes.qos
    Handle.object(object)?._withUnsafeGuaranteedRef { $0.raise(to: floor) }
  }
}

extension DispatchObject {
  fileprivate func raise(to floor: QoSWord) {
    if let queue = self as? DispatchQueue {
      if !queue.kind.isRunQueue { queue.setFloor(floor) }
    } else if let source = self as? DispatchSource {
      // relaxed: a hint for where to queue.
      source.floor.store(floor.rawValue, ordering: .relaxed)
    }
  }
}
