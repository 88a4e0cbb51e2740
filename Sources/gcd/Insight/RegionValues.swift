// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Glibc
import Synchronization

/// What a thread does.
struct RegionThread {
  enum Role: UInt32 {
    case program = 0
    case worker = 1
    case main = 2
    case monitor = 3
    case mainLoop = 4
  }

  enum State: UInt32 {
    case active = 0
    case asleep = 1
    case waits = 2
  }

  /// What it waits for.
  enum Wait: UInt32 {
    case none = 0
    case queue = 1
    case itemElsewhere = 2
    case group = 3
    case semaphore = 4
    case workItem = 5
    case apply = 6
    case once = 7
    case other = 8

    /// As the end of a sentence: "waits for …".
    var words: String {
      switch self {
      case .none: "nothing"
      case .queue: "its turn on a queue"
      case .itemElsewhere: "its item, which another thread runs"
      case .group: "a group"
      case .semaphore: "a semaphore"
      case .workItem: "a work item"
      case .apply: "iterations that other threads run"
      case .once: "a once block"
      case .other: "something else"
      }
    }
  }

  let index: Int
  /// The kernel's number.
  let identifier: pid_t
  let role: Role
  let state: State
  /// When the state began: the counter.
  let since: UInt64
  /// The address of what it waits for.
  let object: UInt64
  let wait: Wait
  /// The number of what it waits for, or 0.
  let number: UInt32
  /// The thread that held it when the wait began, or 0.
  let owner: pid_t
  let hasDeadline: Bool
  let caller: UInt64
  let waitsFor: String
  /// The label of the queue whose item it is inside; empty: none.
  let inside: String
  let insideObject: UInt64
  let itemBegun: UInt64
  let itemFunction: UInt64
  let itemQueue: UInt32
  /// Of a group, its members when the wait began; of a semaphore, how many waited.
  let count: Int
  let items: UInt64
  let lost: UInt64
  let waits: UInt64
  let sleeps: UInt64
  let wakes: UInt64

  init(index: Int, _ raw: gc_insight_thread) {
    self.index = index
    identifier = pid_t(truncatingIfNeeded: raw.tid & 0x7fff_ffff)
    role = Role(rawValue: raw.role) ?? .program
    state = State(rawValue: raw.state) ?? .active
    since = raw.since
    object = raw.object
    wait = Wait(rawValue: raw.wait) ?? .other
    number = raw.number
    owner = pid_t(truncatingIfNeeded: raw.owner & 0x7fff_ffff)
    hasDeadline = raw.timed != 0
    caller = raw.caller
    waitsFor = RegionText.text(raw.waits_for)
    inside = RegionText.text(raw.inside)
    insideObject = raw.inside_object
    itemBegun = raw.item_begun
    itemFunction = raw.item_function
    itemQueue = raw.item_queue
    count = Int(raw.count)
    items = raw.items
    lost = raw.lost
    waits = raw.waits
    sleeps = raw.sleeps
    wakes = raw.wakes
  }
}

/// A queue, or something else that has a number.
struct RegionObject {
  enum Kind: UInt32, CaseIterable {
    case serial = 1
    case concurrent = 2
    case workloop = 3
    case main = 4
    case global = 5
    case source = 6
    case timer = 7
    case channel = 8
    case group = 9
    /// One that this tool does not know.
    case other = 0xffff_ffff

    var isQueue: Bool {
      switch self {
      case .serial, .concurrent, .workloop, .main, .global: true
      case .source, .timer, .channel, .group, .other: false
      }
    }

    var words: String {
      switch self {
      case .serial: "serial queue"
      case .concurrent: "concurrent queue"
      case .workloop: "workloop"
      case .main: "main queue"
      case .global: "global queue"
      case .source: "source"
      case .timer: "timer"
      case .channel: "channel"
      case .group: "group"
      case .other: "object"
      }
    }
  }

  let number: UInt32
  let kind: Kind
  let address: UInt64
  let made: UInt64
  /// The number of its target queue, or 0.
  let target: UInt32
  /// Class of its own: 0x21 user-interactive … 0x09 background; 0: none.
  let qos: UInt16
  /// Items at once; nil: no limit.
  let width: Int?
  let suspensions: Int
  let isActive: Bool
  /// When it went: the counter; nil: it lives.
  let ended: UInt64?
  /// A queue's label, or what kind of source it is.
  let label: String
  /// Of an object that is no queue.
  let state: State?

