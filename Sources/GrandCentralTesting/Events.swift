// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

#if !GRANDCENTRAL_DROPIN
  import GrandCentral
#endif

/// What has happened in a run: a hash of all of it, and the last part as text.
struct Events {
  struct Event {
    let step: Int
    let time: UInt64
    let thread: Int
    let kind: UInt8
    /// The library's number of a queue, or 0.
    let queue: UInt32
  }

  /// Kinds behind those of the library's recorder.
  enum Kind {
    static let itemBegins = SimulationSupport.itemBegins
    static let itemEnds: UInt8 = 1
    static let yield: UInt8 = 100
    static let begins: UInt8 = 101
    static let ends: UInt8 = 102
    static let locks: UInt8 = 103
    static let starts: UInt8 = 104
    static let sleeps: UInt8 = 105
    static let transfers: UInt8 = 106
    static let waitsOutside: UInt8 = 107
  }

  private static let kept = 1 << 14

  private(set) var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  private var last: [Event] = []
  private var oldest = 0
  /// The library's numbers of queues go on from run to run: here they are counted anew, in order of appearance.
  private var order: [UInt32: UInt32] = [:]
  private var appeared: UInt32 = 0

  mutating func add(_ event: Event) {
    var queue: UInt32 = 0
    if event.queue != 0 {
      if let known = order[event.queue] {
        queue = known
      } else {
        appeared += 1
        order[event.queue] = appeared
        queue = appeared
      }
      // Its number may be another one's next.
      if event.kind == SimulationSupport.queueGoes { order[event.queue] = nil }
    }
    mix(UInt64(event.thread) << 40 | UInt64(event.kind) << 32 | UInt64(queue))
    mix(event.time)
    if last.count < Self.kept {
      last.append(event)
    } else {
      last[oldest] = event
      oldest = (oldest + 1) % Self.kept
    }
  }

  private mutating func mix(_ word: UInt64) {
    hash = (hash ^ word) &* 0x9FB2_1C65_1E98_DF25
    hash ^= hash >> 32
  }

  /// The last events, with the names that threads and queues have now.
  func told(threads: [String]) -> ToldEvents {
    let events = Array(last[oldest...] + last[..<oldest])
    var labels: [UInt32: String] = [:]
    for event in events where labels[event.queue] == nil {
      labels[event.queue] = SimulationSupport.label(ofObject: event.queue)
    }
    return ToldEvents(events: events, threads: threads, labels: labels)
  }

  static func word(_ kind: UInt8) -> String {
    let words = [
      "", "item ends", "submits to", "sync begins on", "sync ends on", "has waited", "has slept", "wakes a thread",
      "worker begins", "worker ends", "suspends", "resumes", "retargets", "frees", "timer fires", "source fires",
      "signals a semaphore", "empties a group", "adds a worker", "mark", "interval begins", "interval ends", "counter",
      "transfers", "applies", "steals", "span ends",
    ]
    if Int(kind) < words.count { return words[Int(kind)] }
    switch kind {
    case Kind.itemBegins: return "item begins"
    case Kind.yield: return "yields"
    case Kind.ends: return "ends"
    case Kind.begins: return "begins"
    case Kind.locks: return "is about to lock"
    case Kind.starts: return "has started a thread"
    case Kind.sleeps: return "sleeps"
    case Kind.transfers: return "is about to use a descriptor"
    case Kind.waitsOutside: return "waits for a mutex of the system"
    case SimulationSupport.signals: return "is about to signal a semaphore"
    case SimulationSupport.awaitsSignal: return "is about to wait for a semaphore"
    case SimulationSupport.enters: return "is about to enter a group"
    case SimulationSupport.leaves: return "is about to leave a group"
    case SimulationSupport.awaitsGroup: return "is about to wait for a group"
    default: return "event " + String(kind)
    }
  }
}
