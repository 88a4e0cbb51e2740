// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// Lengths of time, counted in steps of an eighth: `quantile` is exact to 12 %.
struct TopHistogram: Sendable, Equatable {
  private var counts: [UInt32] = []
  private(set) var count: UInt64 = 0

  mutating func add(_ nanoseconds: UInt64) {
    let index = Self.index(nanoseconds)
    if index >= counts.count { counts += repeatElement(0, count: index + 1 - counts.count) }
    counts[index] &+= 1
    count += 1
  }

  /// The length that a part of all is at most; nil if there is none.
  func quantile(_ part: Double) -> UInt64? {
    guard count > 0 else { return nil }
    let wanted = UInt64((Double(count) * part).rounded(.up))
    var seen: UInt64 = 0
    for (index, number) in counts.enumerated() {
      seen += UInt64(number)
      if seen >= wanted { return Self.value(index) }
    }
    return Self.value(counts.count - 1)
  }

  mutating func add(_ other: TopHistogram) {
    if other.counts.count > counts.count { counts += repeatElement(0, count: other.counts.count - counts.count) }
    for (index, number) in other.counts.enumerated() { counts[index] &+= number }
    count += other.count
  }

  private static func index(_ value: UInt64) -> Int {
    guard value >= 8 else { return Int(value) }
    let exponent = 63 - value.leadingZeroBitCount
    return (exponent - 2) * 8 + Int((value >> (exponent - 3)) & 7)
  }

  /// The middle of a step.
  private static func value(_ index: Int) -> UInt64 {
    guard index >= 8 else { return UInt64(max(0, index)) }
    let exponent = index / 8 + 2
    let step = UInt64(1) << (exponent - 3)
    return UInt64(8 + index % 8) * step + step / 2
  }
}

/// What records say of the time between two looks.
struct TopRates: Sendable, Equatable {
  struct Queue: Sendable, Equatable {
    var items: UInt64 = 0
    /// Nanoseconds in items since the last look, of all threads together. Items that run at a look count as far as they have come.
    var busy: UInt64 = 0
    var submitted: UInt64 = 0
    /// From submission to start.
    var latency = TopHistogram()
    /// Submitted while this was recorded, and not begun.
    var depth = 0
    /// When the oldest of these was submitted; 0 if there is none.
    var oldest: UInt64 = 0
    /// Timers: how late they were at most.
    var late: UInt64 = 0
    /// A timer: how often it has fired.
    var fires: UInt64 = 0
    /// Handlers of a source or a timer that were called.
    var calls: UInt64 = 0
    /// A timer that fires calls its handler, if it has one: that is one event.
    var events: UInt64 { max(fires, calls) }
  }

  /// Nanoseconds between the looks.
  var length: UInt64 = 0
  /// CLOCK_MONOTONIC of the last look: what is older had been written down then. To count it all may take long.
  var moment: UInt64 = 0
  var queues: [Int: Queue] = [:]
  /// Records that had no room, or that were overwritten before they were read: if there are any, what is counted is at least so
  /// much. Latencies are then those of a sample: of what was submitted and began while nothing was lost.
  var lost: UInt64 = 0
  /// Recording has not gone on all the time, as the process did not hear from the tool: the same holds.
  var stoodStill = false
  var isIncomplete: Bool { lost > 0 || stoodStill }
  /// More items have waited than are kept: how many wait, and since when, is not known, and latencies are those of a sample.
  var isOverfull = false

  /// What stands before numbers that are counted.
  var mark: String { isIncomplete ? "≥" : "" }

  /// How long before the look something was submitted; nil if it was not, or later.
  func age(_ submitted: UInt64) -> UInt64? { submitted > 0 && submitted < moment ? moment - submitted : nil }

  func perSecond(_ count: UInt64) -> Double { length == 0 ? 0 : Double(count) * 1e9 / Double(length) }

