// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue
import Synchronization

@c @implementation
public func dispatch_queue_create(
  _ label: UnsafePointer<CChar>?, _ attributes: dispatch_queue_attr_t?
) -> dispatch_queue_t? { dispatch_queue_create_with_target(label, attributes, nil) }

@c @implementation
public func dispatch_queue_create_with_target(
  _ label: UnsafePointer<CChar>?, _ attributes: dispatch_queue_attr_t?, _ target: dispatch_queue_t?
) -> dispatch_queue_t? {
  let attributes = QueueAttributes(attributes)
  let qos = attributes.qos
  return Handle.made(
    DispatchQueue(
      kind: attributes.isConcurrent ? .concurrent : .serial, name: QueueName(keeping: gcd_copy_text(label)),
      qos: qos,
      target: Handle.optionalQueue(target) ?? GlobalQueues.root(for: qos), inactive: attributes.isInactive,
      autoreleaseFrequency: attributes.autoreleaseFrequency))
}

private func workloop(_ label: UnsafePointer<CChar>?, inactive: Bool) -> OpaquePointer {
  Handle.made(DispatchWorkloop(name: QueueName(keeping: gcd_copy_text(label)), inactive: inactive))
}

@c @implementation
public func dispatch_workloop_create(_ label: UnsafePointer<CChar>?) -> dispatch_workloop_t? {
  workloop(label, inactive: false)
}

@c @implementation
public func dispatch_workloop_create_inactive(_ label: UnsafePointer<CChar>?) -> dispatch_workloop_t? {
  workloop(label, inactive: true)
}

/// Accepted: there are no autorelease pools.
@c @implementation
public func dispatch_workloop_set_autorelease_frequency(
  _ workloop: dispatch_workloop_t?, _ frequency: dispatch_autorelease_frequency_t
) {}

@c @implementation
public func dispatch_get_global_queue(_ identifier: Int, _ flags: UInt) -> dispatch_queue_global_t? {
  // 2 asks for a new thread at once. It has no effect: blocked workers are replaced anyway.
  guard flags & ~2 == 0 else { return nil }
  let queue: DispatchQueue
  switch identifier {
  case 0, 0x15: queue = GlobalQueues.default
  case 2, 0x19: queue = GlobalQueues.userInitiated
  // The lowest number of 8 bits is a priority as well, which no header declares on Linux.
  case -2, Int(Int8.min), 0x11: queue = GlobalQueues.utility
  case Int(Int16.min), 0x09, 0x05: queue = GlobalQueues.background
  case 0x21: queue = GlobalQueues.userInteractive
  default: return nil
  }
  return Handle.handle(of: queue)
}

@c @implementation
public func dispatch_get_current_queue() -> dispatch_queue_t? { Handle.handle(of: DispatchQueue.current) }

@c @implementation
public func dispatch_main() -> Never { dispatchMain() }

@c @implementation
public func dispatch_queue_get_label(_ queue: dispatch_queue_t?) -> UnsafePointer<CChar>? {
  guard let queue else { return DispatchQueue.current.cLabel }
  return Handle.queue(queue)._withUnsafeGuaranteedRef { $0.cLabel }
}

/// For queues that no other thread uses yet.
@c(dispatch_queue_set_label_nocopy)
public func queueSetLabel(_ queue: OpaquePointer?, _ label: UnsafePointer<CChar>?) {
  Handle.queue(queue, "dispatch_queue_set_label_nocopy")._withUnsafeGuaranteedRef { queue in
    if queue.kind.isBuiltIn { return }
    queue.queueName.free()
    queue.queueName = QueueName(keptElsewhere: label)
  }
}

extension DispatchQueue {
  /// The label with a zero behind it, valid as long as the queue.
  fileprivate var cLabel: UnsafePointer<CChar> {
    queueName.start ?? UnsafeRawPointer(StaticString("").utf8Start).assumingMemoryBound(to: CChar.self)
  }
}

