// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// One call of `concurrentPerform`, on its caller's stack.
///
/// The caller begins alone, with chunks that double, and measures. A call with little work ends there: it makes no system call
/// and wakes no thread. When what is left is worth a wake-up, the caller has helpers submitted. When the first pieces take
/// long, or wait for later ones, the monitor does so (see ApplyHelpRegistry.swift). Either way exactly one of the two closes
/// `claimed`, which gives out the indices until then.
struct ApplyCall: ~Copyable {
  /// The first word, see ApplyHelpRegistry.
  private let help: ApplyHelpRegistry.Help = ApplyCall.helped
  /// The first index not claimed by the caller alone; `closed` once the rest is shared.
  private let claimed = Atomic<Int>(0)
  /// The shared part that the monitor has made.
  private let shared = Atomic<UnsafeMutableRawPointer?>(nil)
  let count: Int
  let body: BorrowedClosure
  let helpers: Int
  let qos: UInt16
  /// Where the helpers are submitted; nil for the engine's own run queues.
  let queue: DispatchQueue?

  private static let closed = Int.max
  /// What is worth waking a helper for: about 6 µs, in cycles.
  @inline(__always)
  private static var worthHelp: Double { Double(Cycles.perMillisecond) * 0.0064 }

  /// How many helpers work of so many cycles is worth.
  static func helpersWorth(_ cycles: Double) -> Int { Int(min(cycles / worthHelp, 4096)) }

  private init(
    count: Int, body: BorrowedClosure, helpers: Int, queue: DispatchQueue?
  ) {
    self.count = count
    self.body = body
    self.helpers = helpers
    self.queue = queue
    qos = (queue?.submissionQoS ?? .ofThread).rawValue
  }

  /// Calls `body` with ranges that make up all indices below `count`.
  static func run(_ count: Int, _ body: (Int, Int) -> Void, helpers: Int, on queue: DispatchQueue?) {
    let helpers = min(helpers, count - 1)
    if helpers <= 0 { return count > 0 ? body(0, count) : () }
    var call = ApplyCall(count: count, body: BorrowedClosure(body), helpers: helpers, queue: queue)
    _withUnprotectedUnsafeMutablePointer(to: &call) { runWithHelp($0) }
  }

  private static func runWithHelp(_ call: UnsafeMutablePointer<ApplyCall>) {
    call.pointee.runWithHelp(.init(call))
  }

  /// - Parameter word: where this call lies, as the registry knows it.
  private func runWithHelp(_ word: UnsafeMutableRawPointer) {
    guard let place = Engine.current.applyHelp.enter(word),
      Engine.current.monitor.wake(Engine.current) || !Engine.current.applyHelp.leave(place, word)
    else { return ApplyRecord.finish(ApplyRecord.start(self, from: 0, helpers: helpers)) }
    let worth = runAlone()
    if Engine.current.applyHelp.leave(place, word) {
      if let first = close() { ApplyRecord.finish(ApplyRecord.start(self, from: first, helpers: worth)) }
    } else {
      ApplyRecord.finish(awaitShared())
    }
  }

  /// Runs chunks until all is done, or the rest is worth help, or help has come.
  ///
  /// - Returns: how many helpers the rest is worth.
  @inline(__always)
  private func runAlone() -> Int {
    let start = Cycles.now
    let worthHelp = Self.worthHelp
    var chunk = 1
    while let range = claim(chunk) {
      body(range.lowerBound, range.upperBound)
      if range.upperBound == count { return 0 }
      let elapsed = Double(Cycles.now &- start)
      let rest = elapsed / Double(range.upperBound) * Double(count - range.upperBound)
      if rest > worthHelp { return Self.helpersWorth(rest) }
      chunk *= 2
    }
    return 0
  }

  /// The next indices for the caller alone; nil when the rest is shared.
  @inline(__always)
  private func claim(_ chunk: Int) -> Range<Int>? {
    // relaxed: the word hands out indices; data comes with the record's submission.
    let first = claimed.load(ordering: .relaxed)
    if first == Self.closed { return nil }
    let end = min(count, first + chunk)
    guard claimed.compareExchange(expected: first, desired: end, ordering: .relaxed).exchanged else { return nil }
    if Recorder.isOn { World.hasClaimed() }
    return first..<end
  }

  /// Ends the claiming. Returns the first index that is not claimed; nil if there is none, or another thread has ended it.
  private func close() -> Int? {
    // relaxed: see `claim`.
    let first = claimed.exchange(Self.closed, ordering: .relaxed)
    return first < count ? first : nil
  }

  /// Monitor: shares what is left.
  private static let helped: ApplyHelpRegistry.Help = { raw in
    // unsafe: the monitor has taken the pointer; the caller waits for `shared`.
    raw.assumingMemoryBound(to: ApplyCall.self).pointee.share()
  }

  private func share() {
    let record = ApplyRecord.start(self, from: close() ?? count, helpers: helpers)
    // pairs with: awaitShared – publishes the record; the last access to the call
    shared.store(.init(record), ordering: .releasing)
  }

  private func awaitShared() -> ApplyRecord.Pointer {
    var backoff = Backoff()
    while true {
      // pairs with: helped – publishes the record
      if let raw = shared.load(ordering: .acquiring) { return raw.assumingMemoryBound(to: ApplyRecord.self) }
      backoff.wait()
    }
  }
}
