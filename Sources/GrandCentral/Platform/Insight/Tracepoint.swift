// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// The places where tracers look in, see CPlatformProbes.h. Each is one instruction that does nothing, in a function of its own.
enum Tracepoint {
  /// As C programs read it.
  typealias Text = UnsafePointer<CChar>
  typealias Times = gc_probe_timer_params

  /// Whether a tracer looks in.
  @inline(__always)
  static var areWanted: Bool { gc_probes_are_wanted() }

  /// An item of a queue: addresses, 0 where there is none.
  struct Item {
    let queue: UInt
    let item: UInt
    let kind: StaticString
    let function: UInt
    let context: UInt

    func push(_ label: Text) { gc_probe_queue_push(queue, label, item, kind.utf8Start, function, context) }
    func pop(_ label: Text) { gc_probe_queue_pop(queue, label, item, kind.utf8Start, function, context) }
    func entry(_ label: Text) { gc_probe_callout_entry(queue, label, function, context) }
    func exit(_ label: Text) { gc_probe_callout_return(queue, label, function, context) }
  }

  enum Timer { case configure, program, wake, fire }

  static func timer(_ timer: Timer, source: UInt, handler: UInt, _ times: Times) {
    var times = times
    switch timer {
    case .configure: gc_probe_timer_configure(source, handler, &times)
    case .program: gc_probe_timer_program(source, handler, &times)
    case .wake: gc_probe_timer_wake(source, handler)
    case .fire: gc_probe_timer_fire(source, handler)
    }
  }
}