  /// The part of the time that one processor would have been busy with it.
  func busy(_ queue: Queue) -> Double { length == 0 ? 0 : Double(queue.busy) / Double(length) }

  var depth: Int { queues.values.reduce(0) { $0 + $1.depth } }
  var items: UInt64 { queues.values.reduce(0) { $0 + $1.items } }
  var latency: TopHistogram { queues.values.reduce(into: TopHistogram()) { $0.add($1.latency) } }
}

/// Sums up records. Submissions and the items that they become are brought together by their job, which is used again after the item
/// has begun: so they are looked at in the order of their times.
struct TopRatesCounter {
  enum Event: Sendable, Equatable {
    /// Queues and jobs have the numbers of the process's objects (`Snapshot.Object.number`).
    case item(queue: Int, job: Int, begin: UInt64, end: UInt64)
    case submit(queue: Int, job: Int, time: UInt64)
    case timer(queue: Int, late: UInt64)
    case source(queue: Int)
  }

  private var rates = TopRates()
  /// CLOCK_MONOTONIC.
  private var lastLook: UInt64 = 0
  /// By queue: for how long the items that ran at the last look had run; and when the last item has ended since.
  private var counted: [Int: UInt64] = [:]
  private var lastEnds: [Int: UInt64] = [:]
  /// Jobs that have been submitted and have not begun, by the time of their submission.
  private var waiting: [Int: (time: UInt64, queue: Int)] = [:]
  /// Jobs that have begun and whose submission was not there, by when they began. Threads' records are read one after the other: a
  /// submission may be written where has been read already, and its item where has not been yet. It comes with the next look.
  private var early: [Int: UInt64] = [:]
  private var batch: [(time: UInt64, job: Int, queue: Int, isItem: Bool)] = []
  /// How many are kept: a job whose begin was lost would stay.
  private let mostWaiting: Int
  /// So many may lie unmatched.
  private let mostUnmatched: Int
  /// How many of those that were not kept have not begun.
  private var forgotten = 0
  /// When records were lost since the last look, and before that one.
  private var gaps = TopGaps()
  private var formerGaps = TopGaps()

  init(mostWaiting: Int = 1 << 20, mostUnmatched: Int = 1 << 20) {
    (self.mostWaiting, self.mostUnmatched) = (mostWaiting, mostUnmatched)
  }

  mutating func add(_ event: Event) {
    switch event {
    case .item(let queue, let job, let begin, let end):
      rates.queues[queue, default: .init()].items += 1
      addBusy(queue, from: begin, to: end)
      lastEnds[queue] = max(lastEnds[queue] ?? 0, end)
      if job != 0 { batch.append((begin, job, queue, true)) }
    case .submit(let queue, let job, let time):
      rates.queues[queue, default: .init()].submitted += 1
      if job != 0 { batch.append((time, job, queue, false)) }
    case .timer(let queue, let late):
      rates.queues[queue, default: .init()].fires += 1
      rates.queues[queue, default: .init()].late = max(rates.queues[queue]?.late ?? 0, late)
    case .source(let queue): rates.queues[queue, default: .init()].calls += 1
    }
  }

  /// A thread has lost records in that time, by CLOCK_MONOTONIC.
  mutating func addGap(from begin: UInt64, to end: UInt64) { gaps.add(from: begin, to: end) }

  /// Nothing was recorded in that time.
  mutating func addStandstill(from begin: UInt64, to end: UInt64) {
    rates.stoodStill = true
    gaps.add(from: begin, to: end)
  }

  /// A job is used again. If a begin and the next submission of a job are lost, what is left of both looks like one item that waits long.
  private mutating func addLatency(_ queue: Int, from submitted: UInt64, to begun: UInt64) {
    if gaps.touch(submitted, begun) || formerGaps.touch(submitted, begun) { return }
    rates.queues[queue, default: .init()].latency.add(begun - submitted)
  }

