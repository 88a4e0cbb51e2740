// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue

@c(gcd_work_item_run)
public func workItemRun(_ item: Raw) {
  Unmanaged<DispatchWorkItem>.fromOpaque(item)._withUnsafeGuaranteedRef { $0.perform() }
}

@c(gcd_work_item_release)
public func workItemRelease(_ item: Raw) { Unmanaged<DispatchWorkItem>.fromOpaque(item).release() }

private func makeItem(_ flags: dispatch_block_flags_t, _ qos: DispatchQoS, _ block: Raw) -> DispatchWorkItem {
  let body = Block(block)
  return DispatchWorkItem(qos: qos, flags: DispatchWorkItemFlags(rawValue: flags)) { body() }
}

@c @implementation
public func dispatch_block_create(_ flags: dispatch_block_flags_t, _ block: Raw?) -> Raw? {
  gcd_work_item_block(Unmanaged.passRetained(makeItem(flags, .unspecified, Handle.need(block))).toOpaque())
}

@c @implementation
public func dispatch_block_create_with_qos_class(
  _ flags: dispatch_block_flags_t, _ qosClass: dispatch_qos_class_t, _ relativePriority: Int32, _ block: Raw?
) -> Raw? {
  guard let qosClass = DispatchQoS.QoSClass(rawValue: qosClass), (-15...0).contains(relativePriority) else {
    return nil
  }
  let qos = DispatchQoS(unchecked: qosClass, Int(relativePriority))
  return gcd_work_item_block(Unmanaged.passRetained(makeItem(flags, qos, Handle.need(block))).toOpaque())
}

@c @implementation
public func dispatch_block_perform(_ flags: dispatch_block_flags_t, _ block: Raw?) {
  gcd_block_call(Handle.need(block))
}

@c @implementation
public func dispatch_block_wait(_ block: Raw?, _ timeout: dispatch_time_t) -> Int {
  DispatchWorkItem.behind(block, "dispatch_block_wait").wait(until: TimeCode(rawValue: timeout).deadline) ? 0 : 49
}

@c @implementation
public func dispatch_block_notify(_ block: Raw?, _ queue: dispatch_queue_t?, _ notification: Raw?) {
  let item = DispatchWorkItem.behind(block, "dispatch_block_notify")
  let queue = Handle.queue(queue).takeUnretainedValue()
  let work = Handle.need(notification)
  if let next = gcd_block_work_item(work) {
    item.notify(queue: queue, execute: Unmanaged<DispatchWorkItem>.fromOpaque(next).takeUnretainedValue())
  } else {
    // A closure: it is released when the item goes without having run.
    let body = Block(work)
    item.notify(queue: queue) { body() }
  }
}

@c @implementation
public func dispatch_block_cancel(_ block: Raw?) { DispatchWorkItem.behind(block, "dispatch_block_cancel").cancel() }

@c @implementation
public func dispatch_block_testcancel(_ block: Raw?) -> Int {
  DispatchWorkItem.behind(block, "dispatch_block_testcancel").isCancelled ? 1 : 0
}
