// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CDispatchGlue

// How functions and blocks become jobs. A function and its context are two words, and so is a closure: they lie in the
// same place of the node, and nothing is allocated. A block is copied once, and its own function is called with it.
extension Job {
  /// A job that calls a function. Without `.hasBody`: there is no closure to release.
  @inline(__always)
  init(
    _ function: @escaping Call.Function, _ context: Raw?, _ invoke: @escaping Invoke, qos: QoSWord, flags: Flags = []
  ) {
    self.init(invoke: invoke, flags: flags.union(.callsFunction), qos: qos.rawValue, band: qos.band)
    raw.storeBytes(of: function, toByteOffset: 24, as: Call.Function.self)
    raw.storeBytes(of: context, toByteOffset: 32, as: Raw?.self)
  }

  /// A job that calls a block, of which it keeps a copy; a job of the work item, too, if the block stands for one.
  init(block: Raw, on queue: DispatchQueue, barrier: Bool = false) {
    if let item = gcd_block_work_item(block) {
      // unsafe: the block keeps its item, and the caller the block.
      self = Unmanaged<DispatchWorkItem>.fromOpaque(item)._withUnsafeGuaranteedRef { $0.makeJob(for: queue) }
      Call.keep(block, in: self)
      if barrier { flags.insert(.barrier) }
      return
    }
    let copy = gcd_block_copy(block)!
    self.init(
      gcd_block_function(copy), copy, Call.block, qos: queue.submissionQoS, flags: barrier ? .barrier : [])
  }
}

/// What runs such jobs; each gives the node back first.
enum Call {
  typealias Function = @convention(c) (Raw?) -> Void

  private struct Words {
    let function: Function
    let context: Raw?

    @inline(__always)
    init(_ job: Job) {
      function = job.raw.load(fromByteOffset: 24, as: Function.self)
      context = job.raw.load(fromByteOffset: 32, as: Raw?.self)
      job.recycle()
    }

    @inline(__always) func run() { function(context) }
  }

  static let function: Job.Invoke = { Words(Job(raw: $0)).run() }

  static let block: Job.Invoke = { raw in
    let words = Words(Job(raw: raw))
    words.run()
    gcd_block_release(words.context)
  }

  /// Until the job of a work item has run, it keeps the block that stands for the item: the program may have given up its own reference, and
  /// ask by it from inside whether the item was cancelled.
  static func keep(_ block: Raw, in job: Job) {
    job.raw.storeBytes(of: gcd_block_copy(block), toByteOffset: 32, as: Raw?.self)
    job.invoke = item
  }

  static let item: Job.Invoke = { raw in
    let block = raw.load(fromByteOffset: 32, as: Raw?.self)
    Items.workItem(raw)
    gcd_block_release(block)
  }

  static let groupedFunction: Job.Invoke = { raw in
    let group = Unmanaged<DispatchGroup>.fromOpaque(Job(raw: raw).extra!)
    let words = Words(Job(raw: raw))
    Items.note(UInt(bitPattern: group.toOpaque()))
    words.run()
    Items.note(0)
    group._withUnsafeGuaranteedRef { $0.leave() }
  }

  static let groupedBlock: Job.Invoke = { raw in
    let group = Unmanaged<DispatchGroup>.fromOpaque(Job(raw: raw).extra!)
    let words = Words(Job(raw: raw))
    Items.note(UInt(bitPattern: group.toOpaque()))
    words.run()
    Items.note(0)
    gcd_block_release(words.context)
    group._withUnsafeGuaranteedRef { $0.leave() }
  }

  /// As `Items.groupedWorkItem`: `owner` is the group, retained.
  static let groupedItem: Job.Invoke = { raw in
    let group = Borrowed<DispatchGroup>(word: Job(raw: raw).owner!)
    Items.note(group.bits)
    item(raw)
    Items.note(0)
    group.use { $0.leave() }
    group.giveBack()
  }
}

/// A copy of a block for closures to keep: what stays longer than a job.
final class Block: @unchecked Sendable {  // immutable
  let raw: Raw

  init(_ block: Raw) { raw = gcd_block_copy(block)! }

  deinit { gcd_block_release(raw) }

  func callAsFunction() { gcd_block_call(raw) }
}

extension DispatchWorkItem {
  /// The item that a block from `dispatch_block_create` stands for.
  static func behind(_ block: Raw?, _ call: StaticString) -> DispatchWorkItem {
    guard let block else { Handle.nullArgument(call) }
    guard let item = gcd_block_work_item(block) else {
      Fault.misuse(
        .notAWorkItem, call.description + " was given a block that dispatch_block_create has not made. Make it so.")
    }
    return Unmanaged<DispatchWorkItem>.fromOpaque(item).takeUnretainedValue()
  }
}