  /// Counts what has not been counted at the last look, when the item ran.
  private mutating func addBusy(_ queue: Int, from begin: UInt64, to end: UInt64) {
    guard end > begin else { return }
    let counted = begin < lastLook ? min(counted[queue] ?? 0, lastLook - begin, end - begin) : 0
    self.counted[queue]? -= counted
    let busy = rates.queues[queue]?.busy ?? 0
    rates.queues[queue, default: .init()].busy = busy.addingOrMost(end - begin - counted)
  }

  /// Items that run at the look have been busy up to now, except those whose records have just been read.
  private mutating func addBusy(_ running: [Running], until moment: UInt64) {
    let running = running.filter { lastEnds[$0.queue] ?? 0 <= $0.begun && $0.begun < moment }
    for item in running { addBusy(item.queue, from: item.begun, to: moment) }
    counted = running.reduce(into: [:]) { $0[$1.queue, default: 0] += moment - $1.begun }
    lastEnds.removeAll(keepingCapacity: true)
    lastLook = moment
  }

  /// An item that runs at the look: its record comes when it has ended.
  struct Running: Sendable, Equatable {
    let queue: Int
    /// CLOCK_MONOTONIC.
    let begun: UInt64
  }

  /// How many submissions and begins lie unmatched.
  var unmatched: Int { batch.count }

  /// To be called when all records that there are have been added, and the gaps beside them: a screen that is paused takes no rates for
  /// hours, while records come in.
  mutating func shrink() {
    if batch.count >= mostUnmatched { match() }
  }

  /// Brings submissions and items together.
  private mutating func match() {
    // At the same moment, the submission comes first.
    batch.sort { $0.time != $1.time ? $0.time < $1.time : !$0.isItem && $1.isItem }
    gaps.settle()
    let earlier = early
    early.removeAll(keepingCapacity: true)
    var matched: Set<Int> = []
    for entry in batch {
      if entry.isItem {
        if let submission = waiting.removeValue(forKey: entry.job), submission.time <= entry.time {
          addLatency(entry.queue, from: submission.time, to: entry.time)
        } else {
          early[entry.job] = entry.time
          forgotten = max(0, forgotten - 1)
        }
      } else if let begun = earlier[entry.job], begun >= entry.time, matched.insert(entry.job).inserted {
        addLatency(entry.queue, from: entry.time, to: begun)
      } else {
        early[entry.job] = nil
        waiting[entry.job] = (entry.time, entry.queue)
      }
    }
    batch.removeAll(keepingCapacity: true)
    if waiting.count > mostWaiting {
      forgotten += waiting.count
      waiting.removeAll()
    }
  }

  /// The rates since the last call.
  mutating func take(length: UInt64, lost: UInt64, moment: UInt64, running: [Running] = []) -> TopRates {
    match()
    // Whether these have begun is not known then.
    if lost > 0 || rates.stoodStill { (waiting, forgotten) = ([:], 0) }
    for (queue, times) in forgotten > 0 ? [:] : pending(without: running) {
      rates.queues[queue, default: .init()].depth = times.count
      rates.queues[queue, default: .init()].oldest = times.first ?? 0
    }
    addBusy(running, until: moment)
    (formerGaps, gaps) = (gaps, TopGaps())
    var taken = rates
    taken.length = length
    taken.lost = lost
    taken.isOverfull = forgotten > 0
    taken.moment = moment
    rates = TopRates()
    return taken
  }

  /// By queue: when the items were submitted that have not begun, the oldest first. An item that runs is the oldest of those that were
  /// there when it began.
  private func pending(without running: [Running]) -> [Int: [UInt64]] {
    var times = Dictionary(grouping: waiting.values, by: \.queue).mapValues { $0.map(\.time).sorted() }
    for item in running {
      guard let first = times[item.queue]?.first, first <= item.begun else { continue }
      times[item.queue]?.removeFirst()
    }
    return times
  }
}
