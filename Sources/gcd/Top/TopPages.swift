// Part of GrandCentral. SPDX-License-Identifier: Apache-2.0

/// The pages, and the tables on them.
enum TopPage: Int, CaseIterable, Sendable {
  case overview, queues, threads, waits, sources

  var title: String {
    switch self {
    case .overview: "Overview"
    case .queues: "Queues"
    case .threads: "Threads"
    case .waits: "Waits"
    case .sources: "Sources"
    }
  }
}

struct TopPages {
  /// Rows keep it: a reference, where the model is large.
  private final class Look: Sendable {
    let model: TopModel
    init(_ model: TopModel) { self.model = model }
  }

  private let look: Look
  private var model: TopModel { look.model }
  private let words: WhyWords
  private let graph: WaitGraph
  private let waiters: Waiters

  /// How many threads wait in sync for each queue: by its number, and by its label if it has no entry. Labels say less:
  /// two queues may have one, and the end of a long one is cut.
  private struct Waiters {
    var byNumber: [Int: Int] = [:]
    var unlisted: [String: Int] = [:]

    init(_ snapshot: Snapshot) {
      for thread in snapshot.threads where thread.state == .waiting {
        guard let wait = thread.wait, wait.kind == .queue || wait.kind == .itemElsewhere else { continue }
        if let queue = snapshot.object(of: wait) {
          byNumber[queue.number, default: 0] += 1
        } else if !wait.label.isEmpty {
          unlisted[wait.label, default: 0] += 1
        }
      }
    }
  }

  init(_ model: TopModel) {
    look = Look(model)
    words = WhyWords(snapshot: model.snapshot, symbol: { _ in nil })
    graph = WaitGraph(model.snapshot)
    waiters = Waiters(model.snapshot)
  }

  func table(_ page: TopPage) -> TopTable {
    switch page {
    case .overview, .queues: queues
    case .threads: threads
    case .waits: waits
    case .sources: sources
    }
  }

  // MARK: Queues

  static let queueColumns: [TopColumn] = [
    TopColumn(title: "QUEUE", width: 16, isRight: false, isElastic: true, help: "its label"),
    TopColumn(title: "P99", width: 8, rank: 1, help: "99 of 100 items began within this time after their submission"),
    TopColumn(title: "P50", width: 8, rank: 4, help: "half of the items began within this time"),
    TopColumn(title: "ITEMS/S", width: 9, rank: 2, help: "items that ended, a second; ≥ where records were lost"),
    TopColumn(title: "BUSY", width: 6, rank: 3, help: "time in its items, of one processor's"),
    TopColumn(title: "PEND", width: 5, rank: 2, help: "items submitted and not begun, since recording began"),
    TopColumn(title: "OLDEST", width: 8, rank: 5, help: "how long the oldest of these has waited"),
    TopColumn(title: "WAIT", width: 4, rank: 3, help: "threads that wait in sync for it"),
    TopColumn(title: "KIND", width: 10, isRight: false, rank: 6, help: "serial, concurrent, workloop, main, global"),
    TopColumn(title: "QOS", width: 16, isRight: false, rank: 8, help: "class of service of its own"),
    TopColumn(
      title: "TARGET", width: 16, isRight: false, rank: 9, isElastic: true, help: "the queue that runs its items"),
    TopColumn(title: "STATE", width: 11, isRight: false, rank: 4, help: "suspended (how often), inactive"),
  ]

  private var queues: TopTable {
    let rows = model.snapshot.objects.filter { $0.kind.isQueue && $0.endedAge == nil }.map(row)
    return TopTable(columns: Self.queueColumns, rows: rows + unlisted)
  }

  private func row(_ queue: Snapshot.Object) -> TopRow {
    let rates = model.rates?.queues[queue.number]
    let waiters = waiters.byNumber[queue.number] ?? 0
    return TopRow(id: "queue \(queue.number)", count: Self.queueColumns.count) { [look] column in
      switch column {
      case 0: TopCell(queue.label.isEmpty ? "queue \(queue.shownNumber)" : queue.label)
      case Self.numbers: Self.number(column, rates, look.model)
      case 7: TopCell(waiters == 0 ? "" : String(waiters), .warning, order: Double(waiters))
      case 8: TopCell(queue.kind.rawValue)
      case 9: TopCell(Snapshot.className(queue.qos))
      case 10: TopCell(look.model.snapshot.object(queue.target)?.label ?? "")
      default: TopCell(queue.stateWords, .warning)
      }
    }
  }