  /// What it watches, waits for and has.
  struct State {
    let handle: UInt32
    /// When a timer fires next, by its clock; all ones: never. Since when a channel's read has waited, or when a group has last changed,
    /// by the counter; 0: it is not so, or not known.
    let due: UInt64
    /// A timer's. Since when a channel's write has waited.
    let interval: UInt64
    /// A timer's; a channel's barriers that wait.
    let clock: UInt32
    let count: Int
    /// A channel's to write; a timer's leeway.
    let bytes: Int
    let isCancelled: Bool
  }

  init(number: UInt32, _ raw: gc_insight_object) {
    self.number = number
    kind = Kind(rawValue: raw.kind) ?? .other
    address = raw.address
    made = raw.made
    target = raw.target
    qos = raw.qos
    width = raw.width == 0xffff ? nil : Int(raw.width)
    suspensions = Int(raw.suspensions)
    isActive = raw.inactive == 0
    ended = raw.ended == 0 ? nil : raw.ended
    if kind.isQueue || kind == .other {
      label = RegionText.text(raw.label)
      state = nil
    } else {
      let watched = withUnsafePointer(to: raw) { gc_insight_state_of($0) }
      label = RegionText.text(watched.what)
      state = State(watched)
    }
  }

  /// How it is called: by its label, else by what it is.
  var shown: String {
    if kind.isQueue, !label.isEmpty { return label }
    return "\(label.isEmpty ? kind.words : label) \(number)"
  }
}

extension RegionObject.State {
  fileprivate init(_ raw: gc_insight_state) {
    handle = UInt32(truncatingIfNeeded: raw.handle)
    due = raw.due
    interval = raw.interval
    clock = raw.clock
    count = max(0, Int(Int64(bitPattern: raw.count)))
    bytes = max(0, Int(Int64(bitPattern: raw.bytes)))
    isCancelled = raw.flags & UInt32(GC_OBJECT_CANCELLED) != 0
  }
}

/// Which records of which thread.
struct RegionChunk {
  /// A chunk without its records, which would be too many for the stack.
  struct Head: BitwiseCopyable {
    var state: UInt32 = 0
    var count: UInt32 = 0
    var number: UInt64 = 0
    var tid: UInt32 = 0
    var thread: UInt32 = 0
    var counter: UInt64 = 0
    var uptime: UInt64 = 0
    var lost: UInt64 = 0
    var name: (UInt64, UInt64) = (0, 0)
  }

  /// How many records a chunk holds.
  static let room = Int(GC_INSIGHT_CHUNK_SIZE - GC_INSIGHT_CHUNK_HEAD) / MemoryLayout<gc_insight_record>.stride

  let index: Int
  let isFull: Bool
  /// Chunks of the process in the order in which they were begun.
  let number: UInt64
  /// How many of its records are whole.
  let end: Int
  let thread: pid_t
  let threadIndex: Int
  /// When it was begun: the counter.
  let counter: UInt64
  /// What its thread, and earlier ones of the same entry, had lost until then.
  let lost: UInt64
  let name: String

  init(index: Int, state: UInt32, number: UInt64, end: Int, _ raw: Head) {
    self.index = index
    isFull = state == GC_CHUNK_FULL
    self.number = number
    self.end = end
    thread = pid_t(truncatingIfNeeded: raw.tid & 0x7fff_ffff)
    threadIndex = Int(raw.thread)
    counter = raw.counter
    lost = raw.lost
    name = RegionText.text(raw.name)
  }
}

/// Texts of fixed length.
enum RegionText {
  /// The text up to the first zero, or the field's end; what would move a cursor is the caller's to escape.
  static func text<Field: BitwiseCopyable>(_ field: Field, atMost limit: Int = .max) -> String {
    withUnsafeBytes(of: field) { bytes in
      String(decoding: bytes.prefix(max(0, limit)).prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}

extension RegionReader {
  /// What was copied was copied before what is read next.
  static func fence() {
    // acquiring: orders the loads of a copy before the load that validates it.
    atomicMemoryFence(ordering: .acquiring)
  }
}
