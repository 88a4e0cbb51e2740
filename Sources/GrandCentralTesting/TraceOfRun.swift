// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

/// A run's last events as a trace in Perfetto's format, as `gcd trace` writes one: a track for each thread.
///
/// Virtual time stands still while a thread goes on. So that events lie one behind the other, each step is a microsecond more.
struct TraceOfRun {
  /// Numbers of Perfetto's public schema.
  private enum Field {
    static let packet: UInt64 = 1
    static let (timestamp, sequence, event, interned, flags, track): (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
      (8, 10, 11, 12, 13, 60)
    static let (identifier, process, thread): (UInt64, UInt64, UInt64) = (1, 3, 4)
    static let (processNumber, processName, threadNumber, threadName): (UInt64, UInt64, UInt64, UInt64) = (1, 6, 2, 5)
    static let (annotation, type, name, ofTrack): (UInt64, UInt64, UInt64, UInt64) = (4, 9, 10, 11)
    static let (annotatedInteger, annotatedName): (UInt64, UInt64) = (4, 10)
    static let (names, internedNumber, internedText): (UInt64, UInt64, UInt64) = (2, 1, 2)
    static let (begin, end, instant): (UInt64, UInt64, UInt64) = (1, 2, 3)
    static let (clearsState, needsState): (UInt64, UInt64) = (1, 2)
  }

  private static let process: UInt64 = 1
  private static let nanosecondsOfStep: UInt64 = 1_000

  private(set) var bytes: [UInt8] = []
  private var names: [String: UInt64] = [:]

  init(_ told: ToldEvents) {
    track(1) {
      $0.message(Field.process) {
        $0.integer(Field.processNumber, Self.process)
        $0.text(Field.processName, "a simulated run")
      }
    }
    for (index, name) in told.threads.enumerated() {
      track(Self.track(of: index)) {
        $0.message(Field.thread) {
          $0.integer(Field.processNumber, Self.process)
          $0.integer(Field.threadNumber, UInt64(index) + 2)
          $0.text(Field.threadName, name)
        }
      }
    }
    packet { $0.integer(Field.flags, Field.clearsState) }
    for event in told.events { add(event, told) }
  }

  private static func track(of thread: Int) -> UInt64 { UInt64(thread) + 2 }

  private mutating func track(_ number: UInt64, _ body: (inout Message) -> Void) {
    packet { packet in
      packet.message(Field.track) {
        $0.integer(Field.identifier, number)
        body(&$0)
      }
    }
  }

  private mutating func add(_ event: Events.Event, _ told: ToldEvents) {
    let label = told.label(of: event)
    let (type, name) =
      switch event.kind {
      case Events.Kind.itemBegins: (Field.begin, label.isEmpty ? "item" : label)
      case Events.Kind.itemEnds: (Field.end, "")
      default: (Field.instant, Events.word(event.kind) + (label.isEmpty ? "" : " \"" + label + "\""))
      }
    let known = names[name]
    let number = name.isEmpty ? 0 : known ?? UInt64(names.count) + 1
    if number != 0 { names[name] = number }
    packet { packet in
      packet.integer(Field.timestamp, event.time + UInt64(event.step) * Self.nanosecondsOfStep)
      packet.integer(Field.flags, Field.needsState)
      if known == nil, number != 0 {
        packet.message(Field.interned) {
          $0.message(Field.names) {
            $0.integer(Field.internedNumber, number)
            $0.text(Field.internedText, name)
          }
        }
      }
      packet.message(Field.event) {
        $0.integer(Field.type, type)
        $0.integer(Field.ofTrack, Self.track(of: event.thread))
        if number != 0 { $0.integer(Field.name, number) }
        if type != Field.end {
          $0.note("step", UInt64(event.step))
          $0.note("virtual time", event.time - Run.start)
        }
      }
    }
  }

  private mutating func packet(_ body: (inout Message) -> Void) {
    var message = Message()
    message.message(Field.packet) {
      body(&$0)
      $0.integer(Field.sequence, 1)
    }
    bytes += message.bytes
  }

  /// A message in the encoding of protocol buffers.
  private struct Message {
    var bytes: [UInt8] = []

    mutating func number(_ value: UInt64) {
      var rest = value
      while rest > 127 {
        bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      bytes.append(UInt8(rest))
    }

    mutating func integer(_ field: UInt64, _ value: UInt64) {
      number(field << 3)
      number(value)
    }

    mutating func text(_ field: UInt64, _ value: String) { block(field, Array(value.utf8)) }

    mutating func message(_ field: UInt64, _ body: (inout Message) -> Void) {
      var inner = Message()
      body(&inner)
      block(field, inner.bytes)
    }

    mutating func note(_ name: String, _ value: UInt64) {
      message(Field.annotation) {
        $0.text(Field.annotatedName, name)
        $0.integer(Field.annotatedInteger, value)
      }
    }

    private mutating func block(_ field: UInt64, _ content: [UInt8]) {
      number(field << 3 | 2)
      number(UInt64(content.count))
      bytes += content
    }
  }
}
