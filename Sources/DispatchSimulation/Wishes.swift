// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CPlatform

/// What the environment asks for.
struct Wishes {
  let token: Token
  /// Where the report goes; nil for standard error, and then only that of a failure.
  let report: String?
  /// Where a trace of the last events is put; nil for none.
  let trace: String?
  /// How many of the last events the report tells.
  let events: Int
  /// Which waits, of which threads by number, are to tell where they are: `THREAD.WAIT`, with blanks between.
  let waits: [Int: Int]
  /// How many points the run may pass, and how long it may take in real time, in nanoseconds.
  let steps: Int
  let time: UInt64
  /// How many places are written down at which another thread could have gone on.
  let branches: Int

  private static let name: StaticString = "GRANDCENTRAL_SIMULATE"
  private static let longest = 60
  private static let processors = 2

  /// Nil if there is no schedule of that name. The processes that the program starts are not asked for anything.
  init?() {
    let text = Environment.value(of: Self.name).map { String(decoding: $0, as: UTF8.self) } ?? ""
    let seeded = UInt64(text).map { Token(.random(seed: $0), processors: Self.processors) }
    guard let token = seeded ?? Token(text) else { return nil }
    self.token = token
    report = Self.path("GRANDCENTRAL_SIMULATE_REPORT")
    trace = Self.path("GRANDCENTRAL_SIMULATE_TRACE")
    events = max(0, Environment.number(of: "GRANDCENTRAL_SIMULATE_EVENTS") ?? ToldEvents.mostLines)
    waits = Self.waits(Self.path("GRANDCENTRAL_SIMULATE_WAITS") ?? "")
    steps = max(1, Environment.number(of: "GRANDCENTRAL_SIMULATE_STEPS") ?? Attempt.longestRun)
    let seconds = Environment.number(of: "GRANDCENTRAL_SIMULATE_SECONDS") ?? Self.longest
    time = UInt64(min(max(1, seconds), 1_000_000)) * 1_000_000_000
    branches = max(0, Environment.number(of: "GRANDCENTRAL_SIMULATE_BRANCHES") ?? 0)
  }

  private static func waits(_ text: String) -> [Int: Int] {
    var waits: [Int: Int] = [:]
    for part in text.split(separator: " ") {
      let numbers = part.split(separator: ".").compactMap { Int($0) }
      if numbers.count == 2 { waits[numbers[0]] = numbers[1] }
    }
    return waits
  }

  private static func path(_ name: StaticString) -> String? {
    Environment.value(of: name).map { String(decoding: $0, as: UTF8.self) }
  }

  var schedule: any Schedule {
    if branches > 0, case .switches(let switches) = token.kind { return BranchSchedule(switches, most: branches) }
    return token.schedule
  }
}