  /// Queues that have no entry, and that threads wait for or are inside.
  private var unlisted: [TopRow] {
    let snapshot = model.snapshot
    let inside = snapshot.threads.filter { !$0.insideLabel.isEmpty && snapshot.object(at: $0.insideAddress) == nil }
    let labels = Set(waiters.unlisted.keys).union(inside.map(\.insideLabel))
    return labels.sorted().map { label in
      let waiters = waiters.unlisted[label] ?? 0
      return TopRow(
        id: "label " + label,
        cells: [TopCell(label)] + Self.numbers.map { Self.number($0, nil, model) } + [
          TopCell(waiters == 0 ? "" : String(waiters), .warning, order: Double(waiters)), TopCell("unlisted", .dim),
          TopCell(""), TopCell(""), TopCell(""),
        ])
    }
  }

  /// The columns of numbers.
  private static let numbers = 1...6

  private static func number(_ column: Int, _ rates: TopRates.Queue?, _ model: TopModel) -> TopCell {
    guard let all = model.rates else { return TopCell("-", .dim, order: -1) }
    let rates = rates ?? TopRates.Queue()
    func length(_ value: UInt64?, alarm: UInt64) -> TopCell {
      TopCell(TopModel.length(value), (value ?? 0) >= alarm ? .alarm : .plain, order: Double(value ?? 0))
    }
    switch column {
    case 1: return length(rates.latency.quantile(0.99), alarm: 100_000_000)
    case 2: return length(rates.latency.quantile(0.5), alarm: 100_000_000)
    case 3: return TopCell(all.mark + TopModel.rate(all.perSecond(rates.items)), order: all.perSecond(rates.items))
    case 4: return TopCell(all.mark + TopModel.part(all.busy(rates)), order: all.busy(rates))
    case 5: return TopCell(rates.depth == 0 ? "" : String(rates.depth), order: Double(rates.depth))
    default:
      let oldest = model.rates?.age(rates.oldest) ?? 0
      return oldest == 0 ? TopCell("", order: 0) : length(oldest, alarm: 1_000_000_000)
    }
  }

  // MARK: Threads

  static let threadColumns: [TopColumn] = [
    TopColumn(title: "TID", width: 7, help: "the kernel's number of the thread"),
    TopColumn(title: "NAME", width: 15, isRight: false, rank: 3, help: "its name"),
    TopColumn(title: "ROLE", width: 7, isRight: false, rank: 2, help: "worker, main, monitor, or the program's own"),
    TopColumn(
      title: "STATE", width: 7, isRight: false, rank: 1,
      help: "active, asleep (no work), waiting (in a call of the library)"),
    TopColumn(title: "FOR", width: 8, rank: 1, help: "how long it is in that state"),
    TopColumn(
      title: "INSIDE", width: 14, isRight: false, rank: 4, isElastic: true, help: "the queue whose item it runs"),
    TopColumn(
      title: "DOES", width: 16, isRight: false, isElastic: true, help: "what it waits for, or does in the kernel"),
    TopColumn(title: "ITEMS", width: 10, rank: 6, help: "items that have ended on it while recording was on"),
    TopColumn(title: "SLEEPS", width: 9, rank: 7, help: "how often it has gone to sleep"),
    TopColumn(title: "WAKES", width: 9, rank: 8, help: "how many threads it has woken"),
  ]

  private var threads: TopTable {
    let rows = model.snapshot.threads.map { thread -> TopRow in
      let paint: TopPaint = thread.state == .waiting ? .warning : thread.state == .active ? .good : .dim
      let inside =
        thread.insideLabel.isEmpty
        ? thread.item.flatMap { model.snapshot.object($0.queue)?.label } ?? "" : thread.insideLabel
      return TopRow(
        id: "thread \(thread.tid)",
        cells: [
          TopCell(String(thread.tid), order: -Double(thread.tid)), TopCell(thread.name), TopCell(thread.role.rawValue),
          TopCell(thread.state.rawValue, paint),
          TopCell(TopModel.length(thread.age == 0 ? nil : thread.age), order: Double(thread.age)),
          TopCell(inside), TopCell(thread.state == .asleep ? "" : words.waiting(thread, withAge: false)),
          TopCell(NumberFormat.grouped(thread.items), order: Double(thread.items)),
          TopCell(NumberFormat.grouped(thread.sleeps), order: Double(thread.sleeps)),
          TopCell(NumberFormat.grouped(thread.wakes), order: Double(thread.wakes)),
        ])
    }
    return TopTable(columns: Self.threadColumns, rows: rows)
  }

