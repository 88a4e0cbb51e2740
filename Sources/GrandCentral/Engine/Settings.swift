// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform
import Synchronization

/// Numbers that a program or its environment may choose.
enum Settings {
  static let defaultThreadBudget = 512

  /// The most pool threads of the process, over all bands. 0 until first asked for.
  private static let budget = Atomic<Int>(0)
  /// Nanoseconds after which the least urgent bands get a turn; 0 = never (strict order). `max` until first asked for; `noChoice` if neither
  /// the program nor its environment has chosen.
  private static let starvation = Atomic<UInt64>(.max)
  private static let noChoice = UInt64.max - 1
  /// The same, where none was chosen.
  private static let usualStarvation = Atomic<UInt64>(0)

  @inline(__always)
  static var threadBudget: Int {
    // relaxed: a number by itself.
    let value = budget.load(ordering: .relaxed)
    return value != 0 ? value : threadBudgetSlow()
  }

  @inline(never)
  @_optimize(size)
  private static func threadBudgetSlow() -> Int {
    let wanted = Environment.number(of: "GRANDCENTRAL_THREAD_BUDGET") ?? defaultThreadBudget
    setThreadBudget(wanted)
    // relaxed: a number by itself.
    return budget.load(ordering: .relaxed)
  }

  static func setThreadBudget(_ value: Int) {
    // relaxed: a number by itself.
    budget.store(min(max(1, value), WorkerTable.capacity), ordering: .relaxed)
  }

  /// How long pending work of a less urgent band may be passed over; nil keeps the order strict.
  static var starvationBound: UInt64? {
    // relaxed: a number by itself.
    var value = starvation.load(ordering: .relaxed)
    if value == .max {
      let chosen = Environment.number(of: "GRANDCENTRAL_STARVATION_MS")
      value = chosen.map { UInt64(max(0, $0)) &* 1_000_000 } ?? noChoice
      starvation.store(value, ordering: .relaxed)
    }
    // relaxed: as above.
    if value == noChoice { value = usualStarvation.load(ordering: .relaxed) }
    return value == 0 ? nil : value
  }

  /// Swift Concurrency's tasks run on the pool. A task that waits for a less urgent one makes that more urgent, but not its jobs that are on
  /// their way; and tasks that yield in turns always have more work. So less urgent work gets a turn now and then, unless the program or its
  /// environment has chosen.
  @_optimize(size)
  static func boundStarvationByTasks() {
    // relaxed: a number by itself.
    usualStarvation.store(100_000_000, ordering: .relaxed)
  }

  static func setStarvationBound(nanoseconds: UInt64) {
    // relaxed: a number by itself.
    starvation.store(nanoseconds, ordering: .relaxed)
  }

  /// Whether a short spin can pay: another processor may produce what is waited for.
  static var maySpin: Bool {
    guard let engine = Engine.existing else { return Topology.activeProcessors() > 1 }
    // relaxed: a number by itself.
    return engine.pointee.parallelism.load(ordering: .relaxed) > 1
  }

  /// Whether `GRANDCENTRAL_CHECKS` asks for reports of async code that blocks: 0 until first asked, 1 no, 2 yes.
  private static let blockingReports = Atomic<UInt8>(0)

  static var reportsBlocking: Bool {
    // relaxed: a setting.
    let known = blockingReports.load(ordering: .relaxed)
    if known != 0 { return known == 2 }
    let checks = Environment.value(of: "GRANDCENTRAL_CHECKS") ?? []
    let wanted = Text.parts(checks[...], UInt8(ascii: ",")).contains { Text.equal($0, "blocking") }
    // relaxed: a setting; every thread that finds it unset computes the same value.
    blockingReports.store(wanted ? 2 : 1, ordering: .relaxed)
    return wanted
  }

  /// What happens when threads wait for each other in a circle.
  enum Cycles: UInt8 {
    case trap = 1
    case report
    case off
  }

  /// 0 until first asked for.
  private static let cycleSetting = Atomic<UInt8>(0)
  private static let patience = Atomic<UInt64>(20_000_000)

  /// The setting where the program chooses none. A program written for libdispatch.so may hang unnoticed: it is reported, and
  /// goes on.
  private static var usualCycles: Cycles {
    #if hasFeature(Embedded) || GRANDCENTRAL_DROPIN
      .report
    #else
      .trap
    #endif
  }

  /// The environment's `GRANDCENTRAL_CYCLES`: `trap`, `report` or `off`; with `:` and a number, `cyclePatience` in milliseconds.
  static var cycles: Cycles {
    // relaxed: a setting.
    if let known = Cycles(rawValue: cycleSetting.load(ordering: .relaxed)) { return known }
    let words = Text.parts((Environment.value(of: "GRANDCENTRAL_CYCLES") ?? [])[...], UInt8(ascii: ":"))
    let wanted = words.first ?? []
    let milliseconds = words.dropFirst().first.flatMap { Text.number($0) }
    let named: [(StaticString, Cycles)] = [("trap", .trap), ("report", .report), ("off", .off)]
    let value = named.first { Text.equal(wanted, $0.0) }?.1 ?? usualCycles
    // relaxed: a setting, announced by the next line; a thread that comes too early waits as long as is usual.
    if let milliseconds { patience.store(UInt64(milliseconds) &* 1_000_000, ordering: .relaxed) }
    setCycles(value)
    return value
  }

  static func setCycles(_ value: Cycles) {
    // relaxed: a setting; a thread that finds it unset finds the same in the environment.
    cycleSetting.store(value.rawValue, ordering: .relaxed)
  }

  /// How long a thread waits before it looks for a cycle.
  static var cyclePatience: UInt64 {
    // relaxed: a setting.
    patience.load(ordering: .relaxed)
  }

  static func setCyclePatience(nanoseconds: UInt64) {
    // relaxed: a setting.
    patience.store(nanoseconds, ordering: .relaxed)
  }
}
