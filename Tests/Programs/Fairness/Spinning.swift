// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Items that spin until one other event has been handled: the item that comes last, a timer's, or a read source's. There are
/// more of them than processors, so the library must start further threads although none of its threads is blocked.
enum Spinning {
  static func run(_ kind: String, count: Int) {
    let queues = (0..<count).map { DispatchQueue(label: "spin-\($0)") }
    switch kind {
    case "serial": items(on: queues)
    case "global": items(on: Array(repeating: .global(), count: count))
    case "concurrent":
      items(on: Array(repeating: DispatchQueue(label: "spin", attributes: .concurrent), count: count))
    case "timer": timer(queues)
    case "read": read(queues)
    default: exit(64)
    }
  }

  /// One item a place of the list; the last one sets the others free.
  private static func items(on queues: [DispatchQueue]) {
    let (free, done) = (Moment(), Latch())
    let begin = monotonicNanoseconds()
    for queue in queues.dropLast() {
      queue.async { while free.value == 0 {} }
    }
    queues.last?.async {
      free.noteNow()
      done.open()
    }
    done.wait()
    tell("ms", milliseconds(span(begin, free.moment)))
  }

  /// Starts the spinning items, and returns when as many run as there are processors.
  private static func occupy(_ queues: some Sequence<DispatchQueue>, until free: Moment) {
    let busy = Latch(Kernel.usableProcessors)
    for queue in queues {
      queue.async {
        busy.open()
        while free.value == 0 {}
      }
    }
    busy.wait()
  }

  private static func timer(_ queues: [DispatchQueue]) {
    let (free, done) = (Moment(), Latch())
    let timer = DispatchSource.makeTimerSource(queue: queues.last)
    timer.setEventHandler {
      free.noteNow()
      done.open()
    }
    occupy(queues.dropLast(), until: free)
    let due = monotonicNanoseconds() + 100_000_000
    timer.schedule(deadline: .now() + .milliseconds(100), leeway: .nanoseconds(0))
    timer.activate()
    done.wait()
    tell("late ms", milliseconds(span(due, free.moment)))
  }

  private static func read(_ queues: [DispatchQueue]) {
    let (free, done, registered) = (Moment(), Latch(), Latch())
    guard let ends = Kernel.closeOnExecPipe() else { exit(1) }
    let source = DispatchSource.makeReadSource(fileDescriptor: ends.readEnd, queue: queues.last)
    source.setEventHandler {
      if free.value == 0 { free.noteNow() }
      done.open()
    }
    source.setRegistrationHandler { registered.open() }
    source.activate()
    registered.wait()
    occupy(queues.dropLast(), until: free)
    let written = monotonicNanoseconds()
    _ = write(ends.writeEnd, "x", 1)
    done.wait()
    tell("late ms", milliseconds(span(written, free.moment)))
  }
}