  // MARK: Waits

  static let waitColumns: [TopColumn] = [
    TopColumn(
      title: "THREAD AND ITS WAITERS", width: 40, isRight: false, isElastic: true,
      help: "a thread; below it, those that wait for it"),
    TopColumn(title: "FOR", width: 8, help: "how long it has waited"),
  ]

  /// Each thread that waits or that another one waits for, below the one that it waits for; circles first.
  private var waits: TopTable {
    var rows: [TopRow] = []
    var seen: Set<Int32> = []
    func add(_ tid: Int32, depth: Int, _ paint: TopPaint) {
      // What is deeper begins anew below.
      guard depth < WhyWords.deepest, seen.insert(tid).inserted, let thread = model.snapshot.thread(tid) else { return }
      let text =
        String(repeating: "  ", count: depth) + (depth > 0 ? "└ " : "") + words.thread(tid) + words.inside(thread) + " "
        + words.waiting(thread, withAge: false)
      rows.append(
        TopRow(
          id: "wait \(tid)",
          cells: [TopCell(text, paint), TopCell(TopModel.length(graph.age(tid)), paint, order: Double(graph.age(tid)))])
      )
      for waiter in graph.waiters[tid] ?? [] { add(waiter, depth: depth + 1, paint == .alarm ? .alarm : .plain) }
    }
    for circle in graph.cycles() { add(circle[0], depth: 0, .alarm) }
    let rest = model.snapshot.threads.filter { $0.state == .waiting || graph.waiters[$0.tid] != nil }
    for thread in rest where graph.blockers[thread.tid] == nil { add(thread.tid, depth: 0, .plain) }
    for thread in rest { add(thread.tid, depth: 0, .plain) }
    return TopTable(columns: Self.waitColumns, rows: rows)
  }

  // MARK: Sources

  static let sourceColumns: [TopColumn] = [
    TopColumn(title: "KIND", width: 18, isRight: false, help: "what kind of source it is, timer, channel, group"),
    TopColumn(
      title: "WATCHES", width: 20, isRight: false, isElastic: true,
      help: "descriptor, process, signal; when a timer fires; members; bytes to write"),
    TopColumn(title: "EVENTS/S", width: 9, rank: 1, help: "timers that fired, handlers that were called, a second"),
    TopColumn(title: "LATE", width: 8, rank: 2, help: "a timer: how late it was at most"),
    TopColumn(title: "TARGET", width: 16, isRight: false, rank: 3, isElastic: true, help: "the queue of its handlers"),
    TopColumn(
      title: "STATE", width: 11, isRight: false, rank: 1, help: "suspended (how often), inactive, cancelled or closed"),
  ]

  private var sources: TopTable {
    let rows = model.snapshot.objects.filter { !$0.kind.isQueue && $0.endedAge == nil }.map { object -> TopRow in
      let rates = model.rates?.queues[object.number]
      let events = model.rates.map { $0.perSecond(rates?.events ?? 0) }
      let mark = model.rates?.mark ?? ""
      return TopRow(
        id: "object \(object.number)",
        cells: [
          TopCell(object.kindWords), TopCell(object.watches),
          TopCell(events.map { mark + TopModel.rate($0) } ?? "-", order: events ?? -1),
          TopCell((rates?.late ?? 0) == 0 ? "" : TopModel.length(rates?.late), order: Double(rates?.late ?? 0)),
          TopCell(model.snapshot.object(object.target)?.label ?? ""),
          TopCell(object.stateWords, .warning),
        ])
    }
    return TopTable(columns: Self.sourceColumns, rows: rows)
  }

  static func columns(_ page: TopPage) -> [TopColumn] {
    switch page {
    case .overview, .queues: queueColumns
    case .threads: threadColumns
    case .waits: waitColumns
    case .sources: sourceColumns
    }
  }
}