@c @implementation
public func dispatch_queue_get_qos_class(
  _ queue: dispatch_queue_t?, _ relativePriority: UnsafeMutablePointer<Int32>?
) -> dispatch_qos_class_t {
  Handle.queue(queue)._withUnsafeGuaranteedRef { queue in
    let qos = queue.qos
    relativePriority?.pointee = Int32(qos.relativePriority)
    return qos.qosClass.rawValue
  }
}

/// How many items a concurrent queue runs at once: in order with its items, as a barrier. 0 is 1; negative numbers stand
/// for the number of processors. Other queues have no width to set, and the toolchain's library ends the process too.
@c(dispatch_queue_set_width)
public func queueSetWidth(_ queue: OpaquePointer?, _ width: Int) {
  Handle.queue(queue, "dispatch_queue_set_width")._withUnsafeGuaranteedRef { queue in
    if !queue.kind.hasReaders {
      Fault.misuse(
        .widthNotAllowed,
        "dispatch_queue_set_width was called on \"" + queue.name + "\", which is not a concurrent queue of your own. "
          + "Create the queue with DISPATCH_QUEUE_CONCURRENT.")
    }
    // The Swift runtime's queues of tasks have this number; others do not use it.
    if width == -3 { Settings.boundStarvationByTasks() }
    queue.setWidth(width < 0 ? DispatchQueue.processors : max(width, 1))
  }
}

// MARK: Values

/// A value under an address, with the function that it is given to in the end.
private final class AddressedValue: SpecificBox {
  let value: Raw
  private let destructor: dispatch_function_t?

  init(key: UnsafeRawPointer, value: Raw, destructor: dispatch_function_t?) {
    self.value = value
    self.destructor = destructor
    super.init(key: key)
  }

  deinit {
    if let destructor {
      GlobalQueues.default.enqueue(Job(destructor, value, Call.function, qos: GlobalQueues.default.submissionQoS))
    }
  }
}

extension SpecificLookup {
  fileprivate func take() -> Raw {
    defer { leave() }
    // unsafe: an address is either that of a key object, which C does not know, or one of C's.
    return box.use { unsafeDowncast($0, to: AddressedValue.self).value }
  }
}

@c @implementation
public func dispatch_queue_set_specific(
  _ queue: dispatch_queue_t?, _ key: UnsafeRawPointer?, _ value: Raw?, _ destructor: dispatch_function_t?
) {
  guard let key else { return }
  let box = value.map { AddressedValue(key: key, value: $0, destructor: destructor) }
  Handle.queue(queue)._withUnsafeGuaranteedRef { $0.replaceSpecific(key, with: box) }
}

@c @implementation
public func dispatch_queue_get_specific(_ queue: dispatch_queue_t?, _ key: UnsafeRawPointer?) -> Raw? {
  guard let key else { return nil }
  return Handle.queue(queue)._withUnsafeGuaranteedRef { $0.lookUp(key)?.take() }
}

@c @implementation
public func dispatch_get_specific(_ key: UnsafeRawPointer?) -> Raw? {
  key.flatMap { DispatchQueue.lookUpCurrent($0)?.take() }
}

// MARK: Assertions

@c @implementation
public func dispatch_assert_queue(_ queue: dispatch_queue_t?) {
  Handle.queue(queue)._withUnsafeGuaranteedRef { dispatchPrecondition(condition: .onQueue($0)) }
}

@c @implementation
public func dispatch_assert_queue_barrier(_ queue: dispatch_queue_t?) {
  Handle.queue(queue)._withUnsafeGuaranteedRef { dispatchPrecondition(condition: .onQueueAsBarrier($0)) }
}

@c @implementation
public func dispatch_assert_queue_not(_ queue: dispatch_queue_t?) {
  Handle.queue(queue)._withUnsafeGuaranteedRef { dispatchPrecondition(condition: .notOnQueue($0)) }
}
