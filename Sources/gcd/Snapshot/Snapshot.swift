// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// What a process showed at one moment: a value, so that the code that reads it can be tested without a process.
///
/// Times are ages: nanoseconds from the event to the look.
struct Snapshot: Sendable, Equatable {
  var pid: Int32
  /// The library's version.
  var library = ""
  /// The numbers of its regions' files. A process that becomes another program has other ones.
  var regions: Set<UInt64> = []
  /// Workers wanted at once; 0 until the library knows.
  var parallelism = 0
  /// Pool threads at most, as the library and the program's environment have it; 0 if that is not known.
  var threadBudget = 0
  /// Everything that happens is recorded.
  var isRecording = false
  /// Objects are listed as soon as they are made.
  var listsObjects = false
  var threads: [Thread] = []
  /// So many threads wait beside these, for which the library has no room.
  var leftOut = 0
  /// For so many threads there is room.
  var room = 0
  /// In the order of their numbers.
  var objects: [Object] = []
  /// Workers that have begun and have shown nothing yet: they run their first item.
  var workersWithoutEntry: [Int32] = []
  /// The process is stopped, for so long as its threads have not run: what was going on then is told as it was then.
  var stoppedFor: UInt64 = 0
  /// The numbers of threads here by their own, if those are others.
  var numbers: [Int32: Int32]?
  /// So much later than the library's memory was the kernel asked, at most: nanoseconds.
  var lag: UInt64 = 0
  /// Entries of threads and objects that are left out, as their writers changed them at each of the looks.
  var torn = 0
  /// What the kernel says.
  var program = KernelProcess()
  /// The core file that this was read from; empty for a process that lives.
  var core = ""

  /// A thread that has met the library.
  struct Thread: Sendable, Equatable {
    var tid: Int32
    var name = ""
    var role = Role.program
    var state = State.active
    /// How long it is in that state.
    var age: UInt64 = 0
    /// What it waits for, if it waits in one of the library's calls.
    var wait: Wait?
    /// The queue whose item it is inside, the innermost; empty and 0 if it is in none, or if that is not known.
    var insideLabel = ""
    var insideAddress: UInt64 = 0
    /// The item that it runs; known while the process records.
    var item: Item?
    var items: UInt64 = 0
    var waits: UInt64 = 0
    var sleeps: UInt64 = 0
    var wakes: UInt64 = 0
    var lost: UInt64 = 0
    /// The main thread, which does nothing but run the main queue: it is in an item whenever it is active.
    var runsMainQueue = false
    var isInMainLoopsItem: Bool { runsMainQueue && state == .active }
    /// What the kernel says; nil if the thread was gone when it was asked.
    var kernel: KernelThread?
  }

  enum Role: String, Sendable, CaseIterable { case program, worker, main, monitor }

  enum State: String, Sendable, CaseIterable {
    case active, asleep, waiting
  }

  /// A wait in one of the library's calls.
  struct Wait: Sendable, Equatable {
    var kind: WaitKind
    /// Where the object lies that is waited for.
    var address: UInt64 = 0
    /// The object's number; 0 if it has none.
    var number = 0
    /// The label of the queue.
    var label = ""
    /// The thread that held it when the wait began; 0 if there was none, or it is not known.
    var owner: Int32 = 0
    var hasDeadline = false
    /// Where the program called; 0 if that is not known.
    var caller: UInt64 = 0
    /// A group: its members when the wait began. A semaphore: how many waited then.
    var count = 0
    /// A queue: how far behind its address its word lies in the process's memory; 0 if that is not known.
    var placeOfWord = 0
  }

  enum WaitKind: String, Sendable, CaseIterable {
    case queue, itemElsewhere, group, semaphore, workItem, apply, once, other
  }

  /// An item that runs.
  struct Item: Sendable, Equatable {
    var age: UInt64
    var function: UInt64 = 0
    /// The number of its queue, or 0.
    var queue = 0
  }

  /// A queue, or something else that has a number.
  struct Object: Sendable, Equatable {
    /// With the place of its region among the process's regions above the lower 32 bits: each copy of the library counts for itself.
    var number: Int
    /// As the program's library has it.
    var shownNumber: Int { Snapshot.shown(number) }
    var kind = Kind.serial
    var label = ""
    var address: UInt64 = 0
    /// How long it has its number.
    var age: UInt64 = 0
    /// The number of its target queue; 0 for a global queue that has none.
    var target = 0
    /// 0x21 user-interactive, 0x19 user-initiated, 0x15 default, 0x11 utility, 0x09 background; 0 for none of its own.
    var qos = 0
    /// Items at once; nil for no limit.
    var width: Int? = 1
    var suspensions = 0
    var isInactive = false
    /// How long it has been gone; nil while it lives.
    var endedAge: UInt64?
    /// Of an object that is no queue.
    var state: ObjectState?
    /// Of a queue that a thread waits for, or of a target of it; nil if it is not known.
    var word: QueueWord?
  }

