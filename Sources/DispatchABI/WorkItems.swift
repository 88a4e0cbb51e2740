// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue
import CPlatform

@c(gcd_work_item_run)
public func workItemRun(_ item: Raw) {
  Unmanaged<DispatchWorkItem>.fromOpaque(item)._withUnsafeGuaranteedRef { $0.perform() }
}

@c(gcd_work_item_release)
public func workItemRelease(_ item: Raw) { Unmanaged<DispatchWorkItem>.fromOpaque(item).release() }

private func makeItem(_ flags: dispatch_block_flags_t, _ qos: DispatchQoS, _ block: Raw) -> Raw? {
  let body = Block(block)
  let item = DispatchWorkItem(qos: qos, flags: DispatchWorkItemFlags(rawValue: flags)) {
    body()
    Sanitizer.comesBefore(body.raw)
  }
  return gcd_work_item_block(Unmanaged.passRetained(item).toOpaque(), body.raw)
}

/// What the flags of a block may say. The two uppermost have no name on Linux: they are taken, and change nothing.
enum WorkItemFlags {
  static let known: UInt = 0xff

  static func areKnown(_ flags: dispatch_block_flags_t) -> Bool { flags & ~known == 0 }
}

@c @implementation
public func dispatch_block_create(_ flags: dispatch_block_flags_t, _ block: Raw?) -> Raw? {
  guard WorkItemFlags.areKnown(flags) else { return nil }
  return makeItem(flags, .unspecified, Handle.need(block))
}

@c @implementation
public func dispatch_block_create_with_qos_class(
  _ flags: dispatch_block_flags_t, _ qosClass: dispatch_qos_class_t, _ relativePriority: Int32, _ block: Raw?
) -> Raw? {
  guard WorkItemFlags.areKnown(flags), let qosClass = DispatchQoS.QoSClass(number: qosClass),
    (-15...0).contains(relativePriority)
  else { return nil }
  let qos = DispatchQoS(unchecked: qosClass, Int(relativePriority))
  return makeItem(flags, qos, Handle.need(block))
}

/// A detached item, or one without a quality of service, does not hand the caller's on to what it submits.
@c @implementation
public func dispatch_block_perform(_ flags: dispatch_block_flags_t, _ block: Raw?) {
  let block = Handle.need(block)
  let flags = DispatchWorkItemFlags(rawValue: flags)
  guard flags.contains(.detached) || flags.contains(.noQoS) else { return gcd_block_call(block) }
  let thread = gc_thread_self()
  let outer = thread.pointee.qos
  thread.pointee.qos = 0
  gcd_block_call(block)
  thread.pointee.qos = outer
}

@c @implementation
public func dispatch_block_wait(_ block: Raw?, _ timeout: dispatch_time_t) -> Int {
  let item = DispatchWorkItem.behind(block, "dispatch_block_wait")
  guard item.wait(until: TimeCode(rawValue: timeout).deadline) else { return 49 }
  Sanitizer.comesAfter(gcd_block_body(block!))
  return 0
}

@c @implementation
public func dispatch_block_notify(_ block: Raw?, _ queue: dispatch_queue_t?, _ notification: Raw?) {
  let item = DispatchWorkItem.behind(block, "dispatch_block_notify")
  let queue = Handle.queue(queue).takeUnretainedValue()
  let work = Handle.need(notification)
  if gcd_block_work_item(work) != nil {
    item.notify(Job(block: work, on: queue), on: queue)
  } else {
    // A closure, so that it is released if the item is destroyed without having run.
    let body = Block(work)
    nonisolated(unsafe) let former = gcd_block_body(block!)
    item.notify(queue: queue) {
      Sanitizer.comesAfter(former)
      body()
    }
  }
}

@c @implementation
public func dispatch_block_cancel(_ block: Raw?) { DispatchWorkItem.behind(block, "dispatch_block_cancel").cancel() }

@c @implementation
public func dispatch_block_testcancel(_ block: Raw?) -> Int {
  DispatchWorkItem.behind(block, "dispatch_block_testcancel").isCancelled ? 1 : 0
}
