// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// How threads, objects and waits are called in sentences.
struct WhyWords {
  let snapshot: Snapshot
  /// The function and the line at an address; nil if that is not known.
  let symbol: (UInt64) -> String?
  /// Longer lists are cut.
  static let longestList = 16
  /// So are deeper trees: a damaged process, or a core file, may show one as deep as it has threads.
  static let deepest = 64
  private let threads: [Int32: Snapshot.Thread]

  init(snapshot: Snapshot, symbol: @escaping (UInt64) -> String?) {
    self.snapshot = snapshot
    self.symbol = symbol
    threads = snapshot.threadsByNumber
  }

  /// `thread "name" (tid)`; the main thread is called so.
  func thread(_ tid: Int32) -> String {
    guard let thread = threads[tid] else { return "thread \(tid)" }
    if thread.role == .main { return "the main thread (\(tid))" }
    let kind = thread.role == .worker ? "worker" : "thread"
    // A core file has no names of threads.
    return thread.name.isEmpty ? "\(kind) \(tid)" : "\(kind) \(quoted(thread.name)) (\(tid))"
  }

  func quoted(_ label: String) -> String { "\"" + TextLayout.printable(label) + "\"" }

  static func duration(_ nanoseconds: UInt64) -> String { NumberFormat.duration(Double(nanoseconds) / 1e9) }

  /// `queue "label"`, or where it lies if it has no label.
  func queue(label: String, address: UInt64) -> String {
    let label = label.isEmpty ? snapshot.object(at: address)?.label ?? "" : label
    if !label.isEmpty { return isMain(label) ? "the main queue" : "queue \(quoted(label))" }
    return address == 0 ? "a queue" : "queue \(Self.hexadecimal(address)) (it has no label)"
  }

  func object(_ wait: Snapshot.Wait) -> String {
    switch wait.kind {
    case .queue:
      queue(label: wait.label.isEmpty ? snapshot.object(of: wait)?.label ?? "" : wait.label, address: wait.address)
    case .itemElsewhere:
      wait.label.isEmpty ? "its item" : "its item on " + queue(label: wait.label, address: wait.address)
    case .group: named("group", wait)
    case .semaphore: named("semaphore", wait)
    case .workItem:
      named("work item", wait) + (wait.label.isEmpty ? "" : " of " + queue(label: wait.label, address: 0))
    case .apply: "the iterations of a concurrentPerform"
    case .once: named("once", wait)
    case .other: "something of the library's"
    }
  }

  private func named(_ kind: String, _ wait: Snapshot.Wait) -> String {
    if let label = snapshot.object(of: wait)?.label, !label.isEmpty { return "\(kind) \(quoted(label))" }
    return wait.address == 0 ? "a \(kind)" : "\(kind) \(Self.hexadecimal(wait.address))"
  }

  /// What the thread does, after its name: "waits in sync for queue …", for so and so long, and where it has called.
  func waiting(_ thread: Snapshot.Thread, withAge: Bool = true) -> String {
    guard let wait = thread.wait, thread.state == .waiting else { return running(thread) }
    let call =
      switch wait.kind {
      case .queue, .itemElsewhere: "waits in sync for"
      case .group, .semaphore, .workItem: "waits for"
      case .apply: "waits for"
      case .once: "waits for"
      case .other: "waits for"
      }
    var text = "\(call) \(object(wait))"
    if withAge { text += ", for \(Self.duration(thread.age))" }
    if wait.hasDeadline { text += " (the wait has a deadline)" }
    return text + place(wait.caller)
  }

  /// What a thread does that waits in none of the library's calls.
  func running(_ thread: Snapshot.Thread) -> String {
    if thread.state == .asleep { return "sleeps, without work" }
    // It looks again and again, and blocks nobody.
    if thread.role == .monitor, thread.kernel?.isRunning == false { return "looks after the workers from time to time" }
    var text = thread.kernel?.words ?? "runs, or blocks outside of the library"
    if let kernel = thread.kernel, kernel.lockOwner != 0 {
      let owner = self.thread(kernel.lockOwner)
      text += kernel.lock == .threadEnd ? ": \(owner)" : ", which \(owner) holds"
    }
    if !(thread.kernel?.isRunning ?? true), let age = thread.kernel?.age { text += ", for \(Self.duration(age))" }
    if let item = thread.item {
      text += ", in an item that began \(Self.duration(item.age)) ago" + place(item.function)
    }
    return text
  }

  /// ", inside an item of queue …"
  func inside(_ thread: Snapshot.Thread) -> String {
    let address = thread.insideAddress
    guard !thread.insideLabel.isEmpty || address != 0 else {
      if let item = thread.item, let queue = snapshot.object(item.queue) {
        return ", inside an item of " + self.queue(label: queue.label, address: queue.address)
      }
      return ""
    }
    return ", inside an item of " + queue(label: thread.insideLabel, address: address)
  }

  func place(_ address: UInt64) -> String {
    if address == 0 { return "" }
    let name = symbol(address) ?? Self.hexadecimal(address)
    // The program's function has called as the last thing that it does, and left no trace: what is found is the start of the thread.
    return name.hasPrefix(Self.startsThreads) ? "" : "; at " + name
  }

  private static let startsThreads = "libc.so"
  /// The label of the queue that Swift Concurrency runs its tasks on.
  static let poolOfTasks = "Swift global concurrent queue"

  /// A thread, where it is, and what it does.
  func sentence(_ tid: Int32) -> String {
    guard let thread = threads[tid] else { return "\(self.thread(tid)), which the library does not know" }
    let inside = inside(thread)
    return self.thread(tid) + (inside.isEmpty ? " " : inside + ", ") + waiting(thread)
  }

  /// The sentence begins with a capital letter and ends with a stop.
  static func whole(_ text: String) -> String {
    guard let first = text.first else { return "" }
    return first.uppercased() + text.dropFirst() + (text.hasSuffix(".") ? "" : ".")
  }

  static func hexadecimal(_ address: UInt64) -> String { "0x" + String(address, radix: 16) }

  func isMain(_ label: String) -> Bool { label == Snapshot.mainLabel }
}