  /// What an object that is no queue watches, waits for and has.
  struct ObjectState: Sendable, Equatable {
    /// What a source or a channel watches: a descriptor, a process, a signal; nil if there is none.
    var handle: Int?
    /// A timer: nanoseconds until it fires, negative if it is late; nil if it does not.
    var remaining: Int64?
    /// A timer: nanoseconds between two fires; 0: it fires once.
    var interval: UInt64 = 0
    /// A group: members. A channel: operations that have not ended.
    var count = 0
    /// A channel: bytes that it has not written yet.
    var bytes = 0
    /// A channel: how long a read has waited for something to read, and a write for room; nil: none waits.
    var reads: UInt64?
    var writes: UInt64?
    /// A channel: barriers that wait for operations to end.
    var barriers = 0
    /// A channel: what its descriptor is, as the kernel has it, if something waits for it.
    var file = ""
    /// A timer: it may fire so much later.
    var leeway: UInt64 = 0
    /// A group: how long ago it was last entered or left; nil if that is not known.
    var changed: UInt64?
    /// A source was cancelled, a channel closed.
    var isCancelled = false
  }

  enum Kind: String, Sendable, CaseIterable {
    case serial, concurrent, workloop, main, global, source, timer, channel, group

    var isQueue: Bool {
      switch self {
      case .serial, .concurrent, .workloop, .main, .global: true
      case .source, .timer, .channel, .group: false
      }
    }
  }
}

extension Snapshot {
  /// The number of an object; 0 is none in each region.
  static func number(_ number: UInt32, region: Int) -> Int { number == 0 ? 0 : Int(number) | region << 32 }

  static func shown(_ number: Int) -> Int { number & 0xffff_ffff }

  var workers: [Thread] { threads.filter { $0.role == .worker } }

  func thread(_ tid: Int32) -> Thread? { threads.first { $0.tid == tid } }

  /// The threads by their numbers, for many looks: `thread` goes through all of them each time.
  var threadsByNumber: [Int32: Thread] { Dictionary(threads.map { ($0.tid, $0) }) { first, _ in first } }

  /// The object of this number, while it lives. There may be very many.
  func object(_ number: Int) -> Object? {
    var (low, high) = (0, objects.count)
    while low < high {
      let middle = (low + high) / 2
      if objects[middle].number < number { low = middle + 1 } else { high = middle }
    }
    guard low < objects.count, objects[low].number == number, objects[low].endedAge == nil else { return nil }
    return objects[low]
  }

  func object(at address: UInt64) -> Object? {
    address == 0 ? nil : objects.first { $0.address == address && $0.endedAge == nil }
  }

  static let mainLabel = "com.apple.main-thread"

  /// Whether a thread waits for what the main thread is to run.
  func needsMain(_ thread: Thread) -> Bool {
    guard thread.state == .waiting, let wait = thread.wait else { return false }
    guard wait.kind == .queue || wait.kind == .itemElsewhere else { return false }
    if wait.label == Self.mainLabel || chain(of: wait).contains(where: { $0.kind == .main }) { return true }
    // It has its turn on the queue itself, and another thread must run its item: only the main thread can be that.
    return wait.kind == .itemElsewhere && wait.owner == thread.tid
  }

  /// The queue that is waited for, and its targets, as far as they are listed.
  func chain(of wait: Wait) -> [Object] {
    object(of: wait).map(chain(from:)) ?? []
  }

  /// A queue, and its targets, as far as they are listed.
  func chain(from queue: Object) -> [Object] {
    var chain = [queue]
    // A process may show a chain as long as its list, and one that is closed.
    var numbers: Set<Int> = [queue.number]
    while let target = object(chain[chain.count - 1].target), numbers.insert(target.number).inserted {
      chain.append(target)
    }
    return chain
  }

  /// What a wait is for, if it is listed.
  func object(of wait: Wait) -> Object? { object(wait.number) ?? object(at: wait.address) }

  /// The names of the classes of service.
  static func className(_ qos: Int) -> String {
    switch qos {
    case 0x21: "user-interactive"
    case 0x19: "user-initiated"
    case 0x15: "default"
    case 0x11: "utility"
    case 0x09: "background"
    case 0: ""
    default: "0x" + String(qos, radix: 16)
    }
  }
}
