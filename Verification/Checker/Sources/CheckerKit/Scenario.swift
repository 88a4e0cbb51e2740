// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

import CheckerCore

/// A small program whose every schedule is to end well.
///
///     Scenario("Parker: a token is taken once", of: "Parker") { run in
///       let parker = Box(Parker())
///       run.thread { parker.value.unpark() }
///       run.thread { run.check(parker.value.park(), "K2: the token was there") }
///       run.finally { run.check(!parker.value.tryConsume(), "K1: one token, taken once") }
///     }
///
/// The body is carried out anew in each run, on the scenario's main thread. It makes what the threads share, and says what they
/// do. Then all threads run; when they have ended, what `finally` got is carried out.
public final class Scenario {
  public let name: String
  /// The source file whose protocol this is, for `Scripts/mutants`.
  public let file: String
  /// For the exhaustive search: none is complete.
  public let preemptions: Int?
  public let unusual: Int
  /// Whether the search gets to its end in seconds.
  public let isSmall: Bool
  /// A longer run is a finding.
  public let steps: UInt64
  let body: (ScenarioRun) -> Void

  public init(
    _ name: String, of file: String, preemptions: Int? = nil, unusual: Int = 1, isSmall: Bool = true,
    steps: UInt64 = 20_000,
    _ body: @escaping (ScenarioRun) -> Void
  ) {
    self.name = name
    self.file = file
    self.preemptions = preemptions
    self.unusual = unusual
    self.isSmall = isSmall
    self.steps = steps
    self.body = body
  }

  /// Explores it. `options.preemptions` and `unusual` are the scenario's own where they are not set.
  public func explore(_ options: ck_options) -> Exploration {
    var options = options
    let context = Unmanaged.passUnretained(self).toOpaque()
    let result = ck_explore(
      name,
      { context in
        let scenario = Unmanaged<Scenario>.fromOpaque(context!).takeUnretainedValue()
        let run = ScenarioRun()
        scenario.body(run)
        run.complete()
      }, context, &options)
    return Exploration(result)
  }
}

/// What an exploration has found.
public struct Exploration {
  public let failed: Bool
  public let isComplete: Bool
  public let runs: UInt64
  public let points: UInt64
  public let longest: UInt64
  public let seconds: Double
  public let message: String
  public let token: String
  public let table: String

  init(_ result: ck_result) {
    failed = result.failed
    isComplete = result.complete
    runs = result.runs
    points = result.points
    longest = result.longest
    seconds = result.seconds
    message = String(cString: result.message)
    token = String(cString: result.token)
    table = String(cString: result.table)
  }
}

/// One run of a scenario.
public final class ScenarioRun: @unchecked Sendable {  // fibres take turns
  private var bodies: [() -> Void] = []
  private var last: (() -> Void)?

  /// Adds a thread.
  public func thread(_ body: @escaping () -> Void) { bodies.append(body) }

  /// What comes after all threads.
  public func finally(_ body: @escaping () -> Void) { last = body }

  /// Ends the run as a failure unless `condition` holds.
  public func check(_ condition: Bool, _ text: @autoclosure () -> String) {
    if !condition { ck_fail("check: " + text()) }
  }

  fileprivate func complete() {
    let threads = bodies.map { body in
      ck_spawn(
        { raw in
          let closure = Unmanaged<Closure>.fromOpaque(raw!).takeRetainedValue()
          closure.body()
        }, Unmanaged.passRetained(Closure(body)).toOpaque())
    }
    for thread in threads { ck_join(thread) }
    last?()
    bodies = []
    last = nil
  }
}

private final class Closure {
  let body: () -> Void
  init(_ body: @escaping () -> Void) { self.body = body }
}

/// Something that cannot be copied, to be shared by a scenario's threads.
public final class Box<Value: ~Copyable> {
  public var value: Value
  public init(_ value: consuming Value) { self.value = value }
}

/// A plain word that threads share: a race is a finding, as is a value that was not to be.
public final class Plain: @unchecked Sendable {  // fibres take turns
  private let memory = UnsafeMutablePointer<Int>.allocate(capacity: 1)

  public init(_ value: Int = 0) { memory.pointee = value }
  deinit { memory.deallocate() }

  public var value: Int {
    get {
      ck_plain_read(memory, 8)
      return memory.pointee
    }
    set {
      ck_plain_write(memory, 8)
      memory.pointee = newValue
    }
  }
}
